"""Directories that hold what an attempt left, handed out to look at: byte for byte, and outside of every repository.

Beside each lies what it was made from, so that it can be told whether somebody has worked in it since: such a one is
never removed. Knows files; must not know git or runs.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood._core.ids import free_name
from budwood.workspaces.gc import Left, Removable, size_of, working_directories
from budwood.workspaces.removal import remove_tree


class Opened(Struct, frozen=True, kw_only=True):
    """A directory that was handed out."""

    again: str
    """The command that gives another like it."""
    repository: str
    """The shared directory of the repository that it came from."""
    seen: str = ""
    """What it looked like then."""


def hand_out(folder: Path, name: str, opened: Opened, *, fill: Callable[[Path], None]) -> Path:
    """Make a directory of that name, or name-2, …; return its path when it holds everything."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / free_name(name, (path.name.removesuffix(".json") for path in folder.iterdir()))
    fill(place)
    note = _note(place)
    note.write_bytes(msgspec.json.encode(msgspec.structs.replace(opened, seen=look(place))))
    return place


def opened_in(folder: Path) -> Iterator[tuple[Path, Opened]]:
    """List the directories that were handed out and are still there, by name."""
    for place in sorted(note.with_suffix("") for note in folder.glob("*.json")):
        if place.is_dir():
            yield place, msgspec.json.decode(_note(place).read_bytes(), type=Opened)


def plan_gc(folder: Path, repository: Path) -> tuple[list[Removable], list[Left]]:
    """List the directories of one repository that may go, and those that stay, with the reason."""
    working, removable, stays = working_directories(), [], []
    for place, opened in opened_in(folder):
        if opened.repository != str(repository):
            continue
        users = [name for path, name in working if path.is_relative_to(place)]
        if users:
            stays.append(Left(where=str(place), why=f"in use by {', '.join(users)}"))
        elif look(place) != opened.seen:
            stays.append(Left(where=str(place), why="somebody has worked in it"))
        else:
            removable.append(
                Removable(what="opened directory", where=str(place), bytes=size_of(place), how_to_get_back=opened.again)
            )
    return removable, stays


def remove(place: Path) -> None:
    """Remove a directory that was handed out, and its note."""
    remove_tree(place)
    _note(place).unlink(missing_ok=True)


def look(place: Path) -> str:
    """Tell a directory from the same one with anything changed, by names, kinds, sizes and times."""
    digest = hashlib.sha256()
    for top, folders, files in os.walk(os.fsencode(place)):
        folders.sort()
        for name in sorted((*folders, *files)):
            path = os.path.join(top, name)
            found = os.lstat(path)
            times = "" if os.path.isdir(path) else f"{found.st_size} {found.st_mtime_ns}"
            digest.update(b"%s\0%o %s\0" % (path, found.st_mode, times.encode()))
    return digest.hexdigest()


def _note(place: Path) -> Path:
    return place.with_name(f"{place.name}.json")
