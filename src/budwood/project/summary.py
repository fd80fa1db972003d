"""A run at a glance, kept up to date from news: counts, what runs, how long it may still take.

Knows events. Its size is bounded by the slots, whatever the number of tasks. Must not print.
"""

from collections.abc import Callable

from msgspec.structs import replace

from budwood._core.events import (
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    Event,
    ProgressReported,
    QuestionAnswered,
    QuestionAsked,
    RunPaused,
    RunResumed,
    RunWaiting,
)
from budwood._core.model import TaskPhase
from budwood._core.state import Progress
from budwood.project.feed import News, Running
from budwood.strategies.progress import SearchProgress

_ENOUGH = 3
"""From fewer ended attempts no time left is guessed."""


class Summary:
    """What a live view shows."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.name = ""
        self.slots = 1
        self.calls = False
        """Whether what runs may be a call of a function."""
        self.counts = dict.fromkeys(TaskPhase, 0)
        self.cost_usd, self.untold = 0.0, 0
        self.running: dict[str, Running] = {}
        self.search: SearchProgress | None = None
        """How far a search has come."""
        self.state = ""
        """Why nothing starts, while that is so."""
        self.stopping = False
        """Whether nothing new starts, because somebody asked this driver to stop."""
        self.began_at_ms = now_ms()
        self._ended = 0
        self._ended_wall_s = 0.0

    def take(self, news: News) -> None:
        """Add one commit."""
        self.name, self.slots, self.calls = news.name, news.slots, news.calls
        self.counts, self.search = news.counts, news.search
        self.cost_usd, self.untold = news.cost_usd, news.untold
        if news.running is not None:
            self.running = {each.task: each for each in news.running}
        for recorded in news.events:
            event = recorded.event
            if isinstance(event, AttemptEnded):
                self._end(event)
            elif isinstance(event, AttemptQueued):
                self._open(str(event.task), event.slot, recorded.at_ms)
            elif isinstance(event, AttemptStarted):
                self._begin(str(event.task), event.began_at_ms)
            elif isinstance(event, RunPaused | RunWaiting):
                self.state = event.reason
            elif isinstance(event, RunResumed):
                self.state = ""
            else:
                self._hear(event)

    def _hear(self, event: Event) -> None:
        """Keep the last word of an attempt; a question before all else."""
        if isinstance(event, QuestionAsked | QuestionAnswered | ProgressReported):
            running = self.running.get(str(event.task))
            if running is None:
                return
            if isinstance(event, QuestionAsked):
                self.running[str(event.task)] = replace(running, says=event.text, asks=True)
            elif isinstance(event, QuestionAnswered):
                self.running[str(event.task)] = replace(running, says="", asks=False)
            elif not running.asks:
                said = Progress(event.text, event.percent, 0).words
                self.running[str(event.task)] = replace(running, says=said)

    def _open(self, task: str, slot: int, at_ms: int) -> None:
        self.running[task] = Running(task, slot, at_ms)
        self.state = ""

    def _begin(self, task: str, began_at_ms: int) -> None:
        if task in self.running:
            self.running[task] = replace(self.running[task], began_at_ms=began_at_ms)

    def _end(self, event: AttemptEnded) -> None:
        self.running.pop(str(event.task), None)
        self._ended += 1
        self._ended_wall_s += event.measure.wall_s

    @property
    def planned(self) -> int:
        """How many tasks the run wants."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many of them need nothing more."""
        open_phases = (TaskPhase.BLOCKED, TaskPhase.READY, TaskPhase.ACTIVE)
        return self.planned - sum(self.counts[phase] for phase in open_phases)

    def elapsed_s(self) -> float:
        """Say for how long this drive has gone on."""
        return max(0, self._now_ms() - self.began_at_ms) / 1000

    def running_s(self, running: Running) -> float:
        """Say for how long an attempt has run."""
        return max(0, self._now_ms() - running.began_at_ms) / 1000

    def left_s(self) -> float | None:
        """Guess how long it may still take; None until some attempts have ended.

        The mean of the ended ones for each task that is left, at the concurrency that there was so far: slots that
        dependencies keep idle do not count.
        """
        left = self.planned - self.ended
        elapsed_s = self.elapsed_s()
        if self.stopping or self._ended < _ENOUGH or left == 0 or elapsed_s <= 0:
            return None
        begun_s = [min(self.running_s(each), elapsed_s) for each in self.running.values()]
        at_once = max(1.0, min(self.slots, left, (self._ended_wall_s + sum(begun_s)) / elapsed_s))
        mean_s = self._ended_wall_s / self._ended
        open_s = sum(max(0.0, mean_s - spent_s) for spent_s in begun_s)
        return (mean_s * max(0, left - len(begun_s)) + open_s) / at_once
