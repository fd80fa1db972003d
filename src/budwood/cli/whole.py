"""Files that are there whole or not at all: written beside and renamed.

Knows files. Must not know what is in them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

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
                out.flush()
                os.fsync(out.fileno())
            draft.rename(file)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        # The draft's name is ours: nobody asked for it.
        named = file if error.filename in (None, str(draft)) else error.filename
        raise UsageError(f"{named} cannot be written: {error.strerror}") from error
