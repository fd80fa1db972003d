"""Every kind of workspace keeps every promise of the contract."""

import os
from pathlib import Path

import pytest

from budwood.errors import UsageError
from budwood.testing.workspaces import Ground, WorkspaceConformance
from budwood.workspaces import Clone, Copy, Pool, Repository, Setup, Worktree, find_repository, open_kept
from budwood.workspaces.pool import Kind

SETUP, KEEPS = Setup(command="make deps"), ("ignored/deps", "tools")


def found(directory: Path) -> Repository:
    repository = find_repository(directory, os.environ)
    assert repository is not None
    return repository


def set_up(folder: Path, repository: Repository, kind: Kind) -> Pool:
    return Pool(folder, repository, kind, setup=SETUP, setup_keeps=KEEPS)


class TestClone(WorkspaceConformance):
    @pytest.fixture
    def ground(self, checkout: Path, tmp_path: Path) -> Ground:
        repository = found(checkout / "sub")
        kind = Clone(repository)
        return Ground(
            repository,
            Pool(tmp_path / "pool", repository, kind),
            repository.resolve("HEAD"),
            with_setup=set_up(tmp_path / "set up", repository, kind),
            with_cones=Pool(tmp_path / "pool", repository, kind, sparse=["elsewhere"]),
        )


class TestCloneThatConverts(TestClone):
    """The same where line ends are converted, so that files do not lie there as git has them."""

    @pytest.fixture
    def checkout(self, checkout: Path) -> Path:
        (checkout / ".git" / "info").mkdir(exist_ok=True)
        (checkout / ".git" / "info" / "attributes").write_text("*.txt text=auto eol=crlf\n")
        return checkout


class TestWorktree(WorkspaceConformance):
    @pytest.fixture
    def ground(self, checkout: Path, tmp_path: Path) -> Ground:
        repository = found(checkout)
        return Ground(
            repository,
            Pool(tmp_path / "pool", repository, Worktree(repository, tmp_path / "pool")),
            repository.resolve("HEAD"),
            shares_git=True,
            with_setup=set_up(tmp_path / "set up", repository, Worktree(repository, tmp_path / "set up")),
            with_cones=Pool(
                tmp_path / "cones", repository, Worktree(repository, tmp_path / "cones"), sparse=["elsewhere"]
            ),
        )


class TestCopy(WorkspaceConformance):
    @pytest.fixture
    def ground(self, project: Path, tmp_path: Path) -> Ground:
        (project / ".budwood").mkdir()
        repository = open_kept(project, project / ".budwood" / "kept.git", os.environ)
        pool = Pool(tmp_path / "pool", repository, Copy())
        return Ground(
            repository,
            pool,
            pool.take_in(project, skip=".budwood"),
            has_git=False,
            with_setup=set_up(tmp_path / "set up", repository, Copy()),
        )

    def test_a_copy_is_of_all(self, ground: Ground, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="sparse is for a project in git"):
            Pool(tmp_path / "cones", ground.repository, Copy(), sparse=["sub"])
