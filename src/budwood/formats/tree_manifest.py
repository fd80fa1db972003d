"""The manifest of the tree runner, version 3: which nodes there are, which evaluations, and what became of those.

There is no description of the format but its field names, so this is what is assumed of them, and refused by name where
it does not hold:

- `nodes` and `evaluations` are lists, or tables by id. One node has no parent: the root; its `commit` is where the
  search began, and its `baseline_results_csv_path` (or that of `root`) has the rows of its score.
- An evaluation tries `idea_path` at `parent_node_id`; that pair is there once. `task_state`, or without it `status`, is
  queued, running, completed or failed. How deep it is follows from its node: what `depth` counts from is not asked.
- A completed evaluation has a `candidate_commit`, or a `candidate_ref_name`, and rows at `candidate_results_csv_path`.
  `strict_completeness` that is false, or says false for anything, makes its score invalid.
- `decision.promoted_to_node_id` names the node that an evaluation became; its depth is then decided, as is one that
  `completed_depths` (from 0) lists.
- `attempt` of what has ended is how often it was tried; of what has not, only a failure in `error_payload` counts.

There is no word for what somebody cancelled, or what was skipped because of another's failure. Both have ended and made
nothing, so they are written, and read back, as failed with an `error_type` of that name, and a search that was given up
or stopped has it as its `stop_reason`.

Everything else may be missing. Must not know strategies, scores, stores or JSON.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from budwood.errors import UsageError

VERSION = 3
GivenUp = Literal["cancelled", "skipped"]
GIVEN_UP: tuple[GivenUp, ...] = get_args(GivenUp)
State = Literal["queued", "running", "completed", "failed", GivenUp]
CANCELLED, STRICT = "cancelled", "strict_fail_depth"
"""Why a search stopped that has not come to its end: somebody gave it up, or something failed that must not."""
Id = str | int


class Failure(Struct, frozen=True, kw_only=True):
    """Why an attempt failed, as `error_payload` has it."""

    error_type: str | None = None
    message: str | None = None
    attempt: int | None = None
    timed_out: bool | None = None
    because: Id | None = None
    """The evaluation whose failure let this one be skipped; of a node that was to have ideas, the node."""
    last_error_type: str | None = None
    """How the last attempt at what was cancelled or skipped had ended, if there was one."""

    @property
    def given_up(self) -> GivenUp | None:
        """Say whether this is no failure, but a word for what the format has no state for."""
        return next((word for word in GIVEN_UP if word == self.error_type), None)


@dataclass(frozen=True, slots=True)
class Node:
    """A candidate that ideas are tried at."""

    id: str
    parent: str | None
    commit: str
    results: Path | None
    ideas: Mapping[str, str] | None
    """What was thought of for it: text by name. None where nobody was asked."""
    failure: Failure | None
    """Why nobody could think of anything."""
    score: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One idea, tried at one node."""

    id: str
    node: str
    depth: int
    """That of what it makes: 1 for what is tried at the root."""
    idea: str
    text: str
    state: State
    queued_at_ms: int | None
    started_at_ms: int | None
    finished_at_ms: int | None
    tries: int
    failure: Failure | None
    commit: str
    """A commit, or a name of one; empty where there is none."""
    results: Path | None
    complete: bool
    promoted_to: str | None
    score: Mapping[str, object] | None
    """As budwood's own export has it, whole."""
    problems: tuple[str, ...]
    """What of its artefacts is not there, or is not what it was."""

    @property
    def is_open(self) -> bool:
        """Say whether it has not ended."""
        return self.state in ("queued", "running")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A run of the tree runner."""

    run: str
    created: str
    """When it began, in its own words."""
    created_at_ms: int
    root: Node
    nodes: Mapping[str, Node]
    evaluations: tuple[Evaluation, ...]
    """By depth, then by number."""
    completed_depths: frozenset[int]
    """Those that are over, as `Evaluation.depth` counts."""
    stop_reason: str
    """Why it ended; empty where it has not, or does not say."""

    def at(self, depth: int) -> list[Evaluation]:
        """List the evaluations of a depth."""
        return [one for one in self.evaluations if one.depth == depth]

    def depth_of(self, node: str) -> int:
        """Say how deep a node is: the root at 0."""
        return depth_in(self.nodes, node)

    def is_decided(self, depth: int) -> bool:
        """Say whether it was decided there who of a depth goes on."""
        return depth in self.completed_depths or any(one.promoted_to is not None for one in self.at(depth))


def depth_in(nodes: Mapping[str, Node], name: str) -> int:
    """Say how deep a node is: the root at 0."""
    depth, node = 0, nodes[name]
    while node.parent is not None:
        depth += 1
        if node.parent not in nodes:
            raise UsageError(f"node {node.id} grew from {node.parent}, and there is no such node")
        if depth > len(nodes):
            raise UsageError(f"node {name} grew from itself")
        node = nodes[node.parent]
    return depth


def refuse_twins(found: Iterable[Evaluation], nodes: Mapping[str, Node]) -> None:
    """Refuse ids and ideas that are there twice, and nodes that nothing became, or that two did."""
    ids: set[str] = set()
    tried: set[tuple[str, str]] = set()
    became: dict[str, str] = {}
    for one in found:
        if one.id in ids:
            raise UsageError(f"there are two evaluations {one.id}")
        if (one.node, one.idea) in tried:
            raise UsageError(f"evaluation {one.id} tries {one.idea} at node {one.node}, and another does, too")
        ids.add(one.id)
        tried.add((one.node, one.idea))
        if one.promoted_to is None:
            continue
        node = nodes.get(one.promoted_to)
        if node is None or node.parent != one.node or one.promoted_to in became:
            raise UsageError(
                f"evaluation {one.id} became node {one.promoted_to}, which is none that grew from {one.node} alone"
            )
        if one.state != "completed":
            raise UsageError(f"evaluation {one.id} became node {one.promoted_to}, and is {one.state}")
        became[one.promoted_to] = one.id
    lost = next((node.id for node in nodes.values() if node.parent is not None and node.id not in became), None)
    if lost is not None:
        raise UsageError(f"no evaluation became node {lost}", hint="decision.promoted_to_node_id names it")
