"""Every kind of workspace keeps every promise of the contract."""

import os
from pathlib import Path

import pytest

from budwood.testing.workspaces import Ground, WorkspaceConformance
from budwood.workspaces import Clone, Copy, Pool, Worktree, find_repository, open_kept


class TestClone(WorkspaceConformance):
    @pytest.fixture
    def ground(self, checkout: Path, tmp_path: Path) -> Ground:
        repository = find_repository(checkout / "sub", os.environ)
        assert repository is not None
        pool = Pool(tmp_path / "pool", repository, Clone(repository))
        return Ground(repository, pool, repository.resolve("HEAD"))


class TestWorktree(WorkspaceConformance):
    @pytest.fixture
    def ground(self, checkout: Path, tmp_path: Path) -> Ground:
        repository = find_repository(checkout, os.environ)
        assert repository is not None
        pool = Pool(tmp_path / "pool", repository, Worktree(repository, tmp_path / "pool"))
        return Ground(repository, pool, repository.resolve("HEAD"), shares_git=True)


class TestCopy(WorkspaceConformance):
    @pytest.fixture
    def ground(self, project: Path, tmp_path: Path) -> Ground:
        (project / ".budwood").mkdir()
        repository = open_kept(project, project / ".budwood" / "kept.git", os.environ)
        pool = Pool(tmp_path / "pool", repository, Copy())
        return Ground(repository, pool, pool.take_in(project, skip=".budwood"), has_git=False)
