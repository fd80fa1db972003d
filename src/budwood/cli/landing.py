"""What the merge queue came to, and what does not fit together, in words.

Knows the state. Must not decide.
"""

import shlex
from collections.abc import Iterator, Sequence

from budwood._core.candidates import is_undone
from budwood._core.choice import competes
from budwood._core.landing import members
from budwood._core.lane_phase import lane_phase
from budwood._core.model import ENDED_RUN, ENDED_TASK, LanePhase, TaskPhase
from budwood._core.state import RunState, TaskState
from budwood.cli.text import one_line
from budwood.engine.lines import waits_behind
from budwood.project.words import some

_MERGE = "merge"
"""What is on record of somebody who asked to merge."""


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
        yield f"  broken    {one_line(line)}: {one_line(held.reason)}"
    yield from _left_out(state)
    for line in members(state):
        before = behind(state, line)
        if before:
            yield f"  waiting   {one_line(line)}: stands on {one_line(some(before))}"
    if landing.stopped is not None:
        what = f"{landing.stopped.into} stays as it is" if landing.stopped.into else "nothing was merged"
        yield f"  stopped   {what}: {one_line(landing.stopped.reason)}"
        if landing.stopped.hint:
            yield f"            {one_line(landing.stopped.hint)}"


def _left_out(state: RunState) -> Iterator[str]:
    """Name lines that are not merged because a task of theirs was lost, though others of theirs were accepted."""
    if not (state.landing.merged or state.wants_merging or _MERGE in state.externals):
        return
    for line, numbers in members(state).items():
        tasks, head = [state.tasks[number] for number in numbers], state.heads.get(line)
        lost = [task.spec.id for task in tasks if task.phase in ENDED_TASK and task.phase is not TaskPhase.DONE]
        is_told = line in state.landing.held or line in state.landing.conflicts
        if not lost or head in (None, state.landing.merged.get(line)) or is_told or competes(state, tasks[0]):
            continue
        yield f"  held      {one_line(line)}: not done: {one_line(some(lost))}"
        name, undone = shlex.quote(state.name), next((task.spec.id for task in tasks if is_undone(task)), None)
        if undone is not None:  # what it made before is in the line, and is not to be merged as it is
            yield f"            budwood revise {name} {shlex.quote(str(undone))} TEXT goes on with what was sent back"
        else:
            yield f"            budwood merge {name} --partial merges what was accepted in it"


def behind(state: RunState, line: str) -> list[str]:
    """List what a finished line stands on that keeps it from being merged; nothing while the queue is at work."""
    if not (state.landing.conflicts or state.landing.held) or line not in state.heads or state.phase not in ENDED_RUN:
        return []
    is_waiting = lane_phase(state, line, members(state)[line]) is LanePhase.WAITING
    return waits_behind(state, line) if is_waiting else []


def _flaky(state: RunState) -> Iterator[TaskState]:
    for number in state.landing.verifies.values():
        task = state.tasks[number]
        if task.phase is TaskPhase.DONE and task.tries > 1:
            yield task


def merge_hint(state: RunState) -> str:
    """Point to what could be merged by a person."""
    can = state.settings.workspace is not None and state.settings.workspace.kind != "copy"
    waits = any(state.landing.merged.get(line) != head for line, head in state.heads.items())
    if state.wants_merging or not (can and waits):
        return ""
    return f"budwood merge {shlex.quote(state.name)} merges and publishes finished lanes"


def broken_hint(state: RunState) -> str:
    """Say what helps where lanes do not pass verify, which another try alone does not change; nothing if all do."""
    landing, name, inside = state.landing, shlex.quote(state.name), members(state)
    if not landing.held:
        return ""
    once_more = f"budwood retry {name} verifies it once more"
    if any(state.tasks[number].spec.prompt for line in landing.held for number in inside.get(line, ())):
        return f"budwood revise {name} TASK TEXT has its agent mend what is broken; {once_more}"
    return f"mend what is broken in the plan and run that again; {once_more}"


def does_not_fit(task: TaskState) -> bool:
    """Say whether a task failed because what it stands on does not fit together: another try would find the same."""
    return task.phase is TaskPhase.FAILED and task.error_type == "conflict"


def fit_hint(state: RunState, failed: Sequence[TaskState]) -> str:
    """Say what helps where what these tasks stand on does not fit together: only an agent can be told to change it."""
    name = shlex.quote(state.name)
    if any(state.tasks[number].spec.prompt for task in failed for number in state.hard[task.number]):
        again = f"budwood retry {name}" + (f" {shlex.quote(str(failed[0].spec.id))}" if len(failed) == 1 else "")
        return f"budwood revise {name} TASK TEXT tells one of those that do not fit to make room; then {again}"
    again = f"budwood run {shlex.quote(state.source)} --again" if state.source.startswith("/") else "run it anew"
    return f"let one of those that do not fit come after the other, then {again}"
