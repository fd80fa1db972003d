"""Files that are there whole or not at all: written beside and renamed; and the option that names one.

Knows files. Must not know what is in them.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from budwood.durable import to_disk
from budwood.errors import UsageError


@contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """Give something to write to; it gets its name when all is written and on the disk. Nothing is replaced."""
    if os.path.lexists(file):
        raise UsageError(f"{file} is there already", hint="choose another name, or remove it first")
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        try:
            with draft.open("xb") as out:
                yield out
                to_disk(out)
            draft.rename(file)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        # The draft's name is ours: nobody asked for it.
        named = file if error.filename in (None, str(draft)) else error.filename
        raise UsageError(f"{named} cannot be written: {error.strerror}") from error


@contextmanager
def folder_for(folder: Path, *, empty: bool = False) -> Iterator[Path]:
    """Give a directory to write into, made where there is none; it may have to be empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if empty and any(folder.iterdir()):
            raise UsageError(
                f"{folder} is not empty; nothing was written", hint="name a directory that is new or empty"
            )
        yield folder
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror}") from error


output_option = click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write there, not to standard output. It must be new.",
)


def is_named(file: Path | None) -> bool:
    """Say whether a file was named to write to."""
    return file is not None and str(file) != "-"


@contextmanager
def output(file: Path | None) -> Iterator[BinaryIO]:
    """Give the file that was named, or standard output, to write to."""
    if file is not None and is_named(file):
        with whole_file(file) as out:
            yield out
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
