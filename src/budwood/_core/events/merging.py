"""What the merge queue did with lines of history."""

from typing import Literal

from msgspec import Struct

from budwood._core.events.fact import Fact
from budwood._core.model import TaskId, TaskSpec


class MergeAsked(Fact, frozen=True, tag="merge_asked"):
    """Somebody wants finished lanes merged, and maybe a branch of theirs moved there."""

    into: str = ""
    squash: bool = False
    partial: bool = False
    """Lanes with tasks that did not succeed, too: what was accepted in them."""
    resolve: tuple[str, ...] = ()
    """Agents that may try to solve conflicts."""


class Joint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A commit of the merge queue: it holds these lines of history and those before it."""

    lines: tuple[str, ...]
    commit: str
    shadow: str = ""
    """The same files, with the history of everything merged; for squashed commits, which have none."""


class Clash(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of history that could not be merged as it stood."""

    line: str
    head: str
    onto: str
    """The commit that it conflicts with: all others, merged."""
    files: tuple[str, ...] = ()


class LanesJoined(Fact, frozen=True, tag="lanes_joined"):
    """Lines of history were merged, in no branch yet: a line is `lane ID`, or `task ID` for a task without a lane."""

    lines: tuple[tuple[str, str], ...]
    """What was to be merged, in this order: each line and the commit that it had come to."""
    onto: str
    joints: tuple[Joint, ...] = ()
    clashes: tuple[Clash, ...] = ()
    target: str = ""
    """Where the branch of the user's stood that is to move."""

    @property
    def commit(self) -> str:
        """The last one: everything that could be merged."""
        return self.joints[-1].commit if self.joints else self.onto


class ErrandAdded(Fact, frozen=True, tag="errand_added"):
    """The merge queue wants something done: what was merged verified, or a conflict solved by an agent."""

    task: TaskSpec


class LanesMerged(Fact, frozen=True, tag="lanes_merged"):
    """Lines of history are in a branch: the run's own, and the user's if they asked for that."""

    lines: tuple[tuple[str, str], ...]
    commit: str
    branch: str
    into: str = ""
    tasks: tuple[TaskId, ...] = ()
    """Whose candidates are in it now."""


class TargetMoved(Fact, frozen=True, tag="target_moved"):
    """The user's branch has moved since lanes were merged with it: they are merged again, and verified again."""

    branch: str
    commit: str


class MergeStopped(Fact, frozen=True, tag="merge_stopped"):
    """What was merged is in the run's own branch, and the user's stays as it is until they do something."""

    into: str
    reason: str
    hint: str = ""


class LaneHeld(Fact, frozen=True, tag="lane_held"):
    """A finished line of history is broken, and not merged: with it, what was merged does not pass."""

    line: str
    head: str
    reason: str
    task: TaskId | None = None
    """The one that verified."""


class LaneConflicted(Fact, frozen=True, tag="lane_conflicted"):
    """A line of history cannot be merged until somebody has solved its conflicts, in the directory named."""

    line: str
    head: str
    onto: str
    branch: str
    path: str
    files: tuple[str, ...]
    reason: str = ""
    """Why what was found there does not solve it."""


class LaneResolved(Fact, frozen=True, tag="lane_resolved"):
    """The conflicts of a line of history were solved: it stands at this commit now."""

    line: str
    commit: str
    by: Literal["person", "rerere"]
