"""A user's repository with much in it that must stay as it is, and runs of agents beside it.

Knows the program as a user calls it, and git. What the user has is looked at byte by byte, without budwood's own eyes.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.world import Budwood

from budwood._core.events import AttemptEnded
from budwood.testing.workspaces import bytes_in
from budwood.workspaces import Clone, Pool, Repository, find_repository

OURS = ("refs/budwood/", "refs/heads/lane-", "refs/heads/epic-", "refs/heads/task-", "refs/heads/budwood/")
GIT_FILES = ("config", "HEAD", "index", "info/exclude", "info/attributes", "ORIG_HEAD", "logs/HEAD", "logs/refs/stash")


def do(step: str, **keys: object) -> dict[str, object]:
    """Make a step of the script agent."""
    return {"do": step, **keys}


def steps(*each: Mapping[str, object]) -> str:
    """Write the prompt that the script agent follows."""
    return "".join(
        "[[step]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in step.items()) for step in each
    )


def task(name: str | int, prompt: str | Iterable[Mapping[str, object]], **keys: object) -> str:
    """Write a [[task]] for an agent."""
    text = prompt if isinstance(prompt, str) else steps(*prompt)
    values = {"id": name, "prompt": text, **keys}
    return "[[task]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in values.items())


def toml(value: object) -> str:
    """Write a value as TOML has it, in one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


class Site(Budwood):
    """One repository, and the program."""

    within_s = 120.0

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.home = root.parent / "home"
        self.home.mkdir()
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ursula\n\temail = ursula@example.org\n")
        (root / "README.md").write_text("a project\n")
        (root / "notes.txt").write_bytes(b"one\r\ntwo\r\n")
        (root / ".gitignore").write_text("ignored/\n*.tmp\n")
        (root / "src").mkdir()
        (root / "src" / "app.py").write_text("x = 1\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self._live_in()

    def _live_in(self) -> None:
        """Leave about what a user has: a stash, branches, a tag, hooks, settings, work that is not committed."""
        root = self.root
        (root / "README.md").write_text("a draft, put away\n")
        self.git("stash", "-q")
        self.git("branch", "side")
        self.git("tag", "v1")
        self.git("config", "core.hooksPath", ".git/hooks")
        self.git("config", "alias.st", "status")
        hook = root / ".git" / "hooks" / "pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{root.parent}/hook-ran'\n")
        hook.chmod(0o755)
        (root / "src" / "app.py").write_text("x = 1  # mine, not committed\n")
        (root / "staged.txt").write_text("staged\n")
        self.git("add", "staged.txt")
        (root / "draft.txt").write_text("untracked\n")
        (root / "ignored").mkdir()
        (root / "ignored" / "cache").write_text("ignored\n")

    def git(self, *words: str, cwd: Path | None = None) -> str:
        """Run git as the user does."""
        done = subprocess.run(["git", *words], cwd=cwd or self.root, env=self.env, check=True, capture_output=True)
        return os.fsdecode(done.stdout).strip()

    def agents(self, *tables: str, slots: int = 3, **keys: object) -> str:
        """Write a plan whose tasks the script agent does."""
        given = {"agent": "script", "retries": 0, "budget_usd": 1_000_000, **keys, "slots": slots}
        head = "[run]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in given.items())
        return self.plan(head, *tables)

    # --- what the user has ---

    def belongings(self) -> dict[str, str]:
        """Tell everything that is the user's: files, branches, stash, index, settings, hooks."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            if Path(folder) == self.root:
                folders[:] = [name for name in folders if name not in (".git", ".budwood")]
            for name in files:
                path = Path(folder) / name
                found[str(path.relative_to(self.root))] = _digest(path)
        hooks = sorted((self.root / ".git" / "hooks").iterdir())
        for path in (*(self.root / ".git" / name for name in GIT_FILES), *hooks):
            if path.exists():
                found[str(path.relative_to(self.root))] = _digest(path)
        for line in self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines():
            name, _, commit = line.partition(" ")
            if not name.startswith(OURS):
                found[name] = commit
        found["the home directory"] = " ".join(sorted({path.name for path in self.home.iterdir()} - {"state"}))
        found["a hook"] = str((self.root.parent / "hook-ran").exists())
        return found

    def let_go(self) -> None:
        """Do nothing: who waits here waits elsewhere than in the user's directory."""

    # --- what attempts left ---

    @property
    def repository(self) -> Repository:
        """The repository, through budwood."""
        found = find_repository(self.root, self.env)
        assert found is not None
        return found

    def ends(self, name: str = "plan") -> list[AttemptEnded]:
        """List the ends of attempts."""
        return [event for event in self.events(name) if isinstance(event, AttemptEnded)]

    def end_of(self, task_id: str, attempt: int = 1, name: str = "plan") -> AttemptEnded:
        """Return how an attempt ended."""
        return next(event for event in self.ends(name) if str(event.task) == str(task_id) and event.attempt == attempt)

    def restored(self, end: AttemptEnded) -> dict[str, bytes]:
        """Bring everything back that an attempt left, from its ref alone, into a directory that is new."""
        assert end.left is not None
        assert self.git("rev-parse", end.left.ref) == end.left.commit
        repository = self.repository
        pool = Pool(self.root.parent / "another-pool", repository, Clone(repository))
        with TemporaryDirectory(dir=self.root.parent) as into:
            pool.restore(self.git("rev-parse", end.left.ref), Path(into))
            return bytes_in(Path(into))

    def candidate(self, end: AttemptEnded) -> dict[str, str]:
        """List the files of what would be merged, with the ids of their contents."""
        assert end.left is not None
        listed = self.git("ls-tree", "-r", "-z", end.left.tree).split("\0")
        return {path: meta.split()[2] for meta, _, path in (entry.partition("\t") for entry in listed if entry)}

    @property
    def pool(self) -> Path:
        """Where the workspaces of the run are."""
        [folder] = (Path(self.env["XDG_STATE_HOME"]) / "budwood" / "pools").glob("*/clone")
        return folder

    def log_of(self, task_id: str) -> str:
        """Read what a task printed."""
        return self.call("logs", "plan", task_id).out

    def decisions(self, name: str = "plan") -> str:
        """Read the decision log."""
        return self.call("show", name, "--decisions").out


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    stat = path.stat()
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()} {stat.st_mode:o} {stat.st_mtime_ns}"
