"""How a run that was left goes on, for whoever resumes or retries it.

Knows the project and the engine's openings. Must not drive.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from budwood._core.events import Event
from budwood._core.model import ENDED_TASK, TaskPhase
from budwood._core.state import RunState
from budwood.engine.driver import Opening
from budwood.engine.opening import go_on
from budwood.errors import SettingsError
from budwood.project.ideas import refuse_changed_ideas
from budwood.project.place import Project


def go_on_with(project: Project, changes: Mapping[str, object], *, also: Sequence[Event] = ()) -> Opening:
    """Let a run go on with these fields of its settings changed; refused where nobody could call its functions."""
    named = changes.get("python")
    wanted = {**changes, "python": project.interpreter(str(named))} if named else changes
    further = go_on(changes=wanted)

    def opening(state: RunState) -> Iterator[Event]:
        if not named:
            refuse_uncallable(project, state)
        refuse_changed_ideas(state)
        yield from further(state)
        yield from also

    return opening


def refuse_uncallable(project: Project, state: RunState, *, command: str = "resume") -> None:
    """Refuse to go on where functions are to be called and their interpreter is gone."""
    over = {TaskPhase.DONE} if command == "retry" else ENDED_TASK
    calls = state.asking or any(
        task.spec.function is not None and task.phase not in over and not task.removed for task in state.tasks
    )
    if calls and not project.has_program(state.settings.python):
        raise SettingsError(
            f"run {state.name} calls its functions with {state.settings.python}, and that cannot be run any more",
            hint=f"budwood {command} {shlex.quote(state.name)} --python PATH names another; "
            f"in Python, budwood.resume({state.name!r}, python=…)",
        )
