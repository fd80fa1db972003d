"""The events of a run that a manifest tells of, written as a driver would have written them.

The strategy is asked, told and judges, and only what was tried, and what came of it, is the manifest's. So nothing is
taken over that the plan's own score would not have decided. Knows the strategy and the manifest; must not know stores.
"""

from collections.abc import Mapping, Sequence

from budwood._core.choice import ROOT
from budwood._core.events import AskingEnded, CandidatesJudged, Event, RunPaused, RunResumed, TasksAdded, WindowFull
from budwood._core.model import ENDED_TASK, TaskSpec
from budwood._core.scores import Judgement
from budwood._core.state import RunState
from budwood.errors import UsageError
from budwood.formats.tree_manifest import CANCELLED, STRICT, Evaluation, Manifest
from budwood.plans import complete
from budwood.project.planned import Planned
from budwood.project.tree_commits import Commits
from budwood.project.tree_ends import Ends
from budwood.project.tree_record import Record
from budwood.project.words import some
from budwood.strategies.beam import IDEAS_SUFFIX, evaluation, node_group
from budwood.strategies.beam_nodes import IDEA_PATH
from budwood.strategies.ideas import idea
from budwood.strategies.options import scoring_of


class Growth:
    """A run, depth by depth."""

    def __init__(self, manifest: Manifest, planned: Planned, commits: Commits, *, missing_ok: bool) -> None:
        self._manifest = manifest
        self._planned = planned
        self._commits = commits
        self._scoring = scoring_of(planned.options["scoring"])
        self._base = commits.keep_base(manifest.root.commit)
        self.record = Record(planned.strategy)
        self._write = Ends(self.record, manifest, commits, self._scoring)
        self.task_of: dict[str, str] = {}
        """The task of an evaluation."""
        self._node_of: dict[str, str] = {ROOT: manifest.root.id}
        """The node that a task became."""
        self.notes: list[str] = []
        self.ends = {one.id: self._is_ended(one, missing_ok=missing_ok) for one in manifest.evaluations}
        """Whether an evaluation counts as ended."""
        self._refuse_undecidable()

    def begin(self, run: str, name: str) -> None:
        """Write how the run began, and what its root has come to."""
        for event in self._planned.opening(run=run, name=name)(RunState()):
            self.record.add(event, self._manifest.created_at_ms)
        self.record.take(self.record.ask())
        self._write.measured(self._base)

    def grow(self) -> None:
        """Go as far as the manifest has come."""
        depth = 1
        while self._reach(depth):
            depth += 1
        if self.record.state.tasks_ended:
            if self._manifest.stop_reason == CANCELLED:
                self.record.cancel_all()
            elif self._manifest.stop_reason == STRICT and self._planned.settings.strict:
                self.record.stop()
        self.record.rest()

    # What counts as ended

    def _is_ended(self, one: Evaluation, *, missing_ok: bool) -> bool:
        problems = list(one.problems)
        if one.state == "completed" and not problems:
            problems += filter(None, [self._commits.why_not(one.commit)])
        if not problems:
            return not one.is_open
        if not missing_ok:
            raise UsageError(
                f"evaluation {one.id}: {problems[0]}",
                hint="put it back; --missing-ok lets the evaluation be done again",
            )
        self.notes.append(f"evaluation {one.id} is done again: {problems[0]}")
        return False

    def _refuse_undecidable(self) -> None:
        """Refuse what rests on a depth that has not ended: who goes on is decided when all of it has."""
        depths = sorted({one.depth for one in self._manifest.evaluations})
        for depth in depths:
            unended = [one.id for one in self._manifest.at(depth) if not self.ends[one.id]]
            deeper = [one.id for one in self._manifest.evaluations if one.depth > depth]
            if unended and deeper:
                raise UsageError(
                    f"evaluation {deeper[0]} grew from what was promoted at depth {depth}, "
                    f"where {some(unended)} had not ended",
                    hint="a depth is decided when all of it has ended: take what is deeper out of the manifest",
                )
            if unended and self._manifest.is_decided(depth):
                self.notes.append(
                    f"depth {depth} was decided there before {some(unended)} had ended: it is decided when they have"
                )

    # Depth by depth

    def _reach(self, depth: int) -> bool:
        """Write a depth down; False where the manifest has not come further."""
        wanted = self._manifest.at(depth)
        above = [node for node in self._manifest.nodes.values() if self._manifest.depth_of(node.id) == depth - 1]
        asked = any(node.ideas or node.failure is not None for node in above)
        if not wanted and not asked and not (depth > 1 and self._manifest.is_decided(depth - 1)):
            return False
        while True:
            events = [event for event in self.record.ask() if not isinstance(event, WindowFull)]
            added = [event for event in events if isinstance(event, TasksAdded)]
            tasks = [task for event in added for task in event.tasks]
            muses = bool(tasks) and IDEA_PATH not in tasks[0].env
            halts = any(isinstance(event, RunPaused) for event in events)
            self._refuse_ends(events, depth, wanted)
            self.record.take(event for event in events if not isinstance(event, TasksAdded))
            if not (wanted or (muses and asked)):
                return False
            if halts:
                self.record.add(RunResumed(), self.record.state.at_ms)
            elif not muses:
                return self._try(depth, wanted)
            else:
                self.record.take(added)
                if not self._muse(tasks) or (not wanted and self._manifest.stop_reason in (CANCELLED, STRICT)):
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
        theirs = {self.task_of[one.id]: one for one in self._manifest.at(depth) if one.promoted_to is not None}
        for judgement in judgements:
            name = str(judgement.task)
            if name == ROOT or name.endswith(IDEAS_SUFFIX) or judgement.decision == "chosen":
                continue
            ours = judgement.decision == "promoted"
            if ours == (name in theirs):
                continue
            number = next(one for one, task in self.task_of.items() if task == name)
            there = "was promoted" if name in theirs else "was not promoted"
            why = f": {judgement.why}" if judgement.why else ""
            raise UsageError(
                f"evaluation {number} {there} there, and by the plan is {judgement.decision}{why}",
                hint="score and beam_width of the plan must be what the manifest was decided by",
            )
        for name, one in theirs.items():
            assert one.promoted_to is not None
            self._node_of[name] = one.promoted_to

    def _ideas_at(self, task: str) -> Mapping[str, str] | None:
        """Return what was thought of for a node: what was tried there was; None if nobody was asked."""
        node = self._manifest.nodes[self._node_of[task]]
        if node.ideas is not None:
            return node.ideas
        tried = {one.idea: one.text for one in self._manifest.evaluations if one.node == node.id}
        return tried or ({} if self._manifest.at(self._manifest.depth_of(node.id) + 1) else None)

    def _muse(self, tasks: Sequence[TaskSpec]) -> bool:
        """End what asks for ideas, where somebody was asked; say whether all are ended."""
        node_task = {self._node_of[str(task.after[0])]: str(task.after[0]) for task in tasks}
        for task in tasks:
            at = str(task.after[0])
            failure = self._manifest.nodes[self._node_of[at]].failure
            self._write.thought(str(task.id), self._ideas_at(at), failure, node_task)
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
                number=len(self.task_of) + 1,
                depth=depth,
                group=node_group(frontier.index(at) + 1) if grouped else None,
            )
            self.task_of[one.id] = str(task.id)
            tasks.append(complete(task, self.record.state.task_defaults))
        planned_ms = min((one.queued_at_ms for one in wanted if one.queued_at_ms is not None), default=0)
        self.record.add(TasksAdded(tasks=tuple(tasks), ask=self.record.state.asks), planned_ms)
        in_time = sorted(wanted, key=lambda one: (one.finished_at_ms or 0, self.task_of[one.id]))
        for one in in_time:
            if self.ends[one.id] or one.is_open:  # what has lost its artefacts is done again
                self._write.tried(one, node_task[one.node], self.task_of)
        return all(self.ends[one.id] for one in wanted)

    def _promoted(self) -> list[str]:
        """List the tasks that are promoted last, by number: the frontier."""
        for recorded in reversed(self.record.events):
            event = recorded.event
            if isinstance(event, CandidatesJudged):
                found = [str(each.task) for each in event.judgements if each.decision == "promoted"]
                if found:
                    return found
        return []
