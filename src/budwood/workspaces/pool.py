"""A pool of directories outside the repository: leased, kept, reset and handed on warm.

What kind of `.git` a directory gets is its kind's. Nothing of a used one is believed: it is made anew, and what we know
of the files is in an index of our own beside the directory. Knows git and leases; must not know runs.
"""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import msgspec

from budwood.errors import UsageError, WorkspaceError
from budwood.workspaces.base import Workspace, Workspaces
from budwood.workspaces.bring import Outfit, fit_out, read_brought, untouched
from budwood.workspaces.folding import find_kept
from budwood.workspaces.keeping import FILE_LIMIT, Keeper, Kept, Past
from budwood.workspaces.laying import INDEX, lay_out
from budwood.workspaces.leases import Gone, Held, Place, locked, places_in
from budwood.workspaces.patterns import matcher
from budwood.workspaces.repository import Repository
from budwood.workspaces.setup import Setup, Setups
from budwood.workspaces.sparse import cone_patterns

_BROUGHT = "brought.json"
_BARE = Outfit()


class Kind(Protocol):
    """What makes a directory a workspace."""

    @property
    def skip(self) -> str | None:
        """Name what lies at the top of a directory and is ours, no part of what an attempt left."""

    @property
    def raw(self) -> bool:
        """Say whether the base is bytes of a directory, rather than what git makes of files."""

    def equip(self, tree: Path, base: str, *, cones: str) -> Path | None:
        """Give a directory its `.git`, whatever it had; return where that has its index, if there is one."""

    def past(self, tree: Path) -> Past | None:
        """Say what the git of a directory remembers; None if nothing can be had of it."""


class Pool(Workspaces):
    """The directories of one repository."""

    def __init__(
        self,
        folder: Path,
        repository: Repository,
        kind: Kind,
        *,
        outfit: Outfit = _BARE,
        setup: Setup | None = None,
        setup_keeps: Sequence[str] = (),
        sparse: Sequence[str] = (),
        file_limit: int = FILE_LIMIT,
    ) -> None:
        if sparse and kind.raw:
            raise UsageError("sparse is for a project in git; a copy holds all of it", hint="take sparse out")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._repository = repository
        self._kind = kind
        self._outfit = outfit
        self._spare = matcher(setup_keeps, key="setup_keeps")
        self._setups = Setups(setup, repository.git, spare=self._spare)
        self._file_limit = file_limit
        with locked(folder):  # two runs may begin at once
            self._keeper = Keeper(folder, repository, cones=cone_patterns(sparse))

    def hand_out(self, holder: str, base: str) -> Workspace:
        with locked(self._folder):
            place = self._place_for(holder)
            was_free = place.held is None
            held = Held(holder=holder, base=base)
            place.hold(held)
        warm = place.tree.exists()
        try:
            with place.alone():
                self._reset(place, base)
                self._setups.expect(place.folder, base)
        except (WorkspaceError, OSError) as error:
            place.shut_off(f"it could not be reset: {error}", is_kept=was_free)
            place.let_go()
            raise
        return self._described(place, held, warm=warm)

    def find(self, holder: str) -> Workspace | None:
        place = self._place_of(holder)
        held = None if place is None else place.held
        return None if place is None or held is None else self._described(place, held, warm=True)

    def note_setup(self, holder: str) -> None:
        place, held = self._leased(holder)
        self._setups.note(place.folder, held.base)

    def note_ready(self, holder: str) -> None:
        place, held = self._leased(holder)
        place.hold(msgspec.structs.replace(held, ready=True))

    def pin(self, holder: str) -> None:
        place, _ = self._leased(holder)
        place.pin(holder)

    def unpin(self, holder: str) -> None:
        for place in places_in(self._folder):
            if place.pinned == holder:
                place.unpin()

    def keep(self, holder: str, ref: str, *, message: str) -> Kept:
        place = self._place_of(holder)
        held = None if place is None else place.held
        if place is None or held is None:
            raise Gone(f"{holder} has no workspace to keep; somebody removed it")
        if not place.tree.is_dir():
            place.let_go()
            raise Gone(f"{place.tree} was removed while it was in use; there is nothing to keep")
        try:
            with place.alone():
                kept = self._keep(place, held.base, ref, message=message)
        except (WorkspaceError, OSError) as error:
            place.shut_off(f"it could not be kept: {error}")
            raise WorkspaceError(f"{_text(error)}; what was left stays in {place.tree}") from error
        if kept.left_out:
            place.shut_off(f"it holds what is too large to be kept: {kept.left_out[0].path}")
        elif kept.adrift:
            place.shut_off(f"it holds a commit of a submodule that nobody else has: {kept.adrift[0]}")
        elif kept.unread:
            place.shut_off(f"its git holds what could not be brought over: {kept.unread}")
        elif place.shut is not None:
            place.shut_off(f"it was kept late, as {ref}", is_kept=True)
        return kept

    def _keep(self, place: Place, base: str, ref: str, *, message: str) -> Kept:
        kept = self._keeper.keep(
            place.folder,
            base=base,
            message=message,
            past=self._kind.past(place.tree),
            skip=self._kind.skip,
            spare=self._spare,
            without=untouched(read_brought(place.folder / _BROUGHT), place.tree),
            limit=self._file_limit,
        )
        self._repository.set_ref(ref, kept.commit)
        return kept

    def hand_back(self, holder: str, ref: str) -> None:
        place = self._place_of(holder)
        if place is None:
            return
        if find_kept(self._repository, ref) is None:
            raise WorkspaceError(f"what {holder} left is not kept under {ref}; its directory stays: {place.tree}")
        place.let_go()

    def release(self, holder: str) -> None:
        """Give a directory back in which nobody has worked; harmless if it was given back before."""
        place = self._place_of(holder)
        if place is not None:
            place.let_go()

    def holders(self) -> list[str]:
        """Name everybody who has a directory."""
        return [held.holder for place in places_in(self._folder) if (held := place.held) is not None]

    def restore(self, commit: str, into: Path) -> None:
        into = into.absolute()  # git is started in it, and would look for its name there once more
        into.mkdir(parents=True, exist_ok=True)
        if any(into.iterdir()):
            raise WorkspaceError(f"{into} is not empty; nothing was written")
        with TemporaryDirectory(dir=self._folder) as scratch:
            self._keeper.whole.write_out(commit, into, index=Path(scratch) / "index")

    def take_in(self, directory: Path, *, skip: str) -> str:
        """Write what a directory outside git holds into a commit to start from."""
        return self._keeper.take_in(directory, self._folder / "taken-in", skip=skip)

    # --- directories ---

    def _place_of(self, holder: str) -> Place | None:
        for place in places_in(self._folder):
            held = place.held
            if held is not None and held.holder == holder:
                return place
        return None

    def _leased(self, holder: str) -> tuple[Place, Held]:
        place = self._place_of(holder)
        held = None if place is None else place.held
        if place is None or held is None:
            raise WorkspaceError(f"{holder} has no workspace")
        return place, held

    def _place_for(self, holder: str) -> Place:
        """Choose the holder's own, one that is free, or a new one."""
        places = places_in(self._folder)
        for place in places:
            held = place.held
            if held is not None and held.holder == holder:
                if place.pinned is None:
                    return place
                place.let_go()  # it stays as it is, and the holder gets another
        free = next((place for place in places if place.is_free), None)
        if free is not None:
            return free
        number = max((int(place.folder.name[1:]) for place in places), default=0) + 1
        place = Place(self._folder / f"w{number}")
        place.folder.mkdir()
        return place

    def _described(self, place: Place, held: Held, *, warm: bool) -> Workspace:
        return Workspace(
            holder=held.holder,
            path=place.tree,
            base=held.base,
            warm=warm,
            setup_due=self._setups.is_due(place.folder, held.base),
            ready=held.ready,
        )

    def _reset(self, place: Place, base: str) -> None:
        place.tree.mkdir(exist_ok=True)
        kind, keeper = self._kind, self._keeper
        with ThreadPoolExecutor(1) as beside:  # neither touches what is the other's
            equip = partial(kind.equip, place.tree, base, cones=keeper.cones)
            equipped = beside.submit(copy_context().run, equip)
            lay_out(
                keeper.whole.git if kind.raw else keeper.plain,
                place.folder,
                base,
                bases=keeper.bases,
                cones=keeper.cones,
                skip=kind.skip,
                spare=self._spare,
                raw=kind.raw,
            )
            index = equipped.result()
        if index is not None:
            shutil.copy2(place.folder / INDEX, index)
        brought = fit_out(self._repository, self._outfit, place.tree)
        (place.folder / _BROUGHT).write_bytes(msgspec.json.encode(brought))


def _text(error: WorkspaceError | OSError) -> str:
    return error.message if isinstance(error, WorkspaceError) else str(error)
