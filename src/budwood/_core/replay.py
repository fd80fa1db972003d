"""State as the fold of events, and stories: what happened to one id.

Knows the machine. Must not know where events come from.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from budwood._core.events import Recorded, about, as_json
from budwood._core.machine import handle
from budwood._core.model import TaskId
from budwood._core.project import take_rows
from budwood._core.rows import AttemptRow, DependencyRow, Rows, TaskRow
from budwood._core.state import RunState, Touched
from budwood.errors import IllegalTransition, UnknownEvent

Observer = Callable[[RunState, Recorded], None]
_MANY = 1000
"""So many events are kept for a story, and so many may leave changed rows behind, whatever the length of the log."""


def fold(
    events: Iterable[Recorded],
    state: RunState | None = None,
    *,
    observer: Observer | None = None,
    again: Callable[[], Iterable[Recorded]] | None = None,
) -> RunState:
    """Apply events in order; a gap in their numbers is an error. The observer sees each, applied.

    Who wrote them wrote the rows that they change, so none is left to be taken. `again` gives the events once more: for
    the story of an id that an event is illegal for, which otherwise goes back for the last events only.
    """
    state = RunState() if state is None else state
    for recorded in _applied(state, events, again=again):
        if observer is not None:
            observer(state, recorded)
        if recorded.number % _MANY == 0:
            state.touched = Touched()
    state.touched = Touched()
    return state


def _applied(
    state: RunState, events: Iterable[Recorded], *, again: Callable[[], Iterable[Recorded]] | None = None
) -> Iterator[Recorded]:
    seen: deque[Recorded] = deque(maxlen=_MANY)
    for recorded in events:
        if recorded.number != state.number + 1:
            raise UnknownEvent(f"event {state.number + 1} is missing; the next one is {recorded.number}")
        seen.append(recorded)
        try:
            handle(state, recorded)
        except IllegalTransition as error:
            past = seen if again is None else [each for each in again() if each.number <= recorded.number]
            raise error.with_story(story_lines(past, about(recorded.event))) from error
        yield recorded


def fold_rows(events: Iterable[Recorded]) -> Rows:
    """Refold a whole run into the rows that its store should hold."""
    state = RunState()
    gathered = _Gathered()
    for recorded in _applied(state, events):
        if recorded.number % _MANY == 0:
            gathered.add(take_rows(state))
    gathered.add(take_rows(state))
    return gathered.rows(take_rows(state))


class _Gathered:
    """Rows by what they are about, the newest of each."""

    def __init__(self) -> None:
        self._tasks: dict[int, TaskRow] = {}
        self._attempts: dict[tuple[int, int], AttemptRow] = {}
        self._edges: dict[int, list[DependencyRow]] = {}

    def add(self, rows: Rows) -> None:
        self._tasks.update((row.number, row) for row in rows.tasks)
        self._attempts.update(((row.task, row.number), row) for row in rows.attempts)
        self._edges.update((number, []) for number in rows.gone_dependencies)
        for row in rows.dependencies:
            self._edges[row.task].append(row)

    def rows(self, last: Rows) -> Rows:
        edges = self._edges
        return Rows(
            run=last.run,
            tasks=tuple(self._tasks[n] for n in sorted(self._tasks)),
            attempts=tuple(self._attempts[n] for n in sorted(self._attempts)),
            dependencies=tuple(row for n in sorted(edges) for row in sorted(edges[n], key=lambda row: row.needs)),
        )


def story(events: Iterable[Recorded], task_id: TaskId) -> list[Recorded]:
    """Pick the events that are about one task."""
    wanted = str(task_id)
    return [recorded for recorded in events if wanted in map(str, about(recorded.event))]


def story_lines(events: Iterable[Recorded], ids: Iterable[TaskId]) -> list[str]:
    """Tell the stories of some ids, or without ids the run's own, in lines for an error; newest last, at most 20."""
    wanted = set(map(str, ids))
    told = [r for r in events if wanted & set(map(str, about(r.event))) or (not wanted and not about(r.event))]
    lines = []
    for recorded in told[-20:]:
        body = as_json(recorded)
        rest = " ".join(
            f"{name}={value}" for name, value in body.items() if name not in ("number", "at_ms", "event", "version")
        )
        lines.append(f"{recorded.number} {body['event']} {rest[:160]}")
    return lines
