"""What the merge queue came to, in words.

Knows the state. Must not decide.
"""

import shlex
from collections.abc import Iterator

from budwood._core.model import TaskPhase
from budwood._core.state import RunState, TaskState
from budwood.cli.text import one_line
from budwood.project.words import some


def landing_lines(state: RunState) -> Iterator[str]:
    """Say what was merged, what was not, and why."""
    landing, name = state.landing, shlex.quote(state.name)
    if landing.merged and landing.branch:
        also = "".join(f" and {branch}" for branch, commit in landing.delivered.items() if commit == landing.commit)
        yield f"  merged    {some(landing.merged)} into {landing.branch}{also} ({landing.commit[:12]})"
    for task in _flaky(state):
        yield f"  flaky     {one_line(str(task.spec.id))} failed and then passed, with nothing changed"
    for line, conflict in landing.conflicts.items():
        yield f"  conflict  {one_line(line)}: {one_line(some(conflict.files))}"
        if conflict.reason:
            yield f"            {one_line(conflict.reason)}"
        yield f"            solve it in {conflict.path}, commit there, then budwood resume {name}"
    for line, held in landing.held.items():
        yield f"  held      {one_line(line)}: {one_line(held.reason)}"
    if landing.stopped is not None:
        what = f"{landing.stopped.into} stays as it is" if landing.stopped.into else "nothing was merged"
        yield f"  stopped   {what}: {one_line(landing.stopped.reason)}"
        if landing.stopped.hint:
            yield f"            {one_line(landing.stopped.hint)}"


def _flaky(state: RunState) -> Iterator[TaskState]:
    for number in state.landing.verifies.values():
        task = state.tasks[number]
        if task.phase is TaskPhase.DONE and task.tries > 1:
            yield task


def merge_hint(state: RunState) -> str:
    """Point to what could be merged by a person."""
    waits = state.heads and state.settings.workspace is not None and state.settings.workspace.kind != "copy"
    if state.wants_merging or not waits:
        return ""
    return f"budwood merge {shlex.quote(state.name)} merges and publishes finished lanes"
