"""The one table of settings: every key, what it takes, its default and its meaning.

Validation, `config show`, flags, environment variables and the reference page are derived from it; tests fail when a
key has no effect or no entry in the docs. Knows names and kinds. Must not know where values come from.
"""

from dataclasses import dataclass
from enum import StrEnum

from budwood._core.model import PLAN
from budwood.settings import kinds
from budwood.settings.kinds import Kind


class Scope(StrEnum):
    """Where a key may stand, and whom it concerns."""

    RUN = "run"
    """[run] of a plan, of budwood.toml and of the user's file: one run."""
    TASK = "task"
    """The same places, and each task may say otherwise."""
    MACHINE = "machine"
    """[machine] of budwood.toml and of the user's file: all runs; never a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting."""

    name: str
    kind: Kind
    doc: str
    default: object = None
    """None: not set, or what the machine has (then `default_doc` says what)."""
    default_doc: str = ""
    scope: Scope = Scope.RUN
    flag: str | None = None
    field: str | None = None
    """What it is called in RunSettings or TaskSpec, where that differs; "" when it is in neither."""
    example: str

    @property
    def env(self) -> str:
        """Name its environment variable."""
        return f"BUDWOOD_{self.name.upper()}"

    @property
    def table(self) -> str:
        """Name the table of a TOML file that it stands in."""
        return "machine" if self.scope is Scope.MACHINE else "run"

    @property
    def target(self) -> str:
        """Name the field that it ends up in."""
        return self.name if self.field is None else self.field

    @property
    def shown_default(self) -> str:
        """Say the default in words."""
        return self.default_doc or ("none" if self.default is None else str(self.default))


_RUN = (
    Key(
        name="name",
        kind=kinds.SOME_TEXT,
        field="",
        flag="--name",
        default_doc="the plan's file name",
        doc="What the run is called in commands, refs and branches; made safe, and unique in its store.",
        example='"night"',
    ),
    Key(
        name="goal",
        kind=kinds.TEXT,
        default="",
        default_doc="none",
        doc="What the run is for, in words.",
        example='"Ship it"',
    ),
    Key(
        name="seed",
        kind=kinds.whole(0),
        default=0,
        flag="--seed",
        doc="Every random number of the run is derived from it; it never changes on resume.",
        example="42",
    ),
    Key(
        name="slots",
        kind=kinds.whole(1, high=4096),
        default_doc="all cores",
        flag="--slots",
        doc="How many attempts run at once.",
        example="4",
    ),
    Key(
        name="strict",
        kind=kinds.FLAG,
        default=False,
        default_doc="false",
        flag="--strict",
        doc="When a task has failed for good, nothing new starts and the rest is skipped.",
        example="true",
    ),
    Key(
        name="budget_usd",
        kind=kinds.number(above=0),
        flag="--budget-usd",
        doc="Money the run may spend; when it is spent the run pauses with exit code 3.",
        example="20",
    ),
    Key(
        name="budget_tokens",
        kind=kinds.whole(1),
        flag="--budget-tokens",
        doc="Tokens the run may spend; when they are spent the run pauses with exit code 3.",
        example="5_000_000",
    ),
    Key(
        name="budget_time",
        kind=kinds.DURATION,
        field="budget_time_s",
        flag="--budget-time",
        doc="Time that a driver may drive the run; then it pauses with exit code 3.",
        example='"8h"',
    ),
    Key(
        name="max_attempts",
        kind=kinds.whole(1),
        flag="--max-attempts",
        doc="Attempts the run may start, all tasks together; then it pauses with exit code 3.",
        example="500",
    ),
    Key(
        name="backoff",
        kind=kinds.DURATION,
        default=1.0,
        default_doc="1s",
        field="backoff_s",
        doc="Wait before the first retry of a task; each further one waits twice as long.",
        example='"5s"',
    ),
    Key(
        name="breaker",
        kind=kinds.whole(0),
        default=5,
        doc="The run pauses when so many tasks in a row could not even begin, with no success between; 0 is never.",
        example="3",
    ),
    Key(
        name="cpus",
        kind=kinds.number(above=0),
        default_doc="all cores",
        doc="Cores that the tasks running at one time may ask for together.",
        example="8",
    ),
    Key(
        name="gpus",
        kind=kinds.DEVICES,
        default_doc="all that are found",
        doc="GPUs that tasks may be given: how many, or their ids.",
        example='["0", "1"]',
    ),
    Key(
        name="groups",
        kind=kinds.LIMITS,
        default={},
        default_doc="{}",
        doc="How many tasks of a group may run at once; a group that is not named here has limit 1.",
        example="{ network = 2 }",
    ),
    Key(
        name="contain",
        kind=kinds.choice("tree", "namespace"),
        default="tree",
        doc="How an attempt's processes are held together: below their supervisor, or in a PID namespace of their own.",
        example='"namespace"',
    ),
    Key(
        name="sandbox",
        kind=kinds.choice("none", "bwrap"),
        default="none",
        flag="--sandbox",
        doc="What keeps attempts in workspaces from the rest of this machine: nothing, or bubblewrap.",
        example='"bwrap"',
    ),
    Key(
        name="network",
        kind=kinds.NETWORK,
        default="all",
        doc="What attempts in a sandbox can reach: everything, nothing, or these hosts through a proxy.",
        example='["api.anthropic.com", "*.pythonhosted.org"]',
    ),
    Key(
        name="sandbox_read",
        kind=kinds.PATHS,
        default=(),
        default_doc="[]",
        doc="What else attempts in a sandbox can read: paths of the project's, from the root, or from ~.",
        example='["~/.gitconfig"]',
    ),
    Key(
        name="sandbox_write",
        kind=kinds.PATHS,
        default=(),
        default_doc="[]",
        doc="What else attempts in a sandbox can read and change: paths as in `sandbox_read`.",
        example='["~/.cache/uv"]',
    ),
    Key(
        name="grace",
        kind=kinds.DURATION,
        default=5.0,
        default_doc="5s",
        field="grace_s",
        doc="Time between TERM and KILL when an attempt is ended.",
        example='"10s"',
    ),
    Key(
        name="output",
        kind=kinds.SIZE,
        default=4 * 1024 * 1024,
        default_doc="4MiB",
        field="output_bytes",
        doc="How much of an attempt's output is kept; of more, head and tail stay and the middle is counted.",
        example='"1MB"',
    ),
    Key(
        name="notify",
        kind=kinds.COMMAND_OR_ADDRESS,
        flag="--notify",
        doc="A shell command to be run when the run ends, pauses or waits; or a web address that is sent every event.",
        example='"notify-send budwood"',
    ),
    Key(
        name="python",
        kind=kinds.TEXT,
        default="",
        default_doc="the virtual environment's",
        flag="--python",
        doc="The interpreter that calls functions: of the active environment, the project's .venv, or budwood's own.",
        example='".venv/bin/python"',
    ),
    Key(
        name="worker_memory",
        kind=kinds.SIZE,
        default=1024**3,
        default_doc="1GiB",
        field="worker_memory_bytes",
        doc="A process that calls functions is replaced between two calls when it has grown past this.",
        example='"512MB"',
    ),
    Key(
        name="strategy",
        kind=kinds.SOME_TEXT,
        default=PLAN,
        default_doc="plan",
        field="",
        doc="Who decides which tasks to add: `plan`, the tasks of the file; or a class of your own, as module:name.",
        example='"climb:HillClimb"',
    ),
    Key(
        name="options",
        kind=kinds.TABLE,
        default={},
        default_doc="{}",
        field="",
        doc="What the strategy is made with: the arguments of its class, by name.",
        example="{ steps = 100 }",
    ),
    Key(
        name="window",
        kind=kinds.whole(1),
        default_doc="that of the strategy",
        doc="Answer k of the strategy knows what became of answers 0 to k - window; so many are under way at once.",
        example="8",
    ),
    Key(
        name="order",
        kind=kinds.choice("task", "completion"),
        default="task",
        doc="In which order the strategy hears of ends: of tasks, which repeats; of time, which never waits.",
        example='"completion"',
    ),
    Key(
        name="max_tasks",
        kind=kinds.whole(1),
        default=100_000,
        flag="--max-tasks",
        doc="Tasks that the strategy may ask for; then the run pauses with exit code 3. A plan is not counted.",
        example="500",
    ),
)

_WORKSPACE = (
    Key(
        name="workspace",
        kind=kinds.choice("auto", "none", "clone", "worktree", "copy"),
        default="auto",
        field="",
        flag="--workspace",
        doc="What attempts work in. `auto`: with agents, a clone inside git, else a copy; with commands only, `none`.",
        example='"worktree"',
    ),
    Key(
        name="base",
        kind=kinds.SOME_TEXT,
        default="HEAD",
        field="",
        flag="--base",
        doc="The branch, tag or commit whose files workspaces start with; a run keeps the commit that it was.",
        example='"origin/main"',
    ),
    Key(
        name="bring",
        kind=kinds.PATHS,
        default=(),
        default_doc="[]",
        field="",
        doc="Patterns of files that git ignores and a workspace gets copies of, beside those of .worktreeinclude.",
        example='[".env"]',
    ),
    Key(
        name="link",
        kind=kinds.PATHS,
        default=(),
        default_doc="[]",
        field="",
        doc="Directories of your checkout that workspaces use where they are, through a link.",
        example='["node_modules"]',
    ),
    Key(
        name="setup",
        kind=kinds.SOME_TEXT,
        field="",
        doc="A shell command that makes a new workspace ready; again only when it, or a lock file, has changed.",
        example='"npm ci"',
    ),
    Key(
        name="setup_timeout",
        kind=kinds.DURATION,
        default=1800.0,
        default_doc="30m",
        field="",
        doc="Time limit of `setup`.",
        example='"10m"',
    ),
    Key(
        name="setup_keeps",
        kind=kinds.PATHS,
        default=(),
        default_doc="[]",
        field="",
        doc="What `setup` made and the next attempt in the same workspace finds again; no part of what attempts leave.",
        example='["node_modules"]',
    ),
    Key(
        name="sparse",
        kind=kinds.PATHS,
        default=(),
        default_doc="all",
        field="",
        doc="Directories that workspaces get, of a large repository; files at its top come along.",
        example='["services/api"]',
    ),
    Key(
        name="ports",
        kind=kinds.whole(0, high=100),
        default=0,
        field="",
        doc="Ports that each attempt gets for its own servers, as BUDWOOD_PORT_1 and so on.",
        example="2",
    ),
    Key(
        name="keep",
        kind=kinds.FLAG,
        default=False,
        default_doc="false",
        field="",
        flag="--keep",
        doc="Leave the workspaces of ended attempts as they are, instead of handing them on.",
        example="true",
    ),
    Key(
        name="into",
        kind=kinds.TEXT,
        default="",
        default_doc="the branch that you stand on",
        doc="The branch that `budwood merge` merges into; it moves only when you give that command.",
        example='"main"',
    ),
    Key(
        name="merge",
        kind=kinds.choice("regular", "squash"),
        default="regular",
        doc="How `budwood merge` merges: with the history of what was made, or as one commit.",
        example='"squash"',
    ),
)

_TASK = (
    Key(
        name="agent",
        kind=kinds.NAMES,
        scope=Scope.TASK,
        flag="--agent",
        doc="Who does what `prompt` says; of a list, the first whose account is not at its limit.",
        example='["claude", "codex"]',
    ),
    Key(
        name="model",
        kind=kinds.SOME_TEXT,
        scope=Scope.TASK,
        flag="--model",
        default_doc="the agent's own",
        doc="The model that an agent is told to use.",
        example='"haiku"',
    ),
    Key(
        name="check",
        kind=kinds.SOME_TEXT,
        scope=Scope.TASK,
        flag="--check",
        doc="A shell command that judges an attempt when its work is done; if it fails, so does the attempt.",
        example='"pytest -q"',
    ),
    Key(
        name="allow_unchanged",
        kind=kinds.FLAG,
        default=False,
        default_doc="false",
        scope=Scope.TASK,
        doc="Whether an agent that changed no file can have done its task.",
        example="true",
    ),
    Key(
        name="timeout",
        kind=kinds.DURATION,
        scope=Scope.TASK,
        field="timeout_s",
        doc="Time limit of one attempt.",
        example='"10m"',
    ),
    Key(
        name="retries",
        kind=kinds.whole(0, high=1000),
        default=0,
        scope=Scope.TASK,
        doc="How often a failed task is tried again.",
        example="2",
    ),
    Key(
        name="env",
        kind=kinds.VARIABLES,
        default={},
        default_doc="{}",
        scope=Scope.TASK,
        doc="Environment variables to set; a task's own are added and win.",
        example='{ LANG = "C" }',
    ),
    Key(
        name="env_pass",
        kind=kinds.VARIABLE_NAMES,
        default=(),
        default_doc="[]",
        scope=Scope.TASK,
        doc="Variables of your own environment to hand on; a task's own are added.",
        example='["HTTP_PROXY"]',
    ),
    Key(
        name="memory",
        kind=kinds.SIZE,
        scope=Scope.TASK,
        field="memory_bytes",
        doc="Memory limit of one attempt with all its processes; at least 1MiB.",
        example='"2GB"',
    ),
    Key(
        name="reserve_usd",
        kind=kinds.number(),
        default=0.0,
        default_doc="0",
        scope=Scope.TASK,
        doc="Money set aside from the budget while an attempt runs; what an unknown cost counts as.",
        example="0.5",
    ),
    Key(
        name="reserve_tokens",
        kind=kinds.whole(0),
        default=0,
        scope=Scope.TASK,
        doc="Tokens set aside from the budget while an attempt runs; what an unknown use counts as.",
        example="20_000",
    ),
)

_MACHINE = (
    Key(
        name="machine_slots",
        kind=kinds.whole(1, high=4096),
        default_doc="no cap",
        scope=Scope.MACHINE,
        doc="How many attempts of all runs together may run at once on this machine.",
        example="16",
    ),
    Key(
        name="store",
        kind=kinds.SOME_TEXT,
        default_doc=".budwood/store.db",
        scope=Scope.MACHINE,
        field="",
        flag="--store",
        doc="Where events live.",
        example='"/var/lib/budwood/store.db"',
    ),
    Key(
        name="pool",
        kind=kinds.TEXT,
        default="",
        default_doc="in the state directory of the user",
        scope=Scope.MACHINE,
        doc="Where workspaces lie; never inside a repository.",
        example='"/mnt/fast/budwood"',
    ),
)

KEYS: dict[str, Key] = {key.name: key for key in (*_RUN, *_WORKSPACE, *_TASK, *_MACHINE)}
"""Every setting, in the order in which it is shown."""

NOT_SETTINGS = frozenset(
    {
        "BUDWOOD_RUN",
        "BUDWOOD_TASK",
        "BUDWOOD_ATTEMPT",
        "BUDWOOD_WORKSPACE",
        "BUDWOOD_ATTEMPT_SEED",
        "BUDWOOD_MARK",
        "BUDWOOD_USAGE",
        "BUDWOOD_NOTIFY_SECRET",
    }
)
"""Variables that budwood gives to attempts (a run inside a run finds them in its environment), and a secret."""
