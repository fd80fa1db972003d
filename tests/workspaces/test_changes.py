"""What differs where git itself cannot look: behind links that lead round in a circle, and where rights were taken."""

from pathlib import Path

import pytest

from budwood.testing.workspaces import git
from budwood.workspaces import Clone, Pool, Repository, Workspace
from budwood.workspaces.changes import Changes, compare
from budwood.workspaces.laying import INDEX

REF = "refs/budwood/r/1"


@pytest.fixture
def pool(repository: Repository, tmp_path: Path) -> Pool:
    return Pool(tmp_path / "pool", repository, Clone(repository))


@pytest.fixture
def made(pool: Pool, repository: Repository) -> Workspace:
    return pool.hand_out("r/1", repository.resolve("HEAD"))


def compared(made: Workspace, repository: Repository) -> Changes:
    """Compare while nothing is taken away: git looks at all of it as it lies there."""
    return compare(repository.git, made.path, made.path.parent / INDEX, skip=".git")


def in_a_circle(made: Workspace) -> None:
    (made.path / "sub" / "deep.txt").unlink()
    (made.path / "sub").rmdir()
    (made.path / "sub").symlink_to("sub")


def test_behind_a_link_that_leads_to_itself_nothing_is_there(made: Workspace, repository: Repository) -> None:
    in_a_circle(made)
    changes = compared(made, repository)
    assert (changes.changed, changes.gone, changes.found.files) == ([], [b"sub/deep.txt"], [b"sub"])


def test_such_a_link_is_kept_and_whoever_comes_next_has_the_files(
    made: Workspace, pool: Pool, repository: Repository
) -> None:
    in_a_circle(made)
    kept = pool.keep("r/1", REF, message="m")
    assert git(repository.root, "ls-tree", kept.candidate, "sub").startswith("120000 blob")
    pool.hand_back("r/1", REF)
    again = pool.hand_out("r/2", made.base)
    assert again.path == made.path
    assert (again.path / "sub" / "deep.txt").read_text() == "deep\n"


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o300, 0o600])
def test_what_was_changed_in_a_directory_that_nobody_may_enter_is_found(
    made: Workspace, pool: Pool, repository: Repository, mode: int
) -> None:
    (made.path / "sub" / "deep.txt").write_text("changed\n")
    (made.path / "sub" / "new.txt").write_text("new\n")
    (made.path / "sub").chmod(mode)
    changes = compared(made, repository)
    assert (changes.changed, changes.found.files) == ([b"sub/deep.txt"], [b"sub/new.txt"])
    (made.path / "sub").chmod(mode)
    kept = pool.keep("r/1", REF, message="m")
    assert git(repository.root, "show", f"{kept.candidate}:sub/deep.txt") == "changed"
    assert git(repository.root, "show", f"{kept.candidate}:sub/new.txt") == "new"
