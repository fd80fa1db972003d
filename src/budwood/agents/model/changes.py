"""Changes of files, written so that a second start finds them done, or does the rest.

Before the first file is touched, all changes are on the disk beside the kept answer. Knows files and their hashes. Must
not know answers.
"""

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.durable import to_disk, write_whole


class Change(Struct, frozen=True, kw_only=True):
    """What becomes of one file: the hash of what is there, and what shall be; None is no file."""

    path: str
    before: str | None
    after: bytes | None


_DECODER = msgspec.json.Decoder(tuple[Change, ...])


def change(path: str, before: bytes | None, *, after: bytes | None) -> Change | None:
    """Describe a change; None if there is none."""
    return None if before == after else Change(path=path, before=_hash(before), after=after)


def note(changes: tuple[Change, ...], journal: Path) -> None:
    """Write down what is about to be done."""
    write_whole(journal, msgspec.json.encode(changes))


def noted(journal: Path, *, root: Path) -> tuple[Change, ...] | None:
    """Return what an earlier start was about to do; None if there is nothing, or if the files are others by now."""
    try:
        changes = _DECODER.decode(journal.read_bytes())
        found = [_hash(_read(root / change.path)) for change in changes]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    fits = all(now in (each.before, _hash(each.after)) for each, now in zip(changes, found, strict=True))
    return changes if fits else None


def write(changes: tuple[Change, ...], *, root: Path) -> None:
    """Make all changes, or on an error none; what is done already stays as it is."""
    before = {root / each.path: _read(root / each.path) for each in changes}
    after = {root / each.path: each.after for each in changes if _hash(before[root / each.path]) != _hash(each.after)}
    folders: list[Path] = []
    try:
        for place, content in after.items():
            if content is not None:
                _draft(place, content, folders=folders)
        for place, content in after.items():
            if content is None:
                place.unlink()
            else:
                _beside(place).replace(place)
    except OSError:
        _take_back({place: before[place] for place in after}, folders=folders)
        raise


def _draft(place: Path, content: bytes, *, folders: list[Path]) -> None:
    """Write what a file becomes beside it, with its rights; note which folders that takes, innermost first."""
    folders[:0] = [folder for folder in place.parents if not folder.exists()]
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = _beside(place)
    with draft.open("wb") as out:
        out.write(content)
        to_disk(out)
    with suppress(FileNotFoundError):
        draft.chmod(stat.S_IMODE(place.stat().st_mode))


def _take_back(before: dict[Path, bytes | None], *, folders: list[Path]) -> None:
    for place, content in before.items():
        with suppress(FileNotFoundError, NotADirectoryError):
            _beside(place).unlink()
        if content is None:
            with suppress(FileNotFoundError, NotADirectoryError):
                place.unlink()
        elif _read(place) != content:
            place.write_bytes(content)
    for folder in folders:
        folder.rmdir()


def _beside(place: Path) -> Path:
    """Name the draft of a file: the same at a second start, which so leaves none behind."""
    return place.with_name(f".{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}.budwood-new")


def _read(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _hash(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
