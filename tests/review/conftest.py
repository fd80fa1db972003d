"""A repository with one commit, and commits made beside its checkout, as attempts leave them."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from budwood.testing.workspaces import git
from budwood.workspaces import Repository, find_repository


@dataclass(frozen=True)
class Ground:
    """A user's checkout, and its repository."""

    root: Path
    repository: Repository

    @property
    def base(self) -> str:
        """The first commit."""
        return git(self.root, "rev-list", "--max-parents=0", "HEAD")

    def head(self, branch: str = "main") -> str:
        """Where a branch stands."""
        return git(self.root, "rev-parse", branch)

    def made(self, files: Mapping[str, str | None], *, on: str | None = None) -> str:
        """Make a commit that changes files (None deletes one), touching nothing of the checkout's."""
        index = self.root.parent / "made-index"
        index.unlink(missing_ok=True)
        one = self.repository.git.aimed(index=index)
        parent = on or self.base
        one.run("read-tree", parent)
        for path, text in files.items():
            if text is None:
                one.run("update-index", "--force-remove", path)
                continue
            blob = one.ask("hash-object", "-w", "--stdin", stdin=text.encode())
            one.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        return one.commit(one.ask("write-tree"), [parent], "made\n")

    def commit(self, files: Mapping[str, str]) -> str:
        """Let the user commit something."""
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "the user's")
        return self.head("HEAD")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    root = tmp_path / "a project ü"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "b.txt").write_text("b\n")
    (root / ".gitignore").write_text("*.log\n")
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "user"),
        ("config", "user.email", "user@host"),
        ("add", "-A"),
        ("commit", "-qm", "first"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    repository = find_repository(root, os.environ)
    assert repository is not None
    return Ground(root, repository)
