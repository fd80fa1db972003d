"""A run of the tree runner becomes a run here that has come as far: what ended there has ended, the rest is to be done.

Knows the store and the plan that it goes on by. Writes refs of ours, which keep the candidates, and one commit to the
store; what that says is `tree_growth`'s.
"""

from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from budwood._core.events import Recorded, encode
from budwood._core.ids import free_name, run_id
from budwood._core.replay import fold_rows
from budwood.errors import SettingsError, UsageError
from budwood.formats.tree_manifest import Manifest
from budwood.project.bench import run_refs
from budwood.project.planned import Planned
from budwood.project.tree_commits import Commits
from budwood.project.tree_growth import Growth
from budwood.project.words import some
from budwood.project.workspaces import find_ground
from budwood.stores import Store
from budwood.stores.parts import FORMAT, End, EventPart, Header, Part, encoded
from budwood.stores.transfer import import_run

HOLDER = "budwood store import-manifest"


@dataclass(frozen=True, slots=True)
class Arrived:
    """What became of a manifest."""

    run: str
    name: str
    created: bool
    """Whether it was not here before."""
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    requeued: tuple[str, ...] = ()
    numbers: dict[str, str] = field(default_factory=dict)
    """The task of each evaluation."""
    notes: tuple[str, ...] = ()


def import_manifest(store: Store, manifest: Manifest, planned: Planned, *, missing_ok: bool) -> Arrived:
    """Take a run in, to go on as the plan says; the same manifest and plan make the same run, and make it once.

    `missing_ok`: a completed evaluation whose artefacts are gone is done again, if nothing rests on it yet.
    """
    _refuse_plan(planned)
    run = _id(manifest, planned)
    here = next((row for row in store.runs() if row.id == run), None)
    if here is not None:
        return Arrived(run, here.name, created=False)
    name = free_name(planned.name, (row.name for row in store.runs()))
    workspace = planned.settings.workspace
    assert workspace is not None
    repository = find_ground(planned.project, workspace.kind).repository
    commits = Commits(repository, refs=run_refs(name, run))
    grown = Growth(manifest, planned, commits, missing_ok=missing_ok)
    grown.begin(run, name)
    grown.grow()
    for ref, commit in commits.kept.items():
        repository.set_ref(ref, commit)
    parts: tuple[Part, ...] = (
        Header(format=FORMAT, run=run, name=name, source=planned.source, fence=0),
        *map(_part, grown.record.events),
        End(logs=0, events=len(grown.record.events), requests=0),
    )
    import_run(store, encoded(parts), fold=fold_rows, holder=HOLDER)
    return _arrived(run, name, manifest, grown)


def _part(recorded: Recorded) -> EventPart:
    raw = encode(recorded)
    return EventPart(number=raw.number, at_ms=raw.at_ms, kind=raw.kind, version=raw.version, body=msgspec.Raw(raw.body))


def _refuse_plan(planned: Planned) -> None:
    if planned.strategy_name != "beam":
        raise SettingsError(
            f"a manifest goes on as a beam, and the plan's strategy is {planned.strategy_name}",
            hint='strategy = "beam" in [run]',
        )
    workspace = planned.settings.workspace
    if workspace is None or workspace.kind == "copy":
        raise UsageError("the commits of a manifest are in a git repository, and the plan is in none")


def _id(manifest: Manifest, planned: Planned) -> str:
    said = "\0".join((manifest.run, manifest.created, planned.source))
    return run_id(int.from_bytes(sha256(said.encode()).digest()[:6]))


def _arrived(run: str, name: str, manifest: Manifest, grown: Growth) -> Arrived:
    numbers = {given: given.lstrip("0") for given in grown.task_of}
    moved = [
        f"{given} is {task}"
        for given, task in grown.task_of.items()
        if numbers[given] != task.rpartition("-e")[2].lstrip("0")
    ]
    renamed = [f"evaluations have other numbers here: {some(moved)}"] if moved else []
    ended = [one.state for one in manifest.evaluations if grown.ends[one.id]]
    return Arrived(
        run,
        name,
        created=True,
        done=ended.count("completed"),
        failed=ended.count("failed"),
        cancelled=ended.count("cancelled"),
        skipped=ended.count("skipped"),
        requeued=tuple(grown.task_of[name] for name, is_ended in grown.ends.items() if not is_ended),
        numbers=grown.task_of,
        notes=(*grown.notes, *renamed),
    )
