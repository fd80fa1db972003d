"""When `setup` is due: what it depends on, and what does not matter to it."""

from pathlib import Path

import pytest

from budwood.testing.workspaces import git
from budwood.workspaces import Clone, Pool, Repository, Setup


def _commit(checkout: Path, path: str, content: str) -> str:
    (checkout / path).parent.mkdir(parents=True, exist_ok=True)
    (checkout / path).write_text(content)
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", path)
    return git(checkout, "rev-parse", "HEAD")


def _set_up(pool: Pool, holder: str, base: str) -> bool:
    """Hand out; run `setup` if it is due, and give back. Say whether it was."""
    made, ref = pool.hand_out(holder, base), f"refs/budwood/{holder}"
    if made.setup_due:
        (made.path / "ignored" / "deps").mkdir(parents=True, exist_ok=True)
        pool.note_setup(holder)
    pool.keep(holder, ref, message="m")
    pool.hand_back(holder, ref)
    return made.setup_due


def _pool(repository: Repository, folder: Path, setup: Setup, *keeps: str) -> Pool:
    return Pool(folder, repository, Clone(repository), setup=setup, setup_keeps=keeps)


def test_a_changed_lock_file_makes_it_due_and_other_files_do_not(
    checkout: Path, repository: Repository, tmp_path: Path
) -> None:
    pool = _pool(repository, tmp_path / "pool", Setup(command="make deps"), "ignored/deps")
    assert _set_up(pool, "r/1", repository.resolve("HEAD"))
    assert not _set_up(pool, "r/2", repository.resolve("HEAD"))
    assert not _set_up(pool, "r/3", _commit(checkout, "code.py", "print()\n"))
    changed = _commit(checkout, "requirements-dev.txt", "pytest\n")
    assert _set_up(pool, "r/4", changed)
    assert not _set_up(pool, "r/5", changed)
    assert _set_up(pool, "r/6", _commit(checkout, "web/package-lock.json", "{}\n"))


def test_files_that_are_named_are_the_only_ones_that_matter(
    checkout: Path, repository: Repository, tmp_path: Path
) -> None:
    setup = Setup(command="make deps", locks=("/deps/*.list",))
    pool = _pool(repository, tmp_path / "pool", setup, "ignored/deps")
    assert _set_up(pool, "r/1", _commit(checkout, "deps/a.list", "1\n"))
    assert not _set_up(pool, "r/2", _commit(checkout, "requirements.txt", "six\n"))
    assert _set_up(pool, "r/3", _commit(checkout, "deps/a.list", "2\n"))


def test_another_command_is_another_setup(repository: Repository, tmp_path: Path) -> None:
    base = repository.resolve("HEAD")
    assert _set_up(_pool(repository, tmp_path / "pool", Setup(command="one"), "ignored/deps"), "r/1", base)
    assert _set_up(_pool(repository, tmp_path / "pool", Setup(command="two"), "ignored/deps"), "r/2", base)


def test_where_nothing_of_it_is_spared_it_is_due_each_time(repository: Repository, tmp_path: Path) -> None:
    pool = _pool(repository, tmp_path / "pool", Setup(command="make deps"))
    base = repository.resolve("HEAD")
    assert _set_up(pool, "r/1", base)
    assert _set_up(pool, "r/2", base)


def test_one_that_failed_half_way_is_due_whatever_was_before(
    checkout: Path, repository: Repository, tmp_path: Path
) -> None:
    pool = _pool(repository, tmp_path / "pool", Setup(command="make deps"), "ignored/deps")
    before = repository.resolve("HEAD")
    assert _set_up(pool, "r/1", before)
    changed = _commit(checkout, "requirements.txt", "seven\n")
    assert pool.hand_out("r/2", changed).setup_due
    pool.keep("r/2", "refs/budwood/r/2", message="m")  # it failed: nothing was noted
    pool.hand_back("r/2", "refs/budwood/r/2")
    assert pool.hand_out("r/3", before).setup_due


def test_a_directory_that_was_removed_by_hand_needs_it_again(repository: Repository, tmp_path: Path) -> None:
    pool = _pool(repository, tmp_path / "pool", Setup(command="make deps"), "ignored/deps")
    base = repository.resolve("HEAD")
    assert _set_up(pool, "r/1", base)
    (tmp_path / "pool" / "w1" / "tree").rename(tmp_path / "away")
    assert pool.hand_out("r/2", base).setup_due


@pytest.mark.parametrize("attributes", ["", "*.txt text\n"])
def test_files_of_the_base_are_kept_even_where_setup_keeps_names_them(
    checkout: Path, repository: Repository, tmp_path: Path, attributes: str
) -> None:
    (checkout / ".git" / "info").mkdir(exist_ok=True)
    (checkout / ".git" / "info" / "attributes").write_text(attributes)
    _commit(checkout, "vendor/old.py", "theirs\n")
    base = _commit(checkout, "vendor/lib.py", "theirs\n")
    pool = _pool(repository, tmp_path / "pool", Setup(command="make deps"), "vendor")
    for number in (1, 2):
        made = pool.hand_out(f"r/{number}", base)
        assert (made.path / "vendor" / "lib.py").read_text() == "theirs\n"
        (made.path / "vendor" / "lib.py").write_text("patched\n")
        (made.path / "vendor" / "old.py").unlink()
        (made.path / "vendor" / "built").write_text("by setup")
        kept = pool.keep(f"r/{number}", f"refs/budwood/r/{number}", message="m")
        assert git(checkout, "show", f"{kept.candidate}:vendor/lib.py") == "patched"
        assert git(checkout, "ls-tree", "--name-only", kept.candidate, "vendor/").splitlines() == ["vendor/lib.py"]
        assert git(checkout, "ls-tree", "--name-only", kept.commit, "vendor/").splitlines() == ["vendor/lib.py"]
        pool.hand_back(f"r/{number}", f"refs/budwood/r/{number}")
