"""State as the fold of events, and stories: what happened to one id.

Knows the machine. Must not know where events come from.
"""

from collections.abc import Iterable

from budwood._core.events import Recorded, about, as_json
from budwood._core.machine import handle
from budwood._core.model import TaskId
from budwood._core.project import take_rows
from budwood._core.rows import AttemptRow, DependencyRow, Rows, TaskRow
from budwood._core.state import RunState
from budwood.errors import IllegalTransition, UnknownEvent


def fold(events: Iterable[Recorded], state: RunState | None = None) -> RunState:
    """Apply events in order; a gap in their numbers is an error."""
    state = RunState() if state is None else state
    seen: list[Recorded] = []
    for recorded in events:
        if recorded.number != state.number + 1:
            raise UnknownEvent(f"event {state.number + 1} is missing; the next one is {recorded.number}")
        seen.append(recorded)
        try:
            handle(state, recorded)
        except IllegalTransition as error:
            raise error.with_story(story_lines(seen, about(recorded.event))) from error
    return state


def fold_rows(events: Iterable[Recorded]) -> Rows:
    """Refold a whole run into the rows that its store should hold."""
    state = RunState()
    tasks: dict[int, TaskRow] = {}
    attempts: dict[tuple[int, int], AttemptRow] = {}
    edges: dict[int, list[DependencyRow]] = {}
    for recorded in events:
        fold([recorded], state)
        rows = take_rows(state)
        tasks.update((row.number, row) for row in rows.tasks)
        attempts.update(((row.task, row.number), row) for row in rows.attempts)
        edges.update((number, []) for number in rows.gone_dependencies)
        for row in rows.dependencies:
            edges[row.task].append(row)
    return Rows(
        run=take_rows(state).run,
        tasks=tuple(tasks[n] for n in sorted(tasks)),
        attempts=tuple(attempts[n] for n in sorted(attempts)),
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
