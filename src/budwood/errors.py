"""Every error that budwood raises on purpose, sorted by whose fault it is.

BudwoodError
├── UsageError            what the user wrote cannot be done            exit 2
│   ├── PlanError         a plan file is wrong (cycle, unknown id, unknown key, …)
│   ├── SettingsError     a setting is unknown or has a wrong value
│   ├── NoSuchId          no run, task or attempt is called that
│   └── MissingExtra      a part of budwood is not installed
├── StoreError            the place where events live refuses            exit 4 unless stated
│   ├── LeaseHeld         another driver drives this run                 exit 2
│   ├── LeaseLost         another driver took over; this one may do nothing more
│   ├── StoreConflict     the run has other events than this driver thought
│   ├── StoreDamaged      the file cannot be read any more
│   ├── StoreTooNew       written by a newer budwood                     exit 2
│   └── StoreUnwritable   read-only, full, or on a network file system
├── ExecutorError         attempts cannot be run on this machine         exit 4
├── WorkspaceError        a workspace cannot be made or kept             exit 4
├── MergeConflict         two lines of history changed the same places   exit 5
├── TaskFailed            a task whose result is wanted has none
└── InternalError         our bug                                        exit 70
    ├── IllegalTransition a state change that the table does not allow; carries the story
    └── UnknownEvent      an event or state that this version does not know

This module knows nothing of the rest. It must not import from the package.
"""

from collections.abc import Sequence
from typing import ClassVar


class BudwoodError(Exception):
    """Say what happened, to which id, what is safe, and one thing to do next."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n\nhint: {self.hint}"


class UsageError(BudwoodError):
    """What the user wrote cannot be done as written."""

    code = "usage"
    exit_code = 2


class PlanError(UsageError):
    """A plan file is wrong; nothing was started."""

    code = "plan"


class SettingsError(UsageError):
    """A setting is unknown or has a value that it cannot have."""

    code = "settings"


class NoSuchId(UsageError):
    """No run, task or attempt is called that."""

    code = "no-such-id"


class MissingExtra(UsageError):
    """A part of budwood that this needs is not installed."""

    code = "missing-extra"

    def __init__(self, extra: str, *, needed_for: str) -> None:
        super().__init__(f"{needed_for} is not installed", hint=f"pip install 'budwood[{extra}]'")
        self.extra = extra


class StoreError(BudwoodError):
    """The store refuses; what is in it is safe."""

    code = "store"
    exit_code = 4


class LeaseHeld(StoreError):
    """Another driver drives this run; it goes on undisturbed."""

    code = "lease-held"
    exit_code = 2

    def __init__(self, run: str, *, holder: str) -> None:
        super().__init__(
            f"run {run} is already driven by {holder}",
            hint=f"budwood watch {run} follows it; budwood pause {run} stops it",
        )
        self.run = run
        self.holder = holder


class LeaseLost(StoreError):
    """Another driver took over; this one has written nothing since and may start nothing."""

    code = "lease-lost"


class StoreConflict(StoreError):
    """The run's last event is not the one that the writer had seen; nothing was written."""

    code = "store-conflict"


class StoreDamaged(StoreError):
    """The store cannot be read; the file is left as it is."""

    code = "store-damaged"


class StoreTooNew(StoreError):
    """The store was written by a newer budwood."""

    code = "store-too-new"
    exit_code = 2


class StoreUnwritable(StoreError):
    """The store cannot be written: read-only, full, or on a file system without safe locks."""

    code = "store-unwritable"


class ExecutorError(BudwoodError):
    """Attempts cannot be run on this machine."""

    code = "executor"
    exit_code = 4


class WorkspaceError(BudwoodError):
    """A workspace cannot be made, or what is in it cannot be kept; what is there stays there."""

    code = "workspace"
    exit_code = 4


class MergeConflict(BudwoodError):
    """What was to be merged changed the same places as the branch; nothing was changed."""

    code = "merge-conflict"
    exit_code = 5

    def __init__(self, message: str, *, files: Sequence[str], hint: str | None = None) -> None:
        super().__init__(f"{message}: {', '.join(files)}", hint=hint)
        self.files = tuple(files)


class TaskFailed(BudwoodError):
    """A task whose result is wanted has none: it failed, was skipped or was cancelled."""

    code = "task-failed"

    def __init__(self, message: str, *, task: str | int, traceback: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.task = task
        self.traceback = traceback
        """Of the function, as the interpreter that called it wrote it; empty where there is none."""
        if traceback:
            self.add_note(traceback)


class InternalError(BudwoodError):
    """A bug of budwood's; events already written are safe."""

    code = "internal"
    exit_code = 70


class IllegalTransition(InternalError):
    """A state change that the table does not allow."""

    code = "illegal-transition"

    def __init__(self, what: str, *, before: str, after: str, story: Sequence[str] = ()) -> None:
        lines = "".join(f"\n  {line}" for line in story)
        super().__init__(f"{what} cannot go from {before} to {after}" + (f"; its story:{lines}" if lines else ""))
        self.what = what
        self.before = before
        self.after = after
        self.story = tuple(story)

    def with_story(self, story: Sequence[str]) -> "IllegalTransition":
        """Return the same error carrying what happened to the id before."""
        return IllegalTransition(self.what, before=self.before, after=self.after, story=story)


class UnknownEvent(InternalError):
    """An event kind, version or state that this version does not know."""

    code = "unknown-event"
