"""What comes along that git ignores, and what is linked."""

import os
from pathlib import Path

import pytest

from budwood.errors import UsageError, WorkspaceError
from budwood.testing.workspaces import BASE, bytes_in, git
from budwood.workspaces import Clone, Pool, Repository, find_repository
from budwood.workspaces.bring import Outfit, bring, brought_files, link, refuse_outside


@pytest.fixture
def repository(checkout: Path) -> Repository:
    (checkout / ".gitignore").write_text("ignored/\n.env*\n*.pem\nnode_modules/\n")
    for name in (".env", ".env.local", "cert.pem", "ignored/cache/big", "ignored/key", "node_modules/a/index.js"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(name)
    (checkout / "untracked").write_text("not ignored")
    found = find_repository(checkout, os.environ)
    assert found is not None
    return found


def test_only_what_is_ignored_and_named_comes_along(repository: Repository) -> None:
    assert brought_files(repository, []) == []
    assert brought_files(repository, [".env", "untracked", "kept.txt"]) == [".env"]
    assert brought_files(repository, ["*.pem", "ignored/key"]) == ["cert.pem", "ignored/key"]
    (repository.root / ".worktreeinclude").write_text("# secrets\n.env*\n!.env.local\n")
    assert brought_files(repository, ["cert.pem"]) == [".env", "cert.pem"]


def test_copies_are_copies(repository: Repository, tmp_path: Path) -> None:
    (repository.root / ".env").chmod(0o600)
    (repository.root / "ignored" / "link").symlink_to("cache/big")
    bring(repository.root, [".env", "ignored/cache/big", "ignored/link"], tmp_path / "work")
    (tmp_path / "work" / ".env").write_text("changed")
    assert (repository.root / ".env").read_text() == ".env"
    assert (tmp_path / "work" / ".env").stat().st_mode & 0o777 == 0o600
    assert os.readlink(tmp_path / "work" / "ignored" / "link") == "cache/big"


def test_a_link_leads_to_the_users_directory(repository: Repository, tmp_path: Path) -> None:
    link(repository.root, ["node_modules"], tmp_path / "work")
    assert (tmp_path / "work" / "node_modules" / "a" / "index.js").read_text() == "node_modules/a/index.js"
    with pytest.raises(UsageError, match="there is no"):
        link(repository.root, ["vendor"], tmp_path / "work")
    with pytest.raises(WorkspaceError, match="is in the repository itself"):
        link(repository.root, ["node_modules"], tmp_path / "work")


def test_a_secret_that_was_brought_is_kept_only_if_it_was_changed(repository: Repository, tmp_path: Path) -> None:
    outfit = Outfit(bring=(".env", "cert.pem"), link=("node_modules",))
    pool = Pool(tmp_path / "pool", repository, Clone(repository), outfit=outfit)
    git(repository.root, "commit", "-qam", "ignore more")
    made = pool.hand_out("r/1", repository.resolve("HEAD"))
    assert (made.path / "node_modules" / "a").is_dir()
    (made.path / ".env").write_text("changed by the agent")
    (made.path / "made").write_text("new")
    kept = pool.keep("r/1", "refs/budwood/r/1", message="m")
    pool.restore(kept.commit, tmp_path / "back")
    assert sorted(bytes_in(tmp_path / "back")) == sorted({*BASE, ".env", "made"})
    listed = git(repository.root, "ls-tree", "-r", "--name-only", kept.candidate).splitlines()
    assert set(listed) == {*BASE, "made"}
    pool.hand_back("r/1", "refs/budwood/r/1")
    again = pool.hand_out("r/2", repository.resolve("HEAD"))
    assert (again.path / ".env").read_text() == ".env"
    assert (repository.root / "node_modules" / "a" / "index.js").exists()


@pytest.mark.parametrize("path", ["../up", "/etc/passwd", "a/../../b", ".git/config", ""])
def test_what_leads_out_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="paths inside the project"):
        refuse_outside([path], key="bring")
