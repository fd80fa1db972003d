"""A run of the tree runner becomes a run here that has come as far: what ended there has ended, the rest is to be done.

Its events are written as a driver would have written them: the strategy is asked, told and judges, and only what was
tried, and what came of it, is the manifest's. So nothing is taken over that the plan's own score would not have
decided. Writes refs of ours, which keep the candidates, and one commit to the store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from budwood._core.choice import ROOT
from budwood._core.events import (
    AskingEnded,
    CandidatesJudged,
    Event,
    Recorded,
    RunPaused,
    RunResumed,
    TasksAdded,
    WindowFull,
    encode,
)
from budwood._core.ids import attempt_id, free_name, run_id
from budwood._core.model import ENDED_TASK, Left, TaskSpec
from budwood._core.replay import fold_rows
from budwood._core.scores import Judgement, Scoring
from budwood._core.state import RunState
from budwood.engine.workshop.leaving import changed
from budwood.errors import SettingsError, UsageError
from budwood.formats.tree_manifest import Evaluation, Failure, Manifest
from budwood.plans import complete
from budwood.project.bench import run_refs
from budwood.project.planned import Planned
from budwood.project.tree_record import Record
from budwood.project.tree_scores import score_of
from budwood.project.words import some
from budwood.project.workspaces import find_ground
from budwood.stores import Store
from budwood.stores.parts import FORMAT, End, EventPart, Header, Part, encoded
from budwood.stores.transfer import import_run
from budwood.strategies.beam import IDEAS_SUFFIX, evaluation, node_group
from budwood.strategies.beam_nodes import IDEA_PATH
from budwood.strategies.ideas import FOLDER, idea
from budwood.workspaces import Repository

HOLDER = "budwood store import-manifest"
_EARLIER = "an earlier attempt, of which the manifest keeps the number alone"


@dataclass(frozen=True, slots=True)
class Arrived:
    """What became of a manifest."""

    run: str
    name: str
    created: bool
    """Whether it was not here before."""
    done: int = 0
    failed: int = 0
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
    grown = _Growth(manifest, planned, repository, refs=run_refs(name, run), missing_ok=missing_ok)
    grown.begin(run, name)
    grown.grow()
    for ref, commit in grown.kept.items():
        repository.set_ref(ref, commit)
    parts: tuple[Part, ...] = (
        Header(format=FORMAT, run=run, name=name, source=planned.source, fence=0),
        *map(_part, grown.record.events),
        End(logs=0, events=len(grown.record.events), requests=0),
    )
    import_run(store, encoded(parts), fold=fold_rows, holder=HOLDER)
    return grown.arrived(run, name)


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


class _Growth:
    """The events of a run, one after the other."""

    def __init__(
        self, manifest: Manifest, planned: Planned, repository: Repository, *, refs: str, missing_ok: bool
    ) -> None:
        self._manifest = manifest
        self._planned = planned
        self._repository = repository
        self._refs = refs
        self._scoring = msgspec.convert(planned.options["scoring"], Scoring)
        self.record = Record(planned.strategy)
        self._task_of: dict[str, str] = {}
        """The task of an evaluation."""
        self._node_of: dict[str, str] = {ROOT: manifest.root.id}
        """The node that a task became."""
        self._notes: list[str] = []
        self.kept: dict[str, str] = {f"{refs}/base": self._commit(manifest.root.commit, "the root")}
        self._ends = {one.id: self._is_ended(one, missing_ok=missing_ok) for one in manifest.evaluations}
        self._refuse_undecidable()

    def begin(self, run: str, name: str) -> None:
        """Write how the run began, and what its root has come to."""
        at_ms = self._manifest.created_at_ms
        for event in self._planned.opening(run=run, name=name)(RunState()):
            self.record.add(event, at_ms)
        self.record.take(self.record.ask())
        root = self._manifest.root
        found = score_of(self._scoring, root.score, root.results, name="the root", complete=True)
        base = self.kept[f"{self._refs}/base"]
        self.record.succeed(ROOT, at_ms, at_ms, left=self._left(ROOT, 1, base, base), score=found)

    def grow(self) -> None:
        """Go as far as the manifest has come."""
        depth = 1
        while self._reach(depth):
            depth += 1

    def arrived(self, run: str, name: str) -> Arrived:
        """Say what it has come to."""
        numbers = {given: given.lstrip("0") for given in self._task_of}
        moved = [
            f"{given} is {task}"
            for given, task in self._task_of.items()
            if numbers[given] != task.rpartition("-e")[2].lstrip("0")
        ]
        renamed = [f"evaluations have other numbers here: {some(moved)}"] if moved else []
        ended = [one for one in self._manifest.evaluations if self._ends[one.id]]
        return Arrived(
            run,
            name,
            created=True,
            done=sum(one.state == "completed" for one in ended),
            failed=sum(one.state == "failed" for one in ended),
            requeued=tuple(self._task_of[name] for name, is_ended in self._ends.items() if not is_ended),
            numbers=self._task_of,
            notes=(*self._notes, *renamed),
        )

    # What counts as ended

    def _is_ended(self, one: Evaluation, *, missing_ok: bool) -> bool:
        problems = list(one.problems)
        if one.state == "completed" and not problems and self._repository.ref(f"{one.commit}^{{commit}}") is None:
            problems.append(f"its candidate, commit {one.commit or 'unnamed'}, is not in {self._repository.root}")
        if not problems:
            return not one.is_open
        if not missing_ok:
            raise UsageError(
                f"evaluation {one.id}: {problems[0]}",
                hint="put it back; --missing-ok lets the evaluation be done again",
            )
        self._notes.append(f"evaluation {one.id} is done again: {problems[0]}")
        return False

    def _refuse_undecidable(self) -> None:
        """Refuse what rests on a depth that has not ended: who goes on is decided when all of it has."""
        depths = sorted({one.depth for one in self._manifest.evaluations})
        for depth in depths:
            unended = [one.id for one in self._manifest.at(depth) if not self._ends[one.id]]
            deeper = [one.id for one in self._manifest.evaluations if one.depth > depth]
            if unended and deeper:
                raise UsageError(
                    f"evaluation {deeper[0]} grew from what was promoted at depth {depth}, "
                    f"where {some(unended)} had not ended",
                    hint="a depth is decided when all of it has ended: take what is deeper out of the manifest",
                )
            if unended and self._manifest.is_decided(depth):
                self._notes.append(
                    f"depth {depth} was decided there before {some(unended)} had ended: it is decided when they have"
                )

    # Depth by depth

    def _reach(self, depth: int) -> bool:
        """Write a depth down; False where the manifest has not come further."""
        wanted = self._manifest.at(depth)
        if not wanted and not (depth > 1 and self._manifest.is_decided(depth - 1)):
            return False
        while True:
            events = [event for event in self.record.ask() if not isinstance(event, WindowFull)]
            added = [event for event in events if isinstance(event, TasksAdded)]
            tasks = [task for event in added for task in event.tasks]
            muses = bool(tasks) and IDEA_PATH not in tasks[0].env
            halts = any(isinstance(event, RunPaused) for event in events)
            self._refuse_ends(events, depth, wanted)
            self.record.take(event for event in events if not isinstance(event, TasksAdded))
            if not (wanted or (muses and self._has_ideas(tasks))):
                return False
            if halts:
                self.record.add(RunResumed(), self.record.state.at_ms)
            elif not muses:
                return self._try(depth, wanted)
            else:
                self.record.take(added)
                if not self._muse(tasks):
                    return False

    def _refuse_ends(self, events: Sequence[Event], depth: int, wanted: Sequence[Evaluation]) -> None:
        for event in events:
            match event:
                case RunPaused(kind="strategy" | "budget", reason=reason):
                    raise UsageError(f"the manifest cannot go on by this plan: {reason}")
                case CandidatesJudged(judgements=judgements):
                    self._refuse_other_promotions(judgements, depth - 1)
                case AskingEnded(reason=reason) if wanted:
                    raise UsageError(
                        f"evaluation {wanted[0].id} is at depth {depth}, and by this plan the search ended before: "
                        f"{reason}",
                        hint="max_depth, max_evals, score and ideas of the plan must lead as far as the manifest",
                    )

    def _refuse_other_promotions(self, judgements: Sequence[Judgement], depth: int) -> None:
        """Refuse a decision that the plan's score would not have made: what follows would rest on nothing."""
        theirs = {self._task_of[one.id]: one for one in self._manifest.at(depth) if one.promoted_to is not None}
        for judgement in judgements:
            name = str(judgement.task)
            if name == ROOT or name.endswith(IDEAS_SUFFIX) or judgement.decision == "chosen":
                continue
            ours = judgement.decision == "promoted"
            if ours == (name in theirs):
                continue
            number = next(one for one, task in self._task_of.items() if task == name)
            there = "was promoted" if name in theirs else "was not promoted"
            why = f": {judgement.why}" if judgement.why else ""
            raise UsageError(
                f"evaluation {number} {there} there, and by the plan is {judgement.decision}{why}",
                hint="score and beam_width of the plan must be what the manifest was decided by",
            )
        for name, one in theirs.items():
            assert one.promoted_to is not None
            self._node_of[name] = one.promoted_to

    def _has_ideas(self, tasks: Sequence[TaskSpec]) -> bool:
        return any(self._ideas_at(str(task.after[0])) for task in tasks)

    def _ideas_at(self, task: str) -> Mapping[str, str] | None:
        """Return what was thought of for a node: what was tried there was; None if nobody was asked."""
        node = self._manifest.nodes[self._node_of[task]]
        if node.ideas is not None:
            return node.ideas
        tried = {one.idea: one.text for one in self._manifest.evaluations if one.node == node.id}
        return tried or ({} if self._manifest.at(self._manifest.depth_of(node.id) + 1) else None)

    def _muse(self, tasks: Sequence[TaskSpec]) -> bool:
        """End what asks for ideas, where somebody was asked; say whether all are ended."""
        for task in tasks:
            failure = self._manifest.nodes[self._node_of[str(task.after[0])]].failure
            ideas = self._ideas_at(str(task.after[0]))
            at_ms = self.record.state.at_ms
            if failure is not None:
                self.record.fail(str(task.id), failure, at_ms, at_ms)
            elif ideas is not None:
                notes = {FOLDER + name.removeprefix(f"{task.id}/"): text for name, text in ideas.items()}
                self.record.succeed(str(task.id), at_ms, at_ms, notes=notes)
        return all(self.record.state.task(task.id).phase in ENDED_TASK for task in tasks)

    def _try(self, depth: int, wanted: Sequence[Evaluation]) -> bool:
        """Write down what is tried at a depth, and what came of it; say whether all of it has ended."""
        frontier = self._promoted()
        grouped = self._planned.options.get("per_node") is not None
        tasks: list[TaskSpec] = []
        node_task = {self._node_of[task]: task for task in frontier}
        for one in wanted:
            at = node_task[one.node]
            task = evaluation(
                at,
                idea(one.idea, one.text),
                scoring=self._scoring,
                number=len(self._task_of) + 1,
                depth=depth,
                group=node_group(frontier.index(at) + 1) if grouped else None,
            )
            self._task_of[one.id] = str(task.id)
            tasks.append(complete(task, self.record.state.task_defaults))
        planned_ms = min((one.queued_at_ms for one in wanted if one.queued_at_ms is not None), default=0)
        self.record.add(TasksAdded(tasks=tuple(tasks), ask=self.record.state.asks), planned_ms)
        in_time = sorted(wanted, key=lambda one: (one.finished_at_ms or 0, self._task_of[one.id]))
        for one in in_time:
            self._end(one, node_task[one.node])
        return all(self._ends[one.id] for one in wanted)

    def _promoted(self) -> list[str]:
        """List the tasks that are promoted last, by number: the frontier."""
        for recorded in reversed(self.record.events):
            event = recorded.event
            if isinstance(event, CandidatesJudged):
                found = [str(each.task) for each in event.judgements if each.decision == "promoted"]
                if found:
                    return found
        return []

    # Ends

    def _end(self, one: Evaluation, at: str) -> None:
        task = self._task_of[one.id]
        began, ended = one.started_at_ms or self.record.state.at_ms, one.finished_at_ms or self.record.state.at_ms
        if one.state == "completed" and not self._ends[one.id]:
            return
        failure = one.failure or Failure()
        for _ in range(one.tries - (not one.is_open)):
            message = failure.message if one.is_open and failure.message else _EARLIER
            earlier = Failure(error_type=failure.error_type, message=message, timed_out=failure.timed_out)
            self.record.fail(task, earlier, began, began, will_retry=True)
        if one.state == "failed":
            self.record.fail(task, failure, began, ended)
        elif one.state == "completed":
            number = self.record.state.task(task).attempts + 1
            base = self.record.state.task(at).made
            assert base is not None
            left = self._left(task, number, base.left.candidate, self._commit(one.commit, f"evaluation {one.id}"))
            self._refuse_other_node(one, left)
            found = score_of(self._scoring, one.score, one.results, name=f"evaluation {one.id}", complete=one.complete)
            self.record.succeed(task, began, ended, left=left, score=found)

    def _refuse_other_node(self, one: Evaluation, left: Left) -> None:
        if one.promoted_to is None:
            return
        commit = self._commit(self._manifest.nodes[one.promoted_to].commit, f"node {one.promoted_to}")
        if self._tree(commit) != left.tree:
            raise UsageError(f"node {one.promoted_to} has other files than evaluation {one.id}, which became it")

    def _left(self, task: str, attempt: int, base: str, candidate: str) -> Left:
        ref = f"{self._refs}/{attempt_id(self.record.state.task(task).number, attempt)}"
        self.kept[ref] = candidate
        tree = self._tree(candidate)
        change = changed(self._repository, base, tree)
        return Left(
            base=base,
            tree=tree,
            candidate=candidate,
            commit=candidate,
            ref=ref,
            files=change.files,
            named=change.named,
            lines_added=change.added,
            lines_removed=change.removed,
        )

    def _commit(self, name: str, what: str) -> str:
        found = self._repository.ref(f"{name}^{{commit}}")
        if found is None:
            raise UsageError(f"{what}: commit {name} is not in {self._repository.root}")
        return found

    def _tree(self, commit: str) -> str:
        return self._repository.git.ask("rev-parse", f"{commit}^{{tree}}")
