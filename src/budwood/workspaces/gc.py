"""What lies in a pool and a repository on behalf of runs, and what of it may go.

Only what can be had again is ever removed: directories whose content is kept, and the many refs of a run for one that
has them all. A directory that somebody has, that is pinned or that a process works in, stays. Knows leases and git;
must not know runs but by name, or print.
"""

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from budwood.workspaces.aside import REMOVED
from budwood.workspaces.folding import ROOT, fold, refs_by_run
from budwood.workspaces.leases import Place, locked, places_in
from budwood.workspaces.removal import remove_tree
from budwood.workspaces.repository import Repository
from budwood.workspaces.worktree import admin_of

WORTH_FOLDING = 2


class FoundPlace(Struct, frozen=True, kw_only=True):
    """A directory of a pool."""

    path: Path
    bytes: int
    holder: str | None
    shut: str | None
    """Why it is not handed out any more."""
    is_kept: bool
    """Whether what is in it can be had again."""
    pinned: str | None
    used_by: tuple[str, ...]
    """Processes whose working directory is in it."""

    def why_it_stays(self, *, pinned: bool = False, force: bool = False) -> str | None:
        """Say why it may not be removed; None if it may. `pinned` and `force` as in `plan_gc`."""
        if self.holder is not None:
            return f"{self.holder} has it"
        if self.pinned is not None and not pinned:
            return f"it is pinned for {self.pinned}"
        if self.used_by:
            return f"in use by {', '.join(self.used_by)}"
        if not self.is_kept and not force:
            return f"what is in it is kept nowhere else: {self.shut}"
        return None


class RunRefs(Struct, frozen=True, kw_only=True):
    """The refs of one run that are not folded."""

    run: str
    count: int
    bytes: int


class Stock(Struct, frozen=True, kw_only=True):
    """All that there is."""

    places: tuple[FoundPlace, ...]
    rests: tuple[Path, ...]
    """Directories whose removal was begun."""
    refs: tuple[RunRefs, ...]


class Removable(Struct, frozen=True, kw_only=True):
    """What may go."""

    what: str
    where: str
    """A directory, or the beginning of the names of refs."""
    bytes: int
    how_to_get_back: str


class Left(Struct, frozen=True, kw_only=True):
    """What was to go and stayed."""

    where: str
    why: str


def take_stock(folder: Path, repository: Repository, *, named: Callable[[str], str] = str) -> Stock:
    """List the directories of a pool and the refs of its repository; `named` puts a holder into words."""
    working = working_directories()
    return Stock(
        places=tuple(_found(place, working, named) for place in places_in(folder)),
        rests=tuple(sorted(folder.glob(f"{REMOVED}*"))),
        refs=tuple(
            RunRefs(run=run, count=len(refs), bytes=size_of(repository.common / ROOT / run))
            for run, refs in sorted(refs_by_run(repository).items())
        ),
    )


def plan_gc(stock: Stock, *, ended: Collection[str], pinned: bool = False, force: bool = False) -> list[Removable]:
    """List what may go. `ended` are the runs that are over; `pinned` includes what is pinned, `force` what is kept
    nowhere else."""
    found = [_removable(place) for place in stock.places if place.why_it_stays(pinned=pinned, force=force) is None]
    found += [
        Removable(
            what="rest of a removal", where=str(path), bytes=size_of(path), how_to_get_back="it was removed before"
        )
        for path in stock.rests
    ]
    found += [
        Removable(
            what=f"{each.count} refs, for one",
            where=f"{ROOT}{each.run}/",
            bytes=each.bytes,
            how_to_get_back=f"{ROOT}{each.run}/kept has them all; its file refs tells which stood where",
        )
        for each in stock.refs
        if each.run in ended and each.count >= WORTH_FOLDING
    ]
    return found


def apply_gc(
    folder: Path,
    repository: Repository,
    planned: Iterable[Removable],
    *,
    pinned: bool = False,
    force: bool = False,
    named: Callable[[str], str] = str,
) -> list[Left]:
    """Remove what was planned, if it still may go; return what stayed. May be repeated after a crash."""
    places = {str(place.tree): place for place in places_in(folder)}
    left = []
    for each in planned:
        if each.where.startswith(ROOT):
            fold(repository, each.where.removeprefix(ROOT).rstrip("/"))
        elif each.where in places:
            why = _remove(places[each.where], folder, repository, named, pinned=pinned, force=force)
            if why is not None:
                left.append(Left(where=each.where, why=why))
        elif Path(each.where).parent == folder and Path(each.where).name.startswith(REMOVED):
            remove_tree(Path(each.where))
        elif Path(each.where).exists():
            left.append(Left(where=each.where, why="it is no directory of this pool"))
    return left


def _removable(place: FoundPlace) -> Removable:
    if place.is_kept:
        free = "free directory" if place.pinned is None else f"directory that is pinned for {place.pinned}"
        what = free if place.shut is None else f"shut directory: {place.shut}"
        back = "a new one is made when it is needed; what attempts left there is under refs/budwood/"
    else:
        what, back = f"shut directory: {place.shut}", "not at all: some of it is kept nowhere else"
    return Removable(what=what, where=str(place.path), bytes=place.bytes, how_to_get_back=back)


def _remove(
    place: Place, folder: Path, repository: Repository, named: Callable[[str], str], *, pinned: bool, force: bool
) -> str | None:
    """Remove a place, after another look, or return why not; what is half removed must not be handed out."""
    with locked(folder):
        if not place.folder.exists():
            return None
        why = _found(place, working_directories(), named).why_it_stays(pinned=pinned, force=force)
        if why is not None:
            return why
        rest = folder / f"{REMOVED}{place.folder.name}"
        remove_tree(rest)
        place.folder.rename(rest)
        admin = admin_of(repository.common, place.tree)
        if admin is not None:
            remove_tree(admin)
    remove_tree(rest)
    return None


def _found(place: Place, working: Collection[tuple[Path, str]], named: Callable[[str], str]) -> FoundPlace:
    held, shut, pinned = place.held, place.shut, place.pinned
    return FoundPlace(
        path=place.tree,
        bytes=size_of(place.folder),
        holder=None if held is None else named(held.holder),
        shut=None if shut is None else shut.reason,
        is_kept=shut is None or shut.is_kept,
        pinned=None if pinned is None else named(pinned),
        used_by=tuple(name for path, name in working if path.is_relative_to(place.folder)),
    )


def working_directories() -> list[tuple[Path, str]]:
    """List where processes work, as far as we may know; nothing on systems that do not tell."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or is not ours to look at
            found.append(
                (Path(os.readlink(process / "cwd")), f"{(process / 'comm').read_text().strip()} {process.name}")
            )
    return found


def size_of(path: Path) -> int:
    """Add up what a directory takes on the disk."""
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total
