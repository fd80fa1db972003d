"""What is written down about a directory: small files, each whole or not there, that outlive every process.

Knows files; must not know what they say.
"""

from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from budwood.durable import names_to_disk, write_whole
from budwood.errors import WorkspaceError

_CLOCK = "clock"
Record = TypeVar("Record", bound=Struct)


def read(path: Path, kind: type[Record]) -> Record | None:
    """Read a record; None if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise WorkspaceError(f"{path} cannot be read ({error}); its directory is left as it is") from error


def put(path: Path, record: Struct) -> None:
    """Write a record; it is on the disk when this returns."""
    write_whole(path, msgspec.json.encode(record))


def take_away(path: Path) -> None:
    """Remove a record, for good; harmless if there is none."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    names_to_disk(path.parent)


def stamp(folder: Path) -> int:
    """Tell what time it is for the file system that a place is on: it may be another machine's."""
    path = folder / _CLOCK
    path.touch()
    return path.stat().st_mtime_ns
