"""Every kind of event as one readable line.

Knows events. A kind without a sentence is an error of the tests, not a gap on the screen.
"""

from collections.abc import Callable

from budwood._core import events as e
from budwood._core.model import INSIDE, TaskId, TaskSpec
from budwood._core.state import Progress
from budwood.cli.text import one_line
from budwood.project.times import span
from budwood.project.words import counted, money, some


def sentence(event: e.Event, about: TaskId | None = None) -> str:
    """Tell an event; `about` is the task whose story it is, so that of many only that one is spoken of."""
    if about is not None:
        event = _narrowed(event, str(about))
    return one_line(_SENTENCES[type(event)](event))


def _narrowed(event: e.Event, about: str) -> e.Event:
    """Leave only one task in events that are about many."""
    match event:
        case e.TasksAdded(tasks=tasks):
            return e.TasksAdded(tasks=tuple(task for task in tasks if str(task.id) == about))
        case e.PlanRevised():
            return e.PlanRevised(
                added=tuple(task for task in event.added if str(task.id) == about),
                changed=tuple(task for task in event.changed if str(task.id) == about),
                removed=tuple(task for task in event.removed if str(task) == about),
            )
        case e.CandidatesJudged(ask=number, judgements=judgements):
            return e.CandidatesJudged(ask=number, judgements=tuple(j for j in judgements if str(j.task) == about))
        case _:
            return event


def _tasks_added(event: e.TasksAdded) -> str:
    if len(event.tasks) == 1:
        return f"{event.tasks[0].id} was added: {_what(event.tasks[0])}"
    more = ", more to come" if event.more else ""
    return f"{counted(len(event.tasks), 'task')} added: {some(task.id for task in event.tasks)}{more}"


def _what(task: TaskSpec) -> str:
    command = task.run if isinstance(task.run, str) else " ".join(task.run or ())
    return command or task.function or task.description or task.prompt or "nothing to run"


def _created(event: e.TaskCreated) -> str:
    by = "" if event.parent is None else f" by {event.parent}"
    return f"{event.task.id} was created{by}: {_what(event.task)}"


def _plan_revised(event: e.PlanRevised) -> str:
    groups = (
        ("added", [task.id for task in event.added]),
        ("changed", [task.id for task in event.changed]),
        ("removed", event.removed),
    )
    told = [f"{word} {some(ids)}" for word, ids in groups if ids]
    return f"the plan was edited: {', '.join(told) or 'its lanes changed'}"


def _settings_changed(event: e.SettingsChanged) -> str:
    values = [(name, getattr(event.settings, name)) for name in event.changed]
    told = [f"{name} is now {some(value) if isinstance(value, dict) else value}" for name, value in values]
    return f"settings changed: {', '.join(told)}"


def _accounted(event: e.RunAccounted) -> str:
    return (
        f"accounted for all {counted(event.planned, 'task')}: {event.done} done, {event.failed} failed, "
        f"{event.skipped} skipped, {event.cancelled} cancelled, {event.adopted} adopted, "
        f"{event.requeued} to run again, {event.not_started} not started"
    )


def _queued(event: e.AttemptQueued) -> str:
    again = f", retry {event.retry}" if event.retry else ""
    gpus = f", gpus {', '.join(event.gpus)}" if event.gpus else ""
    return f"{event.task}: attempt {event.attempt} goes to slot {event.slot}{again}{gpus}"


def _ended(event: e.AttemptEnded) -> str:
    how = event.phase.value.replace("_", " ")
    text = f"{event.task}: attempt {event.attempt} {how} after {span(event.measure.wall_s)}"
    if event.usage.cost_usd:
        text += f", {money(event.usage.cost_usd)}"
    if event.score is not None and event.score.value is not None:
        text += f", score {event.score.value:g}" + ("" if event.score.valid else f", not valid: {event.score.why}")
    if event.error is not None:
        text += f": {event.error.message}"
        if not event.counts:
            text += "; it does not count"
        if event.error.will_retry:
            text += f"; tried again in {span(event.backoff_s)}" if event.backoff_s else "; tried again"
    if event.left is not None and event.left.outside:
        text += f"; changed outside its workspace meanwhile: {some(event.left.outside)}"
    if event.left is not None and event.left.not_kept:
        text += f"; could not be kept: {some(event.left.not_kept)}"
    if event.left is not None and event.left.inside:
        text += f"; changed files {INSIDE}: {some(event.left.inside)}"
    return text


def _asking_ended(event: e.AskingEnded) -> str:
    why = "is asked no more" if event.stopped else "wants no more tasks"
    reason = f": {event.reason}" if event.reason else ""
    return f"the strategy {why}, after {counted(event.asks, 'answer')}{reason}"


def _judged(event: e.CandidatesJudged) -> str:
    if len(event.judgements) == 1:
        [only] = event.judgements
        return f"{only.task} was {only.decision}" + (f": {only.why}" if only.why else "")
    said: dict[str, list[TaskId]] = {}
    for each in event.judgements:
        said.setdefault(each.decision, []).append(each.task)
    return "; ".join(f"{decision}: {some(tasks)}" for decision, tasks in said.items())


def _cancelled(event: e.TasksCancelled) -> str:
    return "the whole run was cancelled" if event.whole_run else f"cancelled: {some(event.tasks)}"


def _external(event: e.External) -> str:
    whom = "" if event.task is None else f"{event.task}: "
    return f"{whom}decided from outside: {event.cause}" + (f" ({event.detail})" if event.detail else "")


def _reviewed(event: e.TaskReviewed) -> str:
    text = f"{event.task}: attempt {event.attempt} was {event.decision}"
    if not event.text:
        return text
    return f"{text} {event.text}" if event.decision == "merged" else f"{text}: {event.text}"


def _merge_asked(event: e.MergeAsked) -> str:
    more = ", unfinished ones too" if event.partial else ""
    return f"finished lanes are to be merged{f' into {event.into}' if event.into else ''}{more}"


def _joined(event: e.LanesJoined) -> str:
    inside = [line for joint in event.joints for line in joint.lines]
    text = f"merged onto {event.onto[:12]}, in no branch yet: {some(inside) or 'nothing new'}"
    return f"{text}; in conflict: {some(clash.line for clash in event.clashes)}" if event.clashes else text


def _merged(event: e.LanesMerged) -> str:
    into = f" and {event.into}" if event.into else ""
    return f"{some(line for line, _ in event.lines)} merged: {event.branch}{into} at {event.commit[:12]}"


def _conflicted(event: e.LaneConflicted) -> str:
    why = f" ({event.reason})" if event.reason else ""
    return f"{event.line} is in conflict in {some(event.files)}{why}; to be solved in {event.path}"


_SENTENCES: dict[type[e.Event], Callable[..., str]] = {
    e.RunCreated: lambda event: f"run {event.name} was created by budwood {event.made_by}".rstrip(),
    e.TasksAdded: _tasks_added,
    e.AskingEnded: _asking_ended,
    e.CandidatesJudged: _judged,
    e.WindowFull: lambda event: f"slots wait: answer {event.ask} of the strategy needs the end of {event.task}",
    e.PlanRevised: _plan_revised,
    e.SettingsChanged: _settings_changed,
    e.DriverStarted: lambda event: f"{event.driver} began to drive (fence {event.fence})",
    e.DriverSeen: lambda _: "the driver drives",
    e.DriverStopped: lambda event: f"the driver left: {event.reason}",
    e.RunAccounted: _accounted,
    e.AttemptQueued: _queued,
    e.AttemptStarted: lambda event: f"{event.task}: attempt {event.attempt} runs (pid {event.pid})",
    e.AttemptScoring: lambda event: f"{event.task}: what attempt {event.attempt} made is being scored",
    e.AttemptAdopted: lambda event: f"{event.task}: attempt {event.attempt} was still running and was taken over",
    e.AttemptEnded: _ended,
    e.TasksSkipped: lambda event: f"skipped because of {event.because}: {some(event.tasks)}",
    e.TasksCancelled: _cancelled,
    e.TasksRetried: lambda event: f"wanted again: {some(event.tasks) or 'what is broken'}",
    e.TaskReviewed: _reviewed,
    e.TaskRevised: lambda event: f"{event.task}: attempt {event.attempt} is gone on with: {event.text}",
    e.MergeAsked: _merge_asked,
    e.LanesJoined: _joined,
    e.ErrandAdded: lambda event: f"{event.task.id} was added: {event.task.description}",
    e.LanesMerged: _merged,
    e.TargetMoved: lambda event: f"{event.branch} has moved to {event.commit[:12]}: merged again",
    e.MergeStopped: lambda event: f"{event.into or 'nothing'} does not move: {event.reason}",
    e.LaneHeld: lambda event: f"{event.line} is broken: {event.reason}",
    e.LaneConflicted: _conflicted,
    e.LaneResolved: lambda event: f"the conflicts of {event.line} are solved ({event.by}): {event.commit[:12]}",
    e.TaskCreated: _created,
    e.TaskUpdated: lambda event: f"{event.task.id} was changed: {_what(event.task)}",
    e.QuestionAsked: lambda event: f"{event.task}: attempt {event.attempt} asks: {event.text}",
    e.QuestionAnswered: lambda event: f"{event.task}: attempt {event.attempt} was answered: {event.text}",
    e.ProgressReported: lambda event: (
        f"{event.task}: attempt {event.attempt} says: {Progress(event.text, event.percent, 0).words}"
    ),
    e.RunPaused: lambda event: f"the run paused ({event.kind}): {event.reason}",
    e.RunWaiting: lambda event: f"the run waits: {event.reason}",
    e.RunResumed: lambda event: "the run goes on",
    e.RunEnded: lambda event: "the run was given up" if event.cancelled else "every task has ended",
    e.External: _external,
    e.RequestTaken: lambda event: f"request {event.request}: {event.kind}: {event.detail or 'done'}",
    e.RequestRefused: lambda event: f"request {event.request}: {event.kind}: refused: {event.reason}",
}
