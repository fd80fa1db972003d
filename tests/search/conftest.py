"""Repositories that searches are let loose on: one whose two halves can each be made better, and one for ideas."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.world import Budwood
from tests.search.grove import Grove

SCORE = "cat left.txt right.txt | awk '{ total += $1 } END { print total }'"
"""Each half has a number in its second line."""


class Halves(Budwood):
    """One project, and the program."""

    within_s = 120.0

    def __init__(self, root: Path, *, in_git: bool = True) -> None:
        super().__init__(root)
        for half in ("left", "right"):
            (root / f"{half}.txt").write_text(f"{half}\n1\nend\n")
        (root / "budwood.toml").write_text("[run]\nretries = 0\n")
        if in_git:
            self.git("init", "-q", "-b", "main")
            self.git("add", "-A")
            self.git("-c", "user.name=u", "-c", "user.email=u@h", "commit", "-qm", "first")

    def git(self, *words: str) -> str:
        """Ask git."""
        done = subprocess.run(["git", *words], cwd=self.root, env=self.env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def agent(self, name: str, script: str) -> None:
        """Add an agent: a shell script that finds its prompt on standard input."""
        command = json.dumps(["/bin/sh", "-c", script])
        with (self.root / "budwood.toml").open("a") as file:
            file.write(f'\n[agents.{name}]\nagent = "command"\ncommand = {command}\n')

    def setter(self, name: str, half: str, number: int, *, fails: bool = False) -> None:
        """Add an agent that writes a number into one half."""
        end = "exit 3" if fails else 'echo "by $BUDWOOD_TASK" > "$BUDWOOD_NOTES/lesson.md"'
        self.agent(name, f"sed -i 's/^[0-9-]*$/{number}/' {half}.txt; {end}")

    def compared(self, run: str = "best-of") -> dict[str, dict[str, object]]:
        """Return what `compare` says of every candidate, by task."""
        found = json.loads(self.call("compare", run, "--json").out)
        return {each["task"]: each for each in found["candidates"]}

    def decisions(self, run: str = "best-of") -> dict[str, object]:
        """Return what was decided about every candidate."""
        return {task: each["decision"] for task, each in self.compared(run).items()}


@pytest.fixture
def halves(tmp_path: Path) -> Iterator[Halves]:
    with Halves(tmp_path / "a project ü") as made:
        yield made


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Grove]:
    with Grove(tmp_path / "project") as made:
        yield made
