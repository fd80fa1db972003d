"""A run of the tree runner, made up: its manifest, its folder and its commits, in a real repository.

It ran on Windows: paths are absolute and have backslashes, the manifest begins with a byte order mark.
"""

import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path

from tests.search.grove import Grove

RUN = "night"
WINDOWS = f"C:\\work\\runs\\{RUN}"


class TreeRun:
    """A folder that is filled step by step, and written at last."""

    def __init__(self, folder: Path, grove: Grove | None = None) -> None:
        self.folder = folder / RUN
        self.grove = grove
        self.nodes: list[dict[str, object]] = []
        self.evaluations: list[dict[str, object]] = []
        self.version: object = 3
        self.completed_depths: list[int] = []
        self.listed = False
        self._node(0, None, 0, self._head(), score=10)

    def evaluation(
        self,
        number: int,
        node: int,
        idea: str,
        *,
        state: str = "completed",
        worth: float = 0,
        promoted: int | None = None,
        **keys: object,
    ) -> dict[str, object]:
        """Add one; what is completed has a commit on top of its node's, and a score `worth` above that."""
        above = next(each for each in self.nodes if each["node_id"] == f"{node:04d}")
        path = self._file(f"node_ideas/{node:04d}/{idea}.md", f"worth {worth:g}\n")
        minute = f"2026-02-06T10:{number:02d}"
        entry: dict[str, object] = {
            "eval_id": f"{number:04d}",
            "parent_node_id": above["node_id"],
            "depth": above["depth"],
            "idea_path": path,
            "task_state": state,
            "queued_at": "2026-02-06T10:00:00",
            "worker_pid": 4711,
        }
        if state in ("completed", "failed"):
            entry |= {"started_at": f"{minute}:00", "finished_at": f"{minute}:30", "attempt": 1}
        if state == "failed":
            error = {"error_type": "subprocess", "message": "exit code 3", "attempt": 2, "timed_out": False}
            entry |= {"attempt": 2, "error_payload": error}
        if state == "completed":
            score = float(str(above["score_of_it"])) + worth
            results = self._rows(f"eval/{number:04d}/results.csv", score)
            entry["candidate_commit"] = self._commit(str(above["commit"]), idea, worth)
            entry |= {"candidate_results_csv_path": results, "candidate_results_csv_provenance": self._proof(results)}
            entry["strict_completeness"] = {"all_rows_present": True, "all_rows_ok": True}
            if promoted is not None:
                entry["decision"] = {"passed_gate": True, "promoted_to_node_id": f"{promoted:04d}"}
                depth = int(str(above["depth"])) + 1
                self._node(promoted, node, depth, str(entry["candidate_commit"]), score=score)
        self.evaluations.append({**entry, **keys})
        return self.evaluations[-1]

    def write(self) -> Path:
        """Write the manifest."""
        body = {
            "manifest_version": self.version,
            "tree_run_id": RUN,
            "created_at": "2026-02-06T10:00:00",
            "state": {"completed_depths": self.completed_depths},
            "nodes": self.nodes,
            "evaluations": self.evaluations if self.listed else {each["eval_id"]: each for each in self.evaluations},
        }
        file = self.folder / "manifest.json"
        file.write_bytes(b"\xef\xbb\xbf" + json.dumps(body).encode())
        return file

    def here(self, said: object) -> Path:
        """Say where a file lies that the manifest names."""
        return self.folder / str(said).removeprefix(f"{WINDOWS}\\").replace("\\", "/")

    def _node(self, number: int, parent: int | None, depth: int, commit: str, *, score: float) -> None:
        node: dict[str, object] = {
            "node_id": f"{number:04d}",
            "parent_node_id": None if parent is None else f"{parent:04d}",
            "depth": depth,
            "commit": commit,
            "baseline_results_csv_path": self._rows(f"artifacts/{number:04d}.csv", score),
            "score_of_it": score,
        }
        self.nodes.append(node)

    def _rows(self, name: str, score: float) -> str:
        return self._file(name, f"config,score\na,{score - 1:g}\nb,{score + 1:g}\n")

    def _file(self, name: str, text: str) -> str:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return f"{WINDOWS}\\{name}".replace("/", "\\")

    def _proof(self, said: str) -> dict[str, str]:
        content = self.here(said).read_bytes()
        return {"source_path": "elsewhere.csv", "copied_to_path": said, "sha256": sha256(content).hexdigest()}

    def _head(self) -> str:
        return "0" * 40 if self.grove is None else self.grove.git("rev-parse", "HEAD")

    def _commit(self, parent: str, idea: str, worth: float) -> str:
        """Commit what the idea makes of a commit, without touching anything that the user has."""
        if self.grove is None:
            return "1" * 40
        root = self.grove.root
        env = {**self.grove.env, "GIT_INDEX_FILE": str(self.folder / "index")}

        def git(*words: str, stdin: str = "") -> str:
            done = subprocess.run(
                ["git", *words],
                cwd=root,
                env=env,
                input=stdin.encode(),
                capture_output=True,
                check=True,
            )
            return os.fsdecode(done.stdout).strip()

        blob = git("hash-object", "-w", "--stdin", stdin=f"{worth:g}\n")
        git("read-tree", parent)
        git("update-index", "--add", "--cacheinfo", f"100644,{blob},worth/{idea}.md")
        return git("commit-tree", git("write-tree"), "-p", parent, "-m", idea)
