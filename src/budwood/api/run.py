"""A run in Python: driven by this process in a thread of its own, or only looked at.

Every method may be called from any thread. What waits can also be awaited. Knows what is inside; must not know how a
run is begun.
"""

import time
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from budwood._core.model import RunPhase, TaskId, TaskPhase
from budwood.api import asking, waiting
from budwood.api.events import Events
from budwood.api.inside import Inside
from budwood.api.views import (
    Batch,
    Lane,
    Result,
    Task,
    batch_views,
    lane_views,
    refuse_no_result,
    result_views,
    task_views,
    value_of,
)
from budwood.engine.verdict import Verdict
from budwood.errors import UsageError

if TYPE_CHECKING:
    from pandas import DataFrame

    from budwood.api.candidates import Candidate
    from budwood.api.drawing import Drawing
    from budwood.api.graph import Graph


class Run:
    """One durable execution of a plan or a strategy."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._look = inside.look

    # --- what it is and where it stands ---

    @property
    def id(self) -> str:
        """The run's id: ten characters, for ever."""
        return self._look.run

    @property
    def name(self) -> str:
        """The run's name, unique in its store."""
        return self._look.name

    @property
    def is_driven(self) -> bool:
        """Whether this object's driver is at work, here in this process."""
        return self._inside.at_work is not None

    @property
    def state(self) -> RunPhase:
        """Where it stands: active, paused, waiting, finished or cancelled."""
        glance = self._inside.glance
        if glance is not None:
            return glance.phase
        with self._look.open() as store:
            return self._look.row(store).phase

    @property
    def counts(self) -> dict[TaskPhase, int]:
        """How many of its tasks stand where."""
        glance = self._inside.glance
        if glance is not None:
            return glance.counts.copy()
        with self._look.rows() as (_, rows):
            return {phase: sum(task.phase is phase for task in rows.tasks) for phase in TaskPhase}

    @property
    def cost_usd(self) -> float:
        """What all its attempts cost so far."""
        glance = self._inside.glance
        if glance is not None:
            return glance.cost_usd
        with self._look.open() as store:
            return self._look.row(store).cost_usd

    @property
    def duration_s(self) -> float:
        """For how long drivers have driven it so far; the time between two drives is not counted."""
        glance = self._inside.glance
        if glance is not None:
            return glance.driven_s()
        state = self._look.state()
        return state.driven_until(state.at_ms if self._inside.rests() else _now_ms())

    @property
    def verdict(self) -> Verdict | None:
        """Where it stands in counts, words and an exit code, or stood when this object's driver left; None before."""
        if self.is_driven:
            return None
        driving = self._inside.driving
        return self._look.verdict() if driving is None or driving.verdict is None else driving.verdict

    @property
    def callback_error(self) -> BaseException | None:
        """The first thing that on_event raised; None if it raised nothing."""
        hearing = self._inside.hearing
        return None if hearing is None else hearing.error

    # --- what is in it ---

    def tasks(self) -> list[Task]:
        """List its tasks, in task order."""
        with self._look.rows() as (_, rows):
            return task_views(rows)

    def batches(self) -> list[Batch]:
        """List its batches, by number."""
        with self._look.rows() as (_, rows):
            return batch_views(rows)

    def lanes(self) -> list[Lane]:
        """List its lanes, in the order of the plan."""
        state = self._look.state()
        with self._look.rows() as (_, rows):
            return lane_views(rows, state)

    def results(self) -> list[Result]:
        """List how its tasks ended that were tried, in task order."""
        with self._look.rows() as (store, rows):
            return result_views(rows, store.read(self.id))

    def result(self, task: TaskId) -> object:
        """Return what a task's function returned; raises TaskFailed, with the function's traceback, if it has none."""
        with self._look.rows() as (store, rows):
            found = self._look.task(rows.tasks, task)
            last = rows.last_of(found)
            refuse_no_result(found, last, run=self.name)
            assert last is not None
            assert last.end_event is not None
            return value_of(next(iter(store.read(self.id, last.end_event - 1))))

    @property
    def best(self) -> "Candidate | None":
        """What a search has come to so far: what somebody approved, else what was chosen, else the best score."""
        from budwood.api.candidates import best_of

        return best_of(self._look)

    def candidates(self) -> "list[Candidate]":
        """List what attempts made, in task order: in a search what competes, else what changed anything."""
        from budwood.api.candidates import candidates_of

        return candidates_of(self._look)

    def candidate(self, task: TaskId) -> "Candidate | None":
        """Return what a task has come to; None if it has left nothing yet."""
        from budwood.api.candidates import candidate_of

        return candidate_of(self._look, task)

    @property
    def graph(self) -> "Graph":
        """Its tasks and their dependencies, to be drawn."""
        from budwood.api.graph import Graph

        state = self._look.state()
        tasks = [task.spec for task in state.tasks if not task.removed]
        return Graph(tasks, state.lanes, source=f"run {self.name}")

    def tree(self) -> "Drawing":
        """Draw what grew from what, with scores and decisions; of a plan, what comes after what."""
        from budwood.api.drawing import tree_of

        return tree_of(self._look)

    def scores(self) -> "Drawing":
        """Draw every candidate's score over its task's number, and the best so far."""
        from budwood.api.drawing import scores_of

        return scores_of(self._look)

    def timeline(self) -> "Drawing":
        """Draw when attempts ran, slot by slot, and how they ended."""
        from budwood.api.drawing import timeline_of

        return timeline_of(self._look, now_ms=None if self._inside.rests() else _now_ms())

    def to_pandas(self) -> "DataFrame":
        """Make a table of its tasks, one row each in task order, as a pandas DataFrame; needs the package pandas."""
        from budwood.api.frame import frame_of

        return frame_of(self._look)

    def events(self, *, after: int = 0) -> Events:
        """Give the events so far behind a number, for `for` and `async for`."""
        return Events(self, self._inside, after=after, follow=False)

    def follow(self, *, after: int = 0) -> Events:
        """Give all events behind a number, waiting for more until the run rests; for `for` and `async for`."""
        return Events(self, self._inside, after=after, follow=True)

    # --- waiting ---

    def wait(self, timeout_s: float | None = None) -> Verdict:
        """Wait until the run rests, and return where it stands; raises TimeoutError when the time is over.

        It blocks the thread; in an event loop, `await run` does not. Ctrl-C lets nothing new start and raises
        KeyboardInterrupt. What the driver could not deal with is raised here.
        """
        return waiting.wait(self._inside, timeout_s)

    def __await__(self) -> Generator[object, None, Verdict]:
        return waiting.rest(self._inside).__await__()

    # --- asking something of it ---

    def stop(self, *, now: bool = False) -> None:
        """Let this process's driver start nothing new and leave when what runs has ended; or leave at once.

        Commands that run then go on under their supervisors, and whoever drives the run next adopts them. Calls of
        functions end with their driver, and are made again. Where nobody drives the run, there is nothing to stop.
        """
        driving = self._inside.at_work
        if driving is None:
            if self._inside.rests():
                return
            raise UsageError(f"run {self.name} is not driven by this object", hint="pause() works wherever it is")
        driving.stop(now="left by the program" if now else "")

    def pause(self) -> str:
        """Let nothing new start, wherever the run is driven; what runs may finish. Return what was answered."""
        return asking.pause(self._look)

    def cancel(self, *tasks: TaskId) -> str:
        """Give the run up, or only some tasks, and end what runs of that. Return what was answered."""
        return asking.cancel(self._look, tasks)

    def retry(self, *tasks: TaskId) -> str:
        """Want again what failed, was cancelled or skipped, or only some tasks; drive it on if nobody does."""
        from budwood.api.beginning import go_on_again

        answer, driven = asking.retry(self._look, tasks)
        if not driven:
            go_on_again(self, self._inside)
        return answer

    def approve(self, *tasks: TaskId) -> str:
        """Approve what tasks made; in a search, choose it. Return what was answered."""
        return asking.decide(self._look, "approve", tasks)

    def reject(self, *tasks: TaskId) -> str:
        """Reject what tasks made: it is not merged, and not chosen. Return what was answered."""
        return asking.decide(self._look, "reject", tasks)

    # --- in a `with`, and in a notebook ---

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.wait()
        elif (driving := self._inside.at_work) is not None:
            driving.stop(now="left by the program")
            driving.join(waiting.CATCH_UP_S)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self
        elif (driving := self._inside.at_work) is not None:
            driving.stop(now="left by the program")
            await driving.over.reached(waiting.CATCH_UP_S)

    def show(self) -> None:
        """Show the run's progress in a notebook, and keep it up to date until the run rests."""
        from budwood.api.notebook import show

        show(self._inside)

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_html_(self) -> str:
        from budwood.api.notebook import snapshot

        return snapshot(self._inside)

    def __repr__(self) -> str:
        driving = self._inside.driving
        if driving is None or driving.glance is None:
            return f"<run {self.name}>"
        counts = driving.glance.counts
        return f"<run {self.name}: {driving.glance.phase}, {counts[TaskPhase.DONE]} of {sum(counts.values())} done>"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
