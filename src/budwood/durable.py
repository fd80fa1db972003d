"""Files that outlive the machine: each is there whole or not at all, and on the disk before anything rests on it.

The one place that asks the operating system for that. Knows files; must not know what they say.
"""

import os
from pathlib import Path
from typing import IO


def write_whole(file: Path, content: bytes, *, draft: str = "new") -> None:
    """Put a file there whole or not at all, and on the disk before this returns.

    `draft` ends the name of what is written first; those who write one file at a time must each have their own.
    """
    beside = file.with_name(f"{file.name}.{draft}")
    try:
        with beside.open("wb") as out:
            out.write(content)
            to_disk(out)
        beside.replace(file)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    names_to_disk(file.parent)


def to_disk(out: IO[bytes]) -> None:
    """Wait until what was written to a file is on the disk; its name may not be."""
    out.flush()
    os.fsync(out.fileno())


def names_to_disk(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: what was made, renamed or removed there."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
