"""What may go, what stays and why, and that what was kept is found afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from budwood.errors import WorkspaceError
from budwood.testing.workspaces import bytes_in, git
from budwood.workspaces import (
    Clone,
    Pool,
    Repository,
    Worktree,
    apply_gc,
    find_kept,
    plan_gc,
    take_stock,
)
from budwood.workspaces.folding import fold, folded_refs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pool"


@pytest.fixture
def pool(repository: Repository, folder: Path) -> Pool:
    return Pool(folder, repository, Clone(repository), file_limit=1000)


def _use(pool: Pool, repository: Repository, *holders: str) -> list[Path]:
    """Let holders have directories at the same time, leave something, and give them back."""
    paths = []
    for holder in holders:
        made = pool.hand_out(holder, repository.resolve("HEAD"))
        (made.path / "made").write_text(holder)
        paths.append(made.path)
    for holder in holders:
        pool.keep(holder, f"refs/budwood/{holder}", message="m")
        pool.hand_back(holder, f"refs/budwood/{holder}")
    return paths


class TestDirectories:
    def test_what_is_free_may_go_and_what_somebody_has_stays(
        self, pool: Pool, repository: Repository, folder: Path
    ) -> None:
        _use(pool, repository, "night/1.1", "night/2.1")
        held = pool.hand_out("night/3.1", repository.resolve("HEAD"))
        stock = take_stock(folder, repository)
        assert [place.why_it_stays(force=True) for place in stock.places] == ["night/3.1 has it", None]
        assert all(place.bytes > 0 for place in stock.places)
        planned = plan_gc(stock, ended=[])
        assert [(each.what, each.where) for each in planned] == [("free directory", str(folder / "w2" / "tree"))]
        assert "refs/budwood/" in planned[0].how_to_get_back
        assert apply_gc(folder, repository, planned) == []
        assert apply_gc(folder, repository, planned) == []
        assert not (folder / "w2").exists()
        assert held.path.exists()
        assert pool.hand_out("night/4.1", repository.resolve("HEAD")).path.exists()

    def test_what_is_kept_nowhere_else_goes_by_force_alone(
        self, pool: Pool, repository: Repository, folder: Path
    ) -> None:
        made = pool.hand_out("night/1.1", repository.resolve("HEAD"))
        (made.path / "large").write_bytes(b"x" * 2000)
        pool.keep("night/1.1", "refs/budwood/night/1.1", message="m")
        pool.hand_back("night/1.1", "refs/budwood/night/1.1")
        stock = take_stock(folder, repository)
        assert plan_gc(stock, ended=["night"]) == []
        assert "too large to be kept: large" in (stock.places[0].why_it_stays(force=False) or "")
        planned = plan_gc(stock, ended=[], force=True)
        assert planned[0].how_to_get_back.startswith("not at all")
        left = apply_gc(folder, repository, planned)
        assert [each.where for each in left] == [str(made.path)]
        assert (made.path / "large").exists()
        assert apply_gc(folder, repository, planned, force=True) == []
        assert not made.path.exists()

    def test_one_that_could_not_be_reset_for_the_next_may_go(
        self, pool: Pool, repository: Repository, folder: Path
    ) -> None:
        _use(pool, repository, "night/1.1")
        with pytest.raises(WorkspaceError):
            pool.hand_out("night/2.1", "0" * 40)
        stock = take_stock(folder, repository)
        assert "could not be reset" in (stock.places[0].shut or "")
        assert len(plan_gc(stock, ended=[])) == 1

    def test_one_that_was_not_kept_and_could_not_be_reset_stays(
        self, pool: Pool, repository: Repository, folder: Path
    ) -> None:
        made = pool.hand_out("night/1.1", repository.resolve("HEAD"))
        (made.path / "made").write_text("dear")
        with pytest.raises(WorkspaceError):
            pool.hand_out("night/1.1", "0" * 40)
        assert plan_gc(take_stock(folder, repository), ended=[]) == []
        assert (made.path / "made").read_text() == "dear"

    def test_one_whose_ref_was_folded_is_given_back(self, pool: Pool, repository: Repository) -> None:
        pool.hand_out("night/1.1", repository.resolve("HEAD"))
        pool.keep("night/1.1", "refs/budwood/night/1.1", message="m")
        assert fold(repository, "night") == 1
        assert repository.ref("refs/budwood/night/1.1") is None
        pool.hand_back("night/1.1", "refs/budwood/night/1.1")
        assert pool.holders() == []

    def test_a_pinned_one_is_named_and_stays(self, pool: Pool, repository: Repository, folder: Path) -> None:
        pool.hand_out("night/1.1", repository.resolve("HEAD"))
        pool.pin("night/1.1")
        pool.keep("night/1.1", "refs/budwood/night/1.1", message="m")
        pool.hand_back("night/1.1", "refs/budwood/night/1.1")
        stock = take_stock(folder, repository)
        assert stock.places[0].why_it_stays(force=True) == "it is pinned for night/1.1"
        assert plan_gc(stock, ended=["night"], force=True) == []

    def test_one_that_a_process_works_in_stays_and_is_named(
        self, pool: Pool, repository: Repository, folder: Path
    ) -> None:
        path, other = _use(pool, repository, "night/1.1", "night/2.1")
        planned = plan_gc(take_stock(folder, repository), ended=[])
        assert len(planned) == 2
        words = [sys.executable, "-c", "input()"]
        with subprocess.Popen(words, cwd=path / "sub", stdin=subprocess.PIPE) as process:
            left = apply_gc(folder, repository, planned)
            named = take_stock(folder, repository).places[0].used_by
            process.communicate(b"\n")
        assert [each.where for each in left] == [str(path)]
        assert f" {process.pid}" in left[0].why
        assert [name.rpartition(" ")[2] for name in named] == [str(process.pid)]
        assert path.exists()
        assert not other.exists()

    def test_one_that_was_handed_out_meanwhile_stays(self, pool: Pool, repository: Repository, folder: Path) -> None:
        _use(pool, repository, "night/1.1")
        planned = plan_gc(take_stock(folder, repository), ended=[])
        made = pool.hand_out("night/2.1", repository.resolve("HEAD"))
        left = apply_gc(folder, repository, planned)
        assert [each.why for each in left] == ["night/2.1 has it"]
        assert (made.path / "kept.txt").exists()

    def test_a_removal_that_was_cut_short_is_brought_to_its_end(
        self, pool: Pool, repository: Repository, folder: Path
    ) -> None:
        _use(pool, repository, "night/1.1")
        (folder / "w1").rename(folder / "removed-w1")
        planned = plan_gc(take_stock(folder, repository), ended=[])
        assert [each.what for each in planned] == ["rest of a removal"]
        apply_gc(folder, repository, planned)
        assert not (folder / "removed-w1").exists()

    def test_what_is_not_of_the_pool_is_left(self, pool: Pool, repository: Repository, folder: Path) -> None:
        _use(pool, repository, "night/1.1")
        planned = plan_gc(take_stock(folder, repository), ended=[])
        elsewhere = repository.root.parent / "other"
        elsewhere.mkdir()
        left = apply_gc(elsewhere, repository, planned)
        assert [each.why for each in left] == ["it is no directory of this pool"]
        assert (folder / "w1" / "tree" / "made").exists()

    def test_a_linked_worktree_goes_from_gits_list_and_the_users_own_stay(
        self, checkout: Path, repository: Repository, folder: Path, tmp_path: Path
    ) -> None:
        git(checkout, "worktree", "add", "-q", "--detach", str(tmp_path / "mine"))
        (tmp_path / "mine").rename(tmp_path / "on a disk that is away")
        linked = Pool(folder, repository, Worktree(repository, folder))
        _use(linked, repository, "night/1.1")
        assert str(folder) in git(checkout, "worktree", "list")
        apply_gc(folder, repository, plan_gc(take_stock(folder, repository), ended=[]))
        assert str(folder) not in git(checkout, "worktree", "list")
        assert str(tmp_path / "mine") in git(checkout, "worktree", "list")


class TestRefs:
    def test_refs_of_a_run_that_is_over_become_one_and_are_found(
        self, pool: Pool, repository: Repository, folder: Path, tmp_path: Path
    ) -> None:
        _use(pool, repository, "night/1.1", "night/2.1", "day/1.1", "day/2.1")
        commit = repository.ref("refs/budwood/night/2.1")
        assert commit is not None
        planned = plan_gc(take_stock(folder, repository), ended=["night"])
        assert [each.where for each in planned if each.where.startswith("refs/")] == ["refs/budwood/night/"]
        apply_gc(folder, repository, planned)
        names = git(repository.root, "for-each-ref", "--format=%(refname)", "refs/budwood/").splitlines()
        assert names == ["refs/budwood/day/1.1", "refs/budwood/day/2.1", "refs/budwood/night/kept"]
        assert find_kept(repository, "refs/budwood/night/2.1") == commit
        assert find_kept(repository, "refs/budwood/day/1.1") == repository.ref("refs/budwood/day/1.1")
        assert find_kept(repository, "refs/budwood/night/9.9") is None
        git(repository.root, "gc", "-q", "--prune=now")
        pool.restore(commit, tmp_path / "back")
        assert bytes_in(tmp_path / "back")["made"] == b"night/2.1"

    def test_what_comes_later_is_folded_as_well(self, pool: Pool, repository: Repository) -> None:
        _use(pool, repository, "night/1.1", "night/2.1")
        assert fold(repository, "night") == 2
        assert fold(repository, "night") == 0
        _use(pool, repository, "night/3.1")
        assert fold(repository, "night") == 1
        assert sorted(folded_refs(repository, "night")) == [f"refs/budwood/night/{number}.1" for number in (1, 2, 3)]

    def test_a_thousand_and_more_are_held_by_one(self, repository: Repository) -> None:
        base = repository.resolve("HEAD")
        tree = git(repository.root, "rev-parse", "HEAD^{tree}")
        commits = [repository.git.commit(tree, [base], f"{number}\n") for number in range(25)]
        lines = [f"create refs/budwood/night/{number}.1 {commits[number % 25]}\n" for number in range(1200)]
        repository.git.run("update-ref", "--stdin", stdin="".join(lines).encode())
        assert fold(repository, "night") == 1200
        assert git(repository.root, "for-each-ref", "--format=%(refname)").splitlines() == [
            "refs/budwood/night/kept",
            "refs/heads/main",
        ]
        reachable = git(repository.root, "rev-list", "refs/budwood/night/kept").splitlines()
        assert set(commits) <= set(reachable)
        assert find_kept(repository, "refs/budwood/night/1199.1") == commits[1199 % 25]

    def test_what_is_no_commit_of_ours_is_not_believed(self, repository: Repository) -> None:
        repository.set_ref("refs/budwood/night/kept", repository.resolve("HEAD"))
        repository.set_ref("refs/budwood/night/1.1", repository.resolve("HEAD"))
        with pytest.raises(WorkspaceError, match="does not tell what was folded"):
            fold(repository, "night")
        assert repository.ref("refs/budwood/night/1.1") == repository.resolve("HEAD")
