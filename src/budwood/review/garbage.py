"""Directories that are no longer needed: what could be removed, how big it is, how to get it back; and what stays.

Only what is kept elsewhere may go: directories of a pool that nobody holds, and opened ones in which nobody has
worked. Knows pools and files; must not know runs.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from budwood.review.opened import forget, look, opened_in
from budwood.workspaces.leases import Place, locked, places_in

_GONE = "gone-"
_POOLED = "what attempts left there is kept: budwood open RUN TASK"


class Found(Struct, frozen=True, kw_only=True):
    """A directory, and whether it may go."""

    what: str
    where: Path
    bytes: int
    stays: str = ""
    """Why it is left; empty if it may be removed."""
    back: str = ""
    """How to get back what is in it."""


def look_through(pools: Iterable[Path], opened: Path, *, repository: Path) -> Iterator[Found]:
    """List the directories of pools, and those that were opened from one repository."""
    for pool in pools:
        for place in places_in(pool):
            yield _pooled(place)
        for path in sorted(pool.glob(f"{_GONE}*")):  # of a removal that was killed
            yield Found(what="workspace", where=path, bytes=size_of(path), back=_POOLED)
    for folder, made in opened_in(opened):
        if made.repository == str(repository):
            stays = _in_use(folder) or ("" if look(folder) == made.seen else "somebody has worked in it")
            yield Found(what="opened", where=folder, bytes=size_of(folder), stays=stays, back=made.again)


def remove(found: Found) -> str:
    """Remove a directory; return why it was left, if it has come into use meanwhile."""
    if found.what == "opened":
        shutil.rmtree(found.where)
        forget(found.where)
        return ""
    pool = found.where.parent
    gone = found.where
    if not gone.name.startswith(_GONE):
        with locked(pool):
            now = _pooled(Place(found.where))
            if now.stays:
                return now.stays
            gone = pool / f"{_GONE}{found.where.name}"
            found.where.rename(gone)
    shutil.rmtree(gone)
    return ""


def size_of(folder: Path) -> int:
    """Add up what lies in a directory, as it lies on the disk."""
    total = 0
    for top, folders, files in os.walk(os.fsencode(folder)):
        for name in (*folders, *files):
            try:
                total += os.lstat(os.path.join(top, name)).st_blocks * 512
            except FileNotFoundError:  # whoever works there goes on
                continue
    return total


def _pooled(place: Place) -> Found:
    held, shut = place.held, place.shut
    stays = ""
    if held is not None:
        stays = f"held by {held.holder}"
    elif shut is not None:
        stays = f"shut: {shut}"
    return Found(
        what="workspace",
        where=place.folder,
        bytes=size_of(place.folder),
        stays=stays or _in_use(place.folder),
        back="" if stays else _POOLED,
    )


def _in_use(folder: Path) -> str:
    """Say which process stands in a directory, as far as we may look."""
    inside = f"{folder.resolve()}/"
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            standing = os.readlink(path)
        except OSError:
            continue
        if f"{standing}/".startswith(inside):
            return f"process {path.parent.name} stands in it"
    return ""
