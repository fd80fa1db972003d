"""What a driver that died has left behind, put right without going on: results taken, leases ended, refs and branches.

All of it is what the next driver does first; here it is done alone, and told. Knows the run, its desk and who answers
alone. Must not print, and never removes a directory that holds work.
"""

from collections.abc import Callable

from msgspec import Struct, field

from budwood._core.candidates import branched_heads
from budwood._core.model import OPEN_ATTEMPT
from budwood._core.rows import AttemptRow
from budwood.errors import LeaseHeld
from budwood.project.asking import Asked
from budwood.project.desk import Desk, all_left, sit_down
from budwood.project.holders import HolderNames
from budwood.review.mending import mend_refs, prune_entries
from budwood.stores import Store


class Recovery(Struct, kw_only=True):
    """What was found and done."""

    recovered: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What somebody must look at."""


def recover(asked: Asked, *, has_workspaces: bool, alone: Callable[[], None]) -> Recovery:
    """Put right what can be; `alone` takes the lease for a moment and does what a driver does first."""
    store, row = asked.store, asked.row
    driver = store.holder(row.id)
    if driver is not None:
        raise LeaseHeld(row.name, holder=driver)
    found = Recovery()
    desk = sit_down(store, row) if has_workspaces else None
    if desk is not None:
        _mend_refs(desk, found)
    attempts, before = _open_attempts(store, row.id), _Look(desk)
    if attempts or before.held or before.astray:
        alone()
    _tell_attempts(store, row.id, attempts, found)
    if desk is not None:
        names = HolderNames(store)
        _tell_places(before, _Look(sit_down(store, row)), found, named=lambda work: names.work(row.id, work))
        entries = prune_entries(desk.repository, desk.pool_folder)
        found.cleaned += (f"entry {name} of a linked worktree that is gone" for name in entries)
    return found


class _Look:
    """What a run holds, and where its branches stand."""

    def __init__(self, desk: Desk | None) -> None:
        self.held: set[str] = set()
        self.stand: dict[str, str | None] = {}
        """By lane, the commit that its branch is at, where that is the run's own; None where it is not."""
        self.names: dict[str, str] = {}
        if desk is None:
            return
        prefix = f"{desk.row.id}/"
        self.held = {each.removeprefix(prefix) for each in desk.pool().holders() if each.startswith(prefix)}
        for lane, commit in branched_heads(desk.state).items():
            branch = desk.branch_of(lane)
            stands = None if branch is None else desk.repository.ref(f"refs/heads/{branch}")
            self.stand[lane] = stands if stands == commit else None
            self.names[lane] = branch or f"of {lane}"

    @property
    def astray(self) -> bool:
        """Say whether a branch is not where the run says."""
        return None in self.stand.values()


def _mend_refs(desk: Desk, found: Recovery) -> None:
    left = all_left(desk.store.read(desk.row.id))
    names = {each.ref: name for name, each in left.items()}
    refs = mend_refs(desk.repository, left.values())
    found.recovered += (f"the ref of what {names[ref]} left" for ref in refs.made)
    found.left += (f"what {names[ref]} left is in this repository no more" for ref in refs.lost)


def _open_attempts(store: Store, run: str) -> list[AttemptRow]:
    return [attempt for attempt in store.attempts(run) if attempt.phase in OPEN_ATTEMPT]


def _tell_attempts(store: Store, run: str, attempts: list[AttemptRow], found: Recovery) -> None:
    ids = {task.number: task.id for task in store.tasks(run)}
    for before in attempts:
        now = next(each for each in store.attempts(run, before.task) if each.number == before.number)
        name = f"attempt {before.number} at task {ids[before.task]}"
        if now.phase not in OPEN_ATTEMPT:
            found.recovered.append(f"{name}: {now.phase.value.replace('_', ' ')}")
        else:
            found.left.append(f"{name} is still {now.phase.value}; budwood resume takes it over")


def _tell_places(before: _Look, after: _Look, found: Recovery, *, named: Callable[[str], str]) -> None:
    found.cleaned += (f"the lease on the workspace of {named(each)}" for each in sorted(before.held - after.held))
    for lane, commit in after.stand.items():
        if commit is None:
            found.left.append(f"branch {after.names[lane]} is not where the run left it, and stays as it is")
        elif before.stand.get(lane) != commit:
            found.recovered.append(f"branch {after.names[lane]}")
