"""A repository with the files that the suite of workspaces wants."""

import os
import subprocess
from pathlib import Path

import pytest

from budwood.workspaces import Repository, find_repository


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory, not in git yet."""
    root = tmp_path / "a project ü"
    (root / "sub").mkdir(parents=True)
    (root / "kept.txt").write_text("kept\n")
    (root / "sub" / "deep.txt").write_text("deep\n")
    (root / "requirements.txt").write_text("six==1.17\n")
    (root / ".gitignore").write_text("ignored/\n")
    return root


@pytest.fixture
def checkout(project: Path) -> Path:
    """The same, in git, with one commit."""
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "user"),
        ("config", "user.email", "user@host"),
        ("add", "-A"),
        ("commit", "-qm", "first"),
    ):
        subprocess.run(["git", *words], cwd=project, check=True)
    return project


@pytest.fixture
def repository(checkout: Path) -> Repository:
    """The repository of that checkout."""
    found = find_repository(checkout, os.environ)
    assert found is not None
    return found
