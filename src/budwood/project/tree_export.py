"""A beam as a manifest of the tree runner: the same nodes, evaluations and decisions, with ideas and rows beside it.

What that format has no place for is left out (logs, costs, notes, who drove it), but for each score, which is there as
rows of results and, under `score`, whole. Reads the store; writes below one folder.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from budwood._core.choice import ROOT
from budwood._core.events import AttemptEnded, CandidatesJudged
from budwood._core.model import OPEN_ATTEMPT, RunPhase, TaskId, TaskPhase
from budwood._core.replay import fold
from budwood._core.rows import AttemptRow, RunRow
from budwood._core.scores import Judgement, Score
from budwood._core.state import RunState, TaskState
from budwood.errors import UsageError
from budwood.formats.tree_folder import IDEAS
from budwood.formats.tree_manifest import CANCELLED, STRICT, VERSION, GivenUp
from budwood.project.bench import run_refs
from budwood.project.times import iso
from budwood.stores import Store
from budwood.strategies.beam import IDEAS_SUFFIX
from budwood.strategies.beam_nodes import IDEA_PATH, IDEA_SHA256
from budwood.strategies.ideas import ideas_in_notes

Plain = dict[str, object]
_GIVEN_UP: dict[TaskPhase, GivenUp] = {TaskPhase.CANCELLED: "cancelled", TaskPhase.SKIPPED: "skipped"}
_STATES = {TaskPhase.DONE: "completed", TaskPhase.FAILED: "failed", **dict.fromkeys(_GIVEN_UP, "failed")}


@dataclass(frozen=True, slots=True)
class Written:
    """A manifest, and the files of its folder."""

    manifest: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    """By path, seen from the folder."""
    left_out: Sequence[TaskId] = ()
    """Tasks that joined while the search went on: no evaluations, and so nothing that the format has a place for."""


def write_manifest(store: Store, row: RunRow) -> Written:
    """Write a run down as a manifest; refused where that could not say what became of it."""
    state = fold(store.read(row.id), again=lambda: store.read(row.id))
    if state.strategy != "beam":
        raise UsageError(f"run {row.name} is no beam, and a manifest tells of a beam", hint="leave --manifest out")
    root = state.by_id.get(ROOT)
    if root is None or root.phase is not TaskPhase.DONE:
        standing = "not begun" if root is None else root.phase.value
        raise UsageError(
            f"the root of run {row.name} is {standing}, and a manifest's root has been measured",
            hint=f"budwood why {row.name}",
        )
    return _Tree(store, row, state).written()


class _Tree:
    """What a manifest tells of a run."""

    def __init__(self, store: Store, row: RunRow, state: RunState) -> None:
        self._row, self._state = row, state
        self._tried = [task for task in state.tasks if IDEA_PATH in task.spec.env]
        self._attempts: dict[int, list[AttemptRow]] = {}
        for attempt in store.attempts(row.id):
            self._attempts.setdefault(attempt.task, []).append(attempt)
        self._thought: dict[str, Mapping[str, str]] = {}
        """By the task that asked for ideas, those."""
        self._judged: dict[str, Judgement] = {}
        """What was decided when the depth of a task was, whatever was chosen at the end."""
        for recorded in store.read(row.id):
            match recorded.event:
                case AttemptEnded():
                    self._note_ideas(recorded.event)
                case CandidatesJudged(judgements=judgements):
                    self._judged |= {str(each.task): each for each in judgements if each.decision != "chosen"}
        promoted = [task for task in self._tried if self._decision(task) == "promoted"]
        self._nodes = {ROOT: "0000"} | {str(task.spec.id): f"{n:04d}" for n, task in enumerate(promoted, start=1)}
        self._depths = {ROOT: 0}
        for task in self._tried:
            self._depths[str(task.spec.id)] = self._depths[str(task.spec.after[0])] + 1
        self._files: dict[str, bytes] = {}

    def written(self) -> Written:
        """Write all of it."""
        nodes = [self._node(name) for name in self._nodes]
        evaluations = [self._evaluation(task) for task in self._tried]
        state = self._state
        options = {key: value for key, value in state.options.items() if key != "ideas"}
        body: Plain = {
            "manifest_version": VERSION,
            "tree_run_id": f"{state.name}-{state.id}",
            "created_at": iso(state.created_at_ms),
            "updated_at": iso(state.at_ms),
            "run_config": {**options, "max_parallel_evals": state.settings.slots},
            "root": {"node_id": self._nodes[ROOT], "commit": nodes[0]["commit"]},
            "state": self._standing(),
            "events": [],
            "conversations": {},
            "nodes": nodes,
            "evaluations": evaluations,
        }
        joined = [task.spec.id for task in state.tasks if task.is_created]
        return Written(json.dumps(body, indent=2).encode() + b"\n", self._files, joined)

    def _note_ideas(self, end: AttemptEnded) -> None:
        name = str(end.task)
        if name.endswith(IDEAS_SUFFIX) and isinstance(end.result, msgspec.Raw):
            found = ideas_in_notes(msgspec.json.decode(end.result), task=name)
            self._thought[name] = {one.path: one.text for one in found}

    def _decision(self, task: TaskState) -> str:
        judged = self._judged.get(str(task.spec.id))
        return "" if judged is None else judged.decision

    def _standing(self) -> Plain:
        decided = {self._depths[str(task.spec.id)] for task in self._tried if self._decision(task)}
        evaluated = max(self._depths.values())
        deepest = max(self._depths[name] for name in self._nodes)
        return {
            "current_depth": max(0, evaluated - 1),
            "frontier_node_ids": [node for name, node in self._nodes.items() if self._depths[name] == deepest],
            "completed_depths": sorted(depth - 1 for depth in decided),
            "next_node_id": len(self._nodes),
            "next_eval_id": len(self._tried) + 1,
            "stop_reason": self._stop_reason() or None,
        }

    def _stop_reason(self) -> str:
        if self._state.phase is RunPhase.CANCELLED:
            return CANCELLED
        return STRICT if self._state.stopped else self._state.end_reason

    def _node(self, name: str) -> Plain:
        task = self._state.task(name)
        made = task.made
        base = self._state.settings.workspace
        if made is None and base is None:
            raise UsageError(f"run {self._row.name} has no commits", hint="leave --manifest out")
        muse = self._state.by_id.get(name + IDEAS_SUFFIX)
        found: Plain = {
            "node_id": self._nodes[name],
            "parent_node_id": None if name == ROOT else self._nodes[str(task.spec.after[0])],
            "depth": self._depths[name],
            "commit": base.base if name == ROOT and base is not None else made.left.candidate if made else "",
            "ref_name": made.left.ref if made is not None else f"{run_refs(self._row.name, self._row.id)}/base",
            "idea_chain": list(self._chain(task)),
            "created_at": iso(self._ended_ms(task) or self._state.created_at_ms),
            "status": "expanded" if any(str(each.spec.after[0]) == name for each in self._tried) else "frontier",
        }
        if name == ROOT:
            found |= self._results("baseline_results_csv", task, name)
        if muse is not None and muse.phase is TaskPhase.DONE:
            found["generated_idea_files"] = [
                self._idea(path, text) for path, text in self._thought.get(str(muse.spec.id), {}).items()
            ]
        elif muse is not None and muse.phase in _STATES:
            found["idea_error_payload"] = self._failure(muse)
        return found

    def _chain(self, task: TaskState) -> Iterator[str]:
        if task.spec.after:
            yield from self._chain(self._state.task(task.spec.after[0]))
            yield task.spec.env[IDEA_PATH]

    def _evaluation(self, task: TaskState) -> Plain:
        name = str(task.spec.id)
        rows = self._attempts.get(task.number, [])
        idea_path = self._idea(task.spec.env[IDEA_PATH], task.spec.prompt)
        running = task.attempt is not None and task.attempt.phase in OPEN_ATTEMPT
        state = _STATES.get(task.phase, "running" if running else "queued")
        number = _number(name)
        found: Plain = {
            "eval_id": number,
            "parent_node_id": self._nodes[str(task.spec.after[0])],
            "depth": self._depths[name] - 1,
            "idea_path": idea_path,
            "idea_provenance": {"copied_to_path": idea_path, "sha256": task.spec.env[IDEA_SHA256]},
            "task_state": state,
            "status": state,
            "queued_at": iso(rows[0].queued_at_ms if rows else self._state.created_at_ms),
            "started_at": iso(rows[-1].started_at_ms if rows else None),
            "finished_at": iso(self._ended_ms(task)),
            "attempt": task.tries,
        }
        if task.phase is TaskPhase.DONE and task.made is not None:
            found["candidate_commit"] = task.made.left.candidate
            found["candidate_ref_name"] = task.made.left.ref
            found |= self._results("candidate_results_csv", task, f"e{number}")
        elif task.error_type or task.phase in _GIVEN_UP:
            found["error_payload"] = self._failure(task)
        judged = self._judged.get(name)
        if judged is not None:
            found["decision"] = {
                "gate_basis": "parent",
                "rank_basis": "root",
                "passed_gate": judged.decision != "rejected",
                "rank_score": judged.rank,
                "promotion_reason": judged.why or judged.decision,
                "promoted_to_node_id": self._nodes.get(name),
            }
        return found

    def _failure(self, task: TaskState) -> Plain:
        if task.phase in _GIVEN_UP:
            return self._given_up(task)
        ended = [row for row in self._attempts.get(task.number, []) if row.error is not None]
        error = ended[-1].error if ended else None
        if error is None:
            return {"error_type": task.error_type, "attempt": task.tries}
        return {
            "error_type": error.type,
            "message": error.message,
            "attempt": task.tries,
            "max_retries": error.max_retries,
            "will_retry": error.will_retry,
            "timed_out": error.timed_out,
        }

    def _given_up(self, task: TaskState) -> Plain:
        """Say what the format has no state for: that it was cancelled, or because of which other one it was skipped."""
        found: Plain = {
            "error_type": _GIVEN_UP[task.phase],
            "last_error_type": task.error_type or None,
            "attempt": task.tries,
            "will_retry": False,
        }
        if task.because is None:
            return {**found, "message": "somebody cancelled it"}
        name = str(task.because)
        told = self._nodes.get(name.removesuffix(IDEAS_SUFFIX)) if name.endswith(IDEAS_SUFFIX) else _number(name)
        return {**found, "message": f"skipped, because {name} had failed", "because": told}

    def _results(self, key: str, task: TaskState, name: str) -> Plain:
        """Write the numbers of a score as a row, and the score."""
        found = task.score
        if found is None:
            return {}
        path, text = f"artifacts/{name}.csv", _csv(found)
        self._files[path] = text
        return {
            f"{key}_path": path,
            f"{key}_provenance": {"copied_to_path": path, "sha256": sha256(text).hexdigest()},
            "strict_completeness": found.valid,
            "score": msgspec.to_builtins(found),
        }

    def _idea(self, name: str, text: str) -> str:
        path = f"{IDEAS}/{name}"
        self._files[path] = text.encode()
        return path

    def _ended_ms(self, task: TaskState) -> int | None:
        rows = self._attempts.get(task.number, [])
        return rows[-1].finished_at_ms if rows and task.phase in _STATES else None


def _number(name: str) -> str:
    """Return the number that the task of an evaluation has in its name."""
    return name.rpartition("-e")[2]


def _csv(found: Score) -> bytes:
    out = io.StringIO()
    table = csv.DictWriter(out, list(found.metrics), lineterminator="\n")
    table.writeheader()
    table.writerow(found.metrics)
    return out.getvalue().encode()
