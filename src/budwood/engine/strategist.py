"""Between a strategy and the run: tells it what became of tasks, asks it for more, and writes its answers down.

Everything that the strategy is told follows from the events, in their order, so that a strategy that is made anew and
shown the events of a killed run stands where the old one stood. Knows the contract of strategies and the state; must
not know stores, executors or which strategy it has.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from traceback import extract_tb

import msgspec
from msgspec import UNSET

from budwood._core.consequences import budget_pause
from budwood._core.events import (
    AskingEnded,
    AttemptEnded,
    CandidatesJudged,
    Event,
    Recorded,
    RunPaused,
    TasksAdded,
    TasksCancelled,
    TasksRetried,
    TasksSkipped,
    WindowFull,
    about,
)
from budwood._core.graph import build
from budwood._core.model import ENDED_TASK, LaneSpec, RunPhase, TaskId, TaskPhase, TaskSpec
from budwood._core.scores import Judgement
from budwood._core.state import RunState, TaskState
from budwood.errors import BudwoodError, UsageError
from budwood.plans import complete
from budwood.strategies import Strategy, Told
from budwood.strategies.base import random_of

_TASKS_PER_EVENT = 5000


class Strategist:
    """Asks and tells one strategy."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._ended: dict[int, Told] = {}
        """What has ended and was not told, in the order of ends."""
        self._seen: set[int] = set()
        self._first_open = 0
        """No task before this one is waited for."""
        self._said_full = False
        self._judged = self._halted = -1
        """The newest answers with which something was judged, and before which the run was paused."""
        self._problem = ""

    def see(self, state: RunState, recorded: Recorded) -> None:
        """Take note of an event that was just applied, live or on resume."""
        match recorded.event:
            case TasksAdded(more=False, ask=number):
                with self._users_code():
                    self._tell(state, number)
                    self._strategy.asked(number, _tasks_of(state, number))
            case CandidatesJudged(ask=number):
                self._judged = number
            case RunPaused(kind="step"):
                self._halted = state.asks
            case TasksRetried(tasks=ids):
                self._forget(state, ids)
            # Who will not be asked again is told nothing more, so that a plan's results are not kept here.
            case AttemptEnded() | TasksSkipped() | TasksCancelled() if state.asking or state.stopped:
                for task_id in about(recorded.event):
                    self._note(state.task(task_id), recorded.event)

    def next_events(self, state: RunState) -> list[Event]:
        """Ask for more, if the strategy may be asked now; return what is to be recorded, nothing if it must wait."""
        if not state.asking or state.arriving or state.phase not in (RunPhase.ACTIVE, RunPhase.WAITING):
            return []
        if len(state.tasks) >= state.settings.max_tasks:
            return []  # `at_rest` says so when all have ended
        if state.queue.ready:
            return []  # something may start, and there is no money or time for it: more would only pile up
        held_by = self._held_by(state)
        if held_by is not None:
            return self._full(state.asks, held_by)
        if state.settings.order == "completion" and _under_way(state) >= max(state.settings.slots, self._window(state)):
            return []  # slots are free because of a limit on what is under way, not for want of tasks
        events: list[Event] = []
        if not self._problem:
            with self._users_code():
                self._tell(state, state.asks)
                events = self._answer(state, state.asks)
        return [RunPaused(kind="strategy", reason=self._problem)] if self._problem else events

    def judge_again(self, state: RunState, number: int) -> tuple[Judgement, ...]:
        """Say what would be judged with answer `number`, from what may be known then; for who checks the record."""
        with self._users_code():
            self._tell(state, number)
            return tuple(self._strategy.judged(number))
        raise UsageError(self._problem)

    @contextmanager
    def _users_code(self) -> Iterator[None]:
        """Keep what the strategy raises: it pauses the run, and nothing that was done is lost."""
        try:
            yield
        # sys.exit in a strategy must not become the exit code of a run that has not ended.
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self._problem = self._problem or f"the strategy failed: {_explain(error)}"

    def _answer(self, state: RunState, number: int) -> list[Event]:
        answer: object = self._strategy.ask(number, random_of(state.settings.seed, number))
        if not isinstance(answer, Iterable):
            what = f"ask({number}) returned {answer!r:.80}, and no list of tasks"
            raise UsageError(what, hint="return [task, …]; an empty list ends the search")
        limit = state.settings.max_tasks
        tasks = tuple(islice(answer, limit - len(state.tasks) + 1))
        judgements = tuple(self._strategy.judged(number))
        new = judgements and number != self._judged  # a pause between judging and going on repeats nothing
        judged: list[Event] = [CandidatesJudged(ask=number, judgements=judgements)] if new else []
        if not tasks:
            return [*judged, AskingEnded(asks=number, reason=self._strategy.reason(number))]
        halt = self._strategy.pauses(number)
        if halt and number != self._halted:
            return [*judged, RunPaused(kind="step", reason=halt)]
        if len(state.tasks) + len(tasks) > limit:
            more = f"and answer {number} of the strategy has more than are left"
            return budget_pause(f"{len(state.tasks)} of {limit} tasks, {more}")
        lanes = () if number else tuple(self._strategy.lanes)
        _refuse_unfit(state, tasks, lanes=lanes or state.lanes)
        completed = tuple(complete(task, state.task_defaults) for task in tasks)
        _refuse_unmanned(state, completed)
        return [*judged, *added(number, completed, lanes=lanes)]

    def _held_by(self, state: RunState) -> TaskState | None:
        """Return the first task whose end must be known before the next answer."""
        if state.settings.order == "completion":
            return None
        sees_to = state.asks - self._window(state)
        while self._first_open < len(state.tasks) and self._is_settled(state.tasks[self._first_open]):
            self._first_open += 1
        if self._first_open < len(state.tasks):
            task = state.tasks[self._first_open]
            if task.ask <= sees_to:
                return task
        return None

    def _is_settled(self, task: TaskState) -> bool:
        """Say whether the strategy need not wait for a task: it has ended, or is none of its own."""
        return task.number in self._seen or task.is_created or task.spec.errand is not None

    def _window(self, state: RunState) -> int:
        return state.settings.window or self._strategy.window

    def _full(self, number: int, held_by: TaskState) -> list[Event]:
        if self._said_full:
            return []
        self._said_full = True
        return [WindowFull(ask=number, task=held_by.spec.id)]

    def _note(self, task: TaskState, event: Event) -> None:
        if task.phase not in ENDED_TASK or self._is_settled(task):
            return
        result: object = None
        files: tuple[str, ...] = ()
        if isinstance(event, AttemptEnded):
            result = None if event.result is UNSET else msgspec.json.decode(event.result)
            files = () if event.left is None else event.left.named
        self._seen.add(task.number)
        self._ended[task.number] = Told(
            task=task.spec,
            number=task.number,
            ask=task.ask,
            state=task.phase,
            result=result,
            error=task.error_type,
            cost_usd=task.cost_usd,
            score=task.score,
            files=files,
            tree=task.made.left.tree if task.made is not None and task.phase is TaskPhase.DONE else "",
        )

    def _forget(self, state: RunState, ids: Iterable[TaskId]) -> None:
        """Take back ends that the strategy has not heard of: these tasks are wanted again."""
        for task_id in ids:
            number = state.task(task_id).number
            if self._ended.pop(number, None) is not None:
                self._seen.discard(number)
                self._first_open = min(self._first_open, number)

    def _tell(self, state: RunState, number: int) -> None:
        """Tell what answer `number` may know."""
        if state.settings.order == "completion":
            due = list(self._ended)
        else:
            sees_to = number - self._window(state)
            due = sorted(place for place, told in self._ended.items() if told.ask <= sees_to)
        for place in due:
            self._strategy.tell(self._ended.pop(place))


def added(number: int, tasks: Sequence[TaskSpec], *, lanes: Sequence[LaneSpec]) -> Iterator[Event]:
    """Write an answer as events; a large one takes several."""
    last = max(0, len(tasks) - 1) // _TASKS_PER_EVENT
    for part in range(last + 1):
        chunk = tuple(tasks[part * _TASKS_PER_EVENT : (part + 1) * _TASKS_PER_EVENT])
        yield TasksAdded(tasks=chunk, lanes=() if part else tuple(lanes), more=part < last, ask=number)


def _under_way(state: RunState) -> int:
    return state.planned - sum(state.counts[phase] for phase in ENDED_TASK)


def _tasks_of(state: RunState, number: int) -> tuple[TaskSpec, ...]:
    asked_for = (task for task in reversed(state.tasks) if task.spec.errand is None)
    newest = takewhile(lambda task: task.ask == number, asked_for)
    return tuple(task.spec for task in newest)[::-1]


def _refuse_unfit(state: RunState, tasks: Sequence[TaskSpec], *, lanes: Sequence[LaneSpec]) -> None:
    """Refuse an answer that cannot become part of the graph, before it is written."""
    for task in tasks:
        if not isinstance(task, TaskSpec):
            raise UsageError(f"an answer has {type(task).__name__}s in it, not tasks")
        if str(task.id) in state.by_id:
            raise UsageError(f"there is already a task {task.id}", hint="give every task an id of its own")
        if task.run is None and task.function is None and not task.prompt.strip():
            raise UsageError(f"task {task.id} has neither a command nor a function, nor a prompt for an agent")
        for name in task.reads:
            if str(name) not in state.by_id:
                raise UsageError(f"task {task.id} reads what task {name} made, and there is no task {name} yet")
    known = {str(name): name for task in tasks for name in (*task.after, *task.prefer_after)}
    ours = {str(task.id) for task in tasks}
    stood_on = [TaskSpec(id=name) for text, name in known.items() if text in state.by_id and text not in ours]
    build([*stood_on, *tasks], lanes)


def _refuse_unmanned(state: RunState, tasks: Sequence[TaskSpec]) -> None:
    """Refuse prompts that nobody would hear."""
    for task in tasks:
        if task.run is not None or task.function is not None:
            continue
        unknown = [name for name in task.asks if name not in state.settings.agents]
        if unknown or not task.agent:
            wanted = f"its agent {unknown[0]} is none of the run's" if unknown else "it has a prompt and no agent"
            raise UsageError(f"task {task.id}: {wanted}", hint="agent in [run] names those that a strategy may ask")


def _explain(error: BaseException) -> str:
    """Say what the strategy raised, and where in it."""
    if isinstance(error, BudwoodError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    frames = extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
