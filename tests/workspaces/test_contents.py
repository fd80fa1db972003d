"""The sha256 of a tree: of its files alone, whichever hash git names them by."""

import os
import subprocess
from pathlib import Path

import pytest

from budwood.workspaces.contents import Contents
from budwood.workspaces.git import Git, GitFailed

ME = ("-c", "user.name=u", "-c", "user.email=u@h")


def commit(folder: Path, files: dict[str, str], *, form: str = "sha1", message: str = "x") -> Git:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for words in (("init", "-q", f"--object-format={form}"), ("add", "-A"), (*ME, "commit", "-qm", message)):
        subprocess.run(["git", *words], cwd=folder, check=True, env=_environ())
    return Git(environ=_environ(), git_dir=folder / ".git")


def _environ() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


FILES = {"a.txt": "one\n", "b/c.txt": "", "b/ü d.txt": "two"}


def test_equal_files_have_one_hash_whatever_commit_and_repository_they_are_in(tmp_path: Path) -> None:
    first = Contents(commit(tmp_path / "one", FILES)).sha256("HEAD")
    second = Contents(commit(tmp_path / "two", FILES, form="sha256", message="another")).sha256("HEAD^{tree}")
    assert first == second
    assert len(first) == 64


@pytest.mark.parametrize("change", ["content", "name", "mode", "one more"])
def test_whatever_differs_gives_another(tmp_path: Path, change: str) -> None:
    git = commit(tmp_path / "one", FILES)
    contents = Contents(git)
    before, file = contents.sha256("HEAD"), tmp_path / "one" / "a.txt"
    match change:
        case "content":
            file.write_text("One\n")
        case "name":
            file.rename(file.with_name("A.txt"))
        case "mode":
            file.chmod(0o755)
        case _:
            file.with_name("empty").touch()
    commit(tmp_path / "one", {})
    assert contents.sha256("HEAD") != before
    assert contents.sha256("HEAD~1") == before


def test_what_is_not_there_is_no_hash(tmp_path: Path) -> None:
    with pytest.raises(GitFailed):
        Contents(commit(tmp_path / "one", FILES)).sha256("0" * 40)
