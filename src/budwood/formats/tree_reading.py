"""Reads a manifest of the tree runner, and what of its folder it rests on.

What is assumed of the format is said in `tree_manifest`. Knows JSON and the folder; must not know what becomes of it.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from budwood.errors import UsageError
from budwood.formats.tree_folder import RunFolder, read_text
from budwood.formats.tree_manifest import (
    GIVEN_UP,
    VERSION,
    Evaluation,
    Failure,
    Id,
    Manifest,
    Node,
    State,
    depth_in,
    refuse_twins,
)

_Shape = TypeVar("_Shape")


class _Decision(Struct, frozen=True, kw_only=True):
    promoted_to_node_id: Id | None = None


class _Node(Struct, frozen=True, kw_only=True):
    node_id: Id
    parent_node_id: Id | None = None
    commit: str | None = None
    baseline_results_csv_path: str | None = None
    generated_idea_files: tuple[str, ...] | None = None
    idea_error_payload: Failure | None = None
    score: dict[str, object] | None = None


class _Evaluation(Struct, frozen=True, kw_only=True):
    eval_id: Id
    parent_node_id: Id
    idea_path: str
    task_state: str | None = None
    status: str | None = None
    queued_at: str | float | None = None
    started_at: str | float | None = None
    finished_at: str | float | None = None
    attempt: int | None = None
    error: object = None
    error_payload: Failure | None = None
    candidate_ref_name: str | None = None
    candidate_commit: str | None = None
    candidate_results_csv_path: str | None = None
    strict_completeness: object = None
    decision: _Decision | None = None
    score: dict[str, object] | None = None


def read_manifest(path: Path) -> Manifest:
    """Read a manifest and what of its folder it rests on."""
    raw = _table(path)
    version = raw.get("manifest_version")
    if version != VERSION or isinstance(version, bool):
        said = "no manifest_version" if version is None else f"manifest_version {version!r}"
        raise UsageError(
            f"{path} has {said}; version {VERSION} can be read", hint="the tree runner's manifest.json of a newer run"
        )
    run = raw.get("tree_run_id")
    if not isinstance(run, str) or not run:
        raise UsageError(f"{path} has no tree_run_id")
    folder = RunFolder(path.absolute().parent, run)
    above = raw.get("root")
    nodes = {node.id: node for node in _nodes(raw, folder, root=above if isinstance(above, Mapping) else {}, path=path)}
    depths = {name: depth_in(nodes, name) for name in nodes}
    roots = [node for node in nodes.values() if node.parent is None]
    if len(roots) != 1:
        raise UsageError(f"{path} has {len(roots)} nodes without a parent; a tree has one root")
    found = [_evaluation(entry, folder, depths) for entry in _entries(raw, "evaluations", path)]
    refuse_twins(found, nodes)
    state = raw.get("state")
    state = state if isinstance(state, Mapping) else {}
    over, stopped = state.get("completed_depths"), state.get("stop_reason")
    created = raw.get("created_at")
    return Manifest(
        run=run,
        created=str(created),
        created_at_ms=_time(created if isinstance(created, str | float | int) else None) or 0,
        root=roots[0],
        nodes=nodes,
        evaluations=tuple(sorted(found, key=lambda one: (one.depth, _order(one.id)))),
        completed_depths=frozenset(int(depth) + 1 for depth in over) if isinstance(over, list) else frozenset(),
        stop_reason=stopped if isinstance(stopped, str) else "",
    )


def _table(path: Path) -> dict[str, object]:
    try:
        raw: object = json.loads(read_text(path))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}", hint="is it written to the end?") from error
    if not isinstance(raw, dict):
        raise UsageError(f"{path} is no manifest: it holds no object")
    return raw


def _entries(raw: Mapping[str, object], key: str, path: Path) -> Iterator[Mapping[str, object]]:
    listed = raw.get(key)
    values = list(listed.values()) if isinstance(listed, Mapping) else listed
    if not isinstance(values, list):
        raise UsageError(f"{path} has no {key}")
    for entry in values:
        if not isinstance(entry, Mapping):
            raise UsageError(f"{path}: one of {key} is {entry!r:.80}, and no object")
        yield entry


def _nodes(raw: Mapping[str, object], folder: RunFolder, *, root: Mapping[str, object], path: Path) -> Iterator[Node]:
    for entry in _entries(raw, "nodes", path):
        given = entry if entry.get("parent_node_id") is not None else {**root, **_without_none(entry)}
        node = _converted(given, _Node, f"node {entry.get('node_id')}")
        if not node.commit:
            raise UsageError(f"node {node.node_id} has no commit")
        problem = next(folder.problems(given), None)
        if problem is not None:
            raise UsageError(f"node {node.node_id}: {problem}")
        files = node.generated_idea_files
        parent = node.parent_node_id
        yield Node(
            id=str(node.node_id),
            parent=None if parent is None else str(parent),
            commit=node.commit,
            results=_results(folder, node.baseline_results_csv_path, f"node {node.node_id}"),
            ideas=None if files is None else {folder.name_of(file): _idea(folder, file) for file in files},
            failure=node.idea_error_payload,
            score=node.score,
        )


def _without_none(entry: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in entry.items() if value is not None}


def _evaluation(entry: Mapping[str, object], folder: RunFolder, depths: Mapping[str, int]) -> Evaluation:
    name = f"evaluation {entry.get('eval_id')}"
    given = _converted(entry, _Evaluation, name)
    node = str(given.parent_node_id)
    if node not in depths:
        raise UsageError(f"{name} tries an idea at node {node}, and there is no such node")
    state = _state(given, name)
    problems = list(folder.problems(entry)) if state == "completed" else []
    edited = next(folder.problems({key: value for key, value in entry.items() if key == "idea_provenance"}), None)
    if edited is not None:
        raise UsageError(f"{name}: {edited}", hint="an idea that was tried, or is to be, must be as it was")
    results = None
    if state == "completed" and given.candidate_results_csv_path:
        results = folder.find(given.candidate_results_csv_path)
        if results is None:
            problems.append(f"results: {given.candidate_results_csv_path} is not there")
    elif state == "completed" and given.score is None:
        problems.append("it names no candidate_results_csv_path")
    promoted = given.decision.promoted_to_node_id if given.decision is not None else None
    return Evaluation(
        id=str(given.eval_id),
        node=node,
        depth=depths[node] + 1,
        idea=folder.name_of(given.idea_path),
        text=_idea(folder, given.idea_path),
        state=state,
        queued_at_ms=_time(given.queued_at),
        started_at_ms=_time(given.started_at),
        finished_at_ms=_time(given.finished_at),
        tries=_tries(given, state),
        failure=_failure(given) if state != "completed" else None,
        commit=given.candidate_commit or given.candidate_ref_name or "",
        results=results,
        complete=_is_complete(given.strict_completeness),
        promoted_to=None if promoted is None else str(promoted),
        score=given.score,
        problems=tuple(dict.fromkeys(problems)),
    )


def _state(given: _Evaluation, name: str) -> State:
    word = given.task_state or given.status
    match word:
        case "failed" if given.error_payload is not None and given.error_payload.given_up is not None:
            return given.error_payload.given_up
        case "queued" | "running" | "completed" | "failed":
            return word
    raise UsageError(
        f"{name} is {word!r}, which is no state that is known", hint="queued, running, completed and failed are"
    )


def _tries(given: _Evaluation, state: State) -> int:
    if state in ("completed", "failed"):
        return max(1, given.attempt or 1)
    if state in GIVEN_UP:
        return given.attempt or 0
    return (given.error_payload.attempt or 1) if given.error_payload is not None else 0


def _failure(given: _Evaluation) -> Failure | None:
    if given.error_payload is not None:
        return given.error_payload
    return Failure(message=str(given.error)) if given.error else None


def _is_complete(said: object) -> bool:
    if isinstance(said, Mapping):
        return False not in said.values()
    return said is not False


def _results(folder: RunFolder, said: str | None, name: str) -> Path | None:
    if not said:
        return None
    found = folder.find(said)
    if found is None:
        raise UsageError(f"{name}: its results {said} are not there")
    return found


def _idea(folder: RunFolder, said: str) -> str:
    file = folder.find(said)
    if file is None:
        raise UsageError(f"the idea {said} is not there", hint="ideas lie in node_ideas, beside the manifest")
    text = read_text(file)
    if not text.strip():
        raise UsageError(f"the idea {said} is empty")
    return text


def _converted(entry: Mapping[str, object], shape: type[_Shape], name: str) -> _Shape:
    try:
        return msgspec.convert(entry, shape)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}") from error


def _order(name: str) -> tuple[int, str]:
    digits = "".join(letter for letter in name if letter.isdigit())
    return (int(digits) if digits else 0, name)


def _time(said: str | float | None) -> int | None:
    if said is None:
        return None
    if isinstance(said, int | float):
        return round(said * 1000)
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        return None
    return round((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() * 1000)
