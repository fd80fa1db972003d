"""Events as lines for people: what ended, what is tried again, what was skipped and why, what was asked.

Knows events and words. Must not know where the lines go. What is only of use to programs gives no line.
"""

import shlex
from collections.abc import Callable, Iterator

from msgspec import Struct

from budwood._core import events as e
from budwood._core.model import PLAN, AttemptPhase, TaskId
from budwood._core.state import Progress
from budwood.cli.text import one_line
from budwood.project.feed import News
from budwood.project.times import span
from budwood.project.words import counted, some

_OF_AGENTS = ("create", "update", "ask", "answer")
"""Requests whose answers speak for themselves."""


class Line(Struct, frozen=True):
    """One line; `kind` tells a view whether and in which colour it is shown."""

    kind: str
    text: str


def lines_of(news: News) -> Iterator[Line]:
    """Tell one commit; how a resumed run stands comes before what was found of its attempts."""
    place = news.ended - sum(_weight(recorded.event) for recorded in news.events)
    for recorded in sorted(news.events, key=lambda each: not isinstance(each.event, e.RunAccounted)):
        place += _weight(recorded.event)
        tell = _TOLD.get(type(recorded.event))
        if tell is not None:
            line = tell(recorded, news, f"{max(0, place)}/{news.planned}")
            if line is not None:
                yield line
        if isinstance(recorded.event, e.AttemptEnded) and recorded.event.usage.problem:
            yield Line("warning", f"warning  {one_line(str(recorded.event.task))}  {_unread(recorded.event)}")


def logs_command(run: str, task: TaskId) -> str:
    """Write the command that shows what a task printed."""
    return f"budwood logs {run} {shlex.quote(str(task))}"


def _unread(event: e.AttemptEnded) -> str:
    return f"{one_line(event.usage.problem)}; what is not known counts as what the task reserves"


def _weight(event: e.Event) -> int:
    """Say how many tasks ended by an event, so that lines of one commit are counted one by one."""
    if isinstance(event, e.AttemptEnded):
        return 0 if event.error is not None and event.error.will_retry else 1
    return len(event.tasks) if isinstance(event, e.TasksSkipped) else 0


def _created(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.RunCreated)
    tasks = counted(news.planned, "task") if event.strategy == PLAN else f"strategy {event.strategy}"
    return Line("note", f"{news.name}: {tasks}, {counted(news.slots, 'slot')}")


def _accounted(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.RunAccounted)
    parts = [
        f"{number} {word}"
        for number, word in (
            (event.done, "done"),
            (event.failed, "failed"),
            (event.skipped, "skipped"),
            (event.cancelled, "cancelled"),
            (event.adopted, "adopted while running"),
            (event.requeued, "to be run again"),
            (event.not_started, "not started"),
        )
        if number
    ]
    return Line("note", f"{news.name} goes on: {', '.join(parts)} of {event.planned}")


def revised_line(event: e.PlanRevised) -> str:
    """Say what an edit added, changed and removed."""
    groups = (
        ("added", [task.id for task in event.added]),
        ("changed", [task.id for task in event.changed]),
        ("removed", list(event.removed)),
    )
    parts = [f"{len(ids)} {word} ({some(ids)})" for word, ids in groups if ids]
    return f"the plan was edited: {', '.join(parts) or 'its lanes changed'}"


def _revised(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.PlanRevised)
    return Line("note", revised_line(event))


def _settings(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.SettingsChanged)
    parts = [f"{name} is now {_value(getattr(event.settings, name))}" for name in event.changed]
    return Line("note", f"settings changed: {', '.join(parts)}")


def _value(value: object) -> str:
    if isinstance(value, dict):
        return some(value) or "none"  # of agents and prices, their names: all that is known of them is in the event
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _ended(recorded: e.Recorded, news: News, place: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.AttemptEnded)
    task, took = one_line(str(event.task)), span(event.measure.wall_s)
    if event.error is None:
        return Line("done", f"done {place}  {task}  {took}")
    why = one_line(event.error.message)
    if event.error.will_retry:
        wait = f" in {span(event.backoff_s)}" if event.backoff_s else ""
        return Line("again", f"again  {task}  {why}; attempt {event.attempt + 1}{wait}")
    if event.phase is AttemptPhase.CANCELLED:
        return Line("cancelled", f"cancelled {place}  {task}  {took}")
    after = "" if event.error.timed_out else f" after {took}"
    return Line("failed", f"failed {place}  {task}  {why}{after}  {logs_command(news.name, event.task)}")


def _skipped(recorded: e.Recorded, news: News, place: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.TasksSkipped)
    return Line("skipped", f"skipped {place}  {some(event.tasks)}  because of {one_line(str(event.because))}")


def _paused(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.RunPaused)
    return Line("paused", f"paused  {one_line(event.reason)}")


def _waiting(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.RunWaiting)
    return Line("waiting", f"waiting  {event.reason}; next try in {span((event.until_ms - recorded.at_ms) / 1000)}")


def _window(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.WindowFull)
    text = f"slots wait for {one_line(str(event.task))}: the window shows answer {event.ask} what became of it"
    return Line("note", text)


def _asked(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.RequestTaken)
    if event.kind in _OF_AGENTS:
        return Line("note", event.detail)
    return Line("note", f"asked to {event.kind}: {event.detail}")


def _question(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.QuestionAsked)
    task = shlex.quote(str(event.task))
    text = f"asks  {one_line(str(event.task))}  {one_line(event.text)}  budwood answer {news.name} {task} TEXT"
    return Line("asks", text)


def _says(recorded: e.Recorded, news: News, _: str) -> Line:
    event = recorded.event
    assert isinstance(event, e.ProgressReported)
    words = Progress(event.text, event.percent, recorded.at_ms).words
    return Line("says", f"says  {one_line(str(event.task))}  {one_line(words)}")


_TOLD: dict[type, Callable[[e.Recorded, News, str], Line | None]] = {
    e.RunCreated: _created,
    e.RunAccounted: _accounted,
    e.PlanRevised: _revised,
    e.SettingsChanged: _settings,
    e.AttemptEnded: _ended,
    e.TasksSkipped: _skipped,
    e.RunPaused: _paused,
    e.RunWaiting: _waiting,
    e.WindowFull: _window,
    e.RequestTaken: _asked,
    e.QuestionAsked: _question,
    e.ProgressReported: _says,
}
