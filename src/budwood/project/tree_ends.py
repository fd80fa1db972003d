"""How tasks ended that a manifest tells of, written into the record of a run.

Knows commits and scores; must not know what is tried next.
"""

from collections.abc import Mapping

from budwood._core.choice import ROOT
from budwood._core.scores import Scoring
from budwood.errors import UsageError
from budwood.formats.tree_manifest import Evaluation, Failure, Manifest
from budwood.project.tree_commits import Commits
from budwood.project.tree_record import Record
from budwood.project.tree_scores import score_of
from budwood.strategies.beam import IDEAS_SUFFIX
from budwood.strategies.ideas import FOLDER

_EARLIER = "an earlier attempt, of which the manifest keeps the number alone"


class Ends:
    """Writes ends of tasks down."""

    def __init__(self, record: Record, manifest: Manifest, commits: Commits, scoring: Scoring) -> None:
        self._record = record
        self._manifest = manifest
        self._commits = commits
        self._scoring = scoring

    def measured(self, base: str) -> None:
        """Say what the root has come to."""
        root, at_ms = self._manifest.root, self._manifest.created_at_ms
        found = score_of(self._scoring, root.score, root.results, name="the root", complete=True)
        left = self._commits.left(self._record.state.task(ROOT).number, 1, base=base, candidate=base)
        self._record.succeed(ROOT, at_ms, at_ms, left=left, score=found)

    def thought(
        self, task: str, ideas: Mapping[str, str] | None, failure: Failure | None, node_task: Mapping[str, str]
    ) -> None:
        """Say what came of asking for ideas, where somebody was asked; `node_task` has the task of every node there."""
        at_ms = self._record.state.at_ms
        if failure is not None:
            because = node_task.get(str(failure.because))
            self._end_badly(
                task,
                failure,
                tries=failure.attempt,
                because=None if because is None else because + IDEAS_SUFFIX,
                began=at_ms,
                ended=at_ms,
            )
        elif ideas is not None:
            notes = {FOLDER + name.removeprefix(f"{task}/"): text for name, text in ideas.items()}
            self._record.succeed(task, at_ms, at_ms, notes=notes)

    def tried(self, one: Evaluation, at: str, task_of: Mapping[str, str]) -> None:
        """Say what came of an evaluation at a task; of one that is open, what failed so far."""
        state, task = self._record.state, task_of[one.id]
        began, ended = one.started_at_ms or state.at_ms, one.finished_at_ms or state.at_ms
        failure = one.failure or Failure()
        if one.state == "failed" or failure.given_up is not None:
            because = task_of.get(str(failure.because))
            self._end_badly(task, failure, tries=one.tries, because=because, began=began, ended=ended)
            return
        message = failure.message if one.is_open and failure.message else _EARLIER
        self._fail_before(task, failure, one.tries - (one.state == "completed"), began, message=message)
        if one.state == "completed":
            self._succeed(one, at, task, began, ended)

    def _end_badly(
        self, task: str, why: Failure, *, tries: int | None, because: str | None, began: int, ended: int
    ) -> None:
        """Say that a task failed or was given up, after so many tries."""
        was_ended = why.last_error_type == why.given_up == "cancelled"  # it ran, and that was its last attempt
        ends_by_attempt = why.given_up is None or was_ended
        self._fail_before(task, why, (tries or 0) - ends_by_attempt, began)
        if was_ended:
            self._record.end_cancelled(task, began, ended)
        elif why.given_up is not None:
            self._give_up(task, why, because, ended)
        else:
            self._record.fail(task, why, began, ended)

    def _fail_before(self, task: str, why: Failure, times: int, at_ms: int, *, message: str = _EARLIER) -> None:
        kind = why.last_error_type if why.given_up else why.error_type
        earlier = Failure(error_type=kind, message=message, timed_out=why.timed_out)
        for _ in range(times):
            self._record.fail(task, earlier, at_ms, at_ms, will_retry=True)

    def _succeed(self, one: Evaluation, at: str, task: str, began: int, ended: int) -> None:
        state = self._record.state
        base = state.task(at).made
        assert base is not None
        left = self._commits.left(
            state.task(task).number,
            state.task(task).attempts + 1,
            base=base.left.candidate,
            candidate=self._commits.find(one.commit, f"evaluation {one.id}"),
        )
        self._refuse_other_node(one, left.tree)
        found = score_of(self._scoring, one.score, one.results, name=f"evaluation {one.id}", complete=one.complete)
        self._record.succeed(task, began, ended, left=left, score=found)

    def _give_up(self, task: str, why: Failure, because: str | None, at_ms: int) -> None:
        if why.given_up == "cancelled":
            self._record.cancel(task, at_ms)
        elif because is None:
            raise UsageError(f"{task} was skipped because of {why.because!r}, and there is no such thing")
        else:
            self._record.skip(task, at_ms, because=because)

    def _refuse_other_node(self, one: Evaluation, tree: str) -> None:
        if one.promoted_to is None:
            return
        commit = self._commits.find(self._manifest.nodes[one.promoted_to].commit, f"node {one.promoted_to}")
        if self._commits.tree(commit) != tree:
            raise UsageError(f"node {one.promoted_to} has other files than evaluation {one.id}, which became it")
