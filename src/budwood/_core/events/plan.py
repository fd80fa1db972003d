"""Which tasks there are, who wants them, and under which settings."""

from msgspec import field

from budwood._core.events.fact import Fact
from budwood._core.model import PLAN, LaneSpec, RunSettings, TaskId, TaskSpec
from budwood._core.scores import Judgement


class RunCreated(Fact, frozen=True, tag="run_created"):
    """The first event of every run."""

    run: str
    name: str
    settings: RunSettings
    source: str = ""
    cwd: str = ""
    made_by: str = ""
    strategy: str = PLAN
    """Who decides which tasks to add: `plan`, or a user's own class as `module:name`."""
    options: dict[str, object] = field(default_factory=dict)
    """What the strategy was made with."""
    task_defaults: dict[str, object] = field(default_factory=dict)
    """What tasks of the strategy get that they do not say themselves; a plan's tasks have it already."""


class TasksAdded(Fact, frozen=True, tag="tasks_added"):
    """Tasks joined the graph, in task order; large plans come in several of these, `more` on all but the last.

    Number `ask` of what the strategy asked for: it is never asked for that again.
    """

    tasks: tuple[TaskSpec, ...]
    lanes: tuple[LaneSpec, ...] = ()
    more: bool = False
    ask: int = 0


class AskingEnded(Fact, frozen=True, tag="asking_ended"):
    """The strategy is asked no more, after so many asks: it wants no more tasks.

    Or it was `stopped`, because a task failed under strict; then a retry lets it go on.
    """

    asks: int
    stopped: bool = False
    reason: str = ""
    """Why it wants no more, in its own words."""


class CandidatesJudged(Fact, frozen=True, tag="candidates_judged"):
    """What the strategy did with candidates before answer number `ask`: all that it decided at one time."""

    ask: int
    judgements: tuple[Judgement, ...]


class WindowFull(Fact, frozen=True, tag="window_full"):
    """Slots are free and the strategy may not be asked before this task has ended; said once in each drive."""

    ask: int
    task: TaskId


class PlanRevised(Fact, frozen=True, tag="plan_revised"):
    """The plan was edited between two drives: what changed runs again, what was taken away is left readable."""

    added: tuple[TaskSpec, ...] = ()
    changed: tuple[TaskSpec, ...] = ()
    removed: tuple[TaskId, ...] = ()
    lanes: tuple[LaneSpec, ...] = ()


class TaskCreated(Fact, frozen=True, tag="task_created"):
    """A task joined while the run went on: an attempt at `parent` asked for it, or, without one, a person did."""

    task: TaskSpec
    parent: TaskId | None = None


class TaskUpdated(Fact, frozen=True, tag="task_updated"):
    """A task that was created while the run went on is wanted otherwise; no attempt at it had begun."""

    task: TaskSpec


class SettingsChanged(Fact, frozen=True, tag="settings_changed"):
    """Slots, budgets or limits are others from here on."""

    settings: RunSettings
    changed: tuple[str, ...]
