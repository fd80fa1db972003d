"""The proof that workspaces keep their promises.

    class TestMyWorkspaces(WorkspaceConformance):
        @pytest.fixture
        def ground(self, tmp_path): return Ground(repository, workspaces, base)

Knows the contract of workspaces and git; must not know any kind.
"""

import threading
from pathlib import Path

import pytest

from budwood.errors import WorkspaceError
from budwood.testing.workspace_deeds import DEEDS, commit
from budwood.testing.workspace_world import BASE, HOLDER, REF, Ground, bytes_in, check_clean, git

__all__ = ["BASE", "Ground", "WorkspaceConformance", "bytes_in", "git"]


class WorkspaceConformance:
    """Every rule of `budwood.workspaces.base`; inherit, and supply the fixture `ground`, whose base has kept.txt,
    sub/deep.txt, requirements.txt and a .gitignore that names ignored/."""

    def test_a_workspace_has_the_files_of_its_base_and_is_outside_the_checkout(self, ground: Ground) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        assert set(bytes_in(made.path)) == BASE
        assert not made.path.is_relative_to(ground.repository.root)
        assert (made.holder, made.base, made.warm) == (HOLDER, ground.base, False)
        check_clean(ground, made.path)

    def test_a_holder_keeps_its_directory_until_it_is_given_back(self, ground: Ground) -> None:
        first = ground.workspaces.hand_out(HOLDER, ground.base)
        other = ground.workspaces.hand_out("night/4.1", ground.base)
        assert first.path != other.path
        found = ground.workspaces.find(HOLDER)
        assert found is not None
        assert found.path == first.path
        ground.workspaces.keep(HOLDER, REF, message="m")
        ground.workspaces.hand_back(HOLDER, REF)
        ground.workspaces.hand_back(HOLDER, REF)
        assert ground.workspaces.find(HOLDER) is None
        assert ground.workspaces.hand_out("night/5.1", ground.base).path == first.path

    def test_nothing_is_given_back_that_was_not_kept(self, ground: Ground) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        (made.path / "made").write_text("dear")
        with pytest.raises(WorkspaceError, match="is not kept"):
            ground.workspaces.hand_back(HOLDER, REF)
        assert (made.path / "made").read_text() == "dear"
        assert ground.workspaces.find(HOLDER) is not None

    @pytest.mark.parametrize("deed", sorted(DEEDS))
    def test_every_byte_comes_back_and_the_next_one_finds_the_base(
        self, ground: Ground, deed: str, tmp_path: Path
    ) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        if not ground.has_git:
            git(made.path, "init", "-q")
            git(made.path, "add", "-A")
            git(made.path, "commit", "-qm", "begun")
        DEEDS[deed](made.path)
        before = None if deed == "locked out" else bytes_in(made.path)
        kept = ground.workspaces.keep(HOLDER, REF, message="night 3.1\n")
        assert ground.repository.ref(REF) == kept.commit
        left = bytes_in(made.path)
        assert before in (None, left)
        assert deed != "locked out" or left["closed/file"] == b"inside"
        assert not list(made.path.glob("ran-*"))
        assert ground.workspaces.keep(HOLDER, REF, message="again").candidate == kept.candidate
        ground.workspaces.restore(kept.commit, tmp_path / "back")
        assert bytes_in(tmp_path / "back") == left
        ground.workspaces.hand_back(HOLDER, REF)
        after = ground.workspaces.hand_out("night/6.1", ground.base)
        assert (after.path, after.warm) == (made.path, True)
        assert set(bytes_in(after.path)) == BASE
        assert {str(path.relative_to(after.path)) for path in after.path.rglob(".git")} <= {".git"}
        assert not (after.path / "empty").exists()
        check_clean(ground, after.path)

    def test_the_candidate_honours_ignore_rules_and_is_named_by_its_content(self, ground: Ground) -> None:
        trees = []
        for number in (1, 2):
            made = ground.workspaces.hand_out(f"night/{number}.1", ground.base)
            (made.path / "made").write_text("the same")
            (made.path / "ignored").mkdir()
            (made.path / "ignored" / "log").write_text(f"of {number}")
            kept = ground.workspaces.keep(f"night/{number}.1", f"refs/budwood/night/{number}.1", message=str(number))
            trees.append(kept.candidate)
        assert trees[0] == trees[1]
        names = ground.repository.git.ask("ls-tree", "-r", "--name-only", trees[0]).splitlines()
        assert names == [".gitignore", "kept.txt", "made", "requirements.txt", "sub/deep.txt"]

    def test_what_was_committed_or_stashed_is_reachable(self, ground: Ground) -> None:
        if not ground.has_git:
            pytest.skip("there is no history in a copy")
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        commit(made.path)
        own = git(made.path, "rev-parse", "HEAD")
        (made.path / "kept.txt").write_text("stashed first, and known by the log of the stash alone\n")
        git(made.path, "stash", "-q")
        older = git(made.path, "rev-parse", "refs/stash")
        (made.path / "made").write_text("then stashed")
        git(made.path, "stash", "-q")
        stash = git(made.path, "rev-parse", "refs/stash")
        git(made.path, "reset", "-q", "--hard", ground.base)
        kept = ground.workspaces.keep(HOLDER, REF, message="m")
        shared = ["--reflog"] if ground.shares_git else []  # there, the stash is the repository's own, and stays
        reachable = ground.repository.git.ask("rev-list", kept.commit, *shared).splitlines()
        assert {own, older, stash, ground.base} <= set(reachable)
        assert own in ground.repository.git.ask("rev-list", kept.commit).splitlines()
        assert ground.repository.git.ask("show", f"{stash}:made") == "then stashed"

    def test_a_pinned_directory_stays_as_it_is_and_its_holder_gets_another(self, ground: Ground) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        (made.path / "made").write_text("to look at")
        ground.workspaces.pin(HOLDER)
        ground.workspaces.keep(HOLDER, REF, message="m")
        assert ground.workspaces.hand_out(HOLDER, ground.base).path != made.path
        ground.workspaces.hand_back(HOLDER, REF)
        assert ground.workspaces.hand_out("night/4.1", ground.base).path != made.path
        assert (made.path / "made").read_text() == "to look at"
        ground.workspaces.unpin(HOLDER)
        ground.workspaces.unpin(HOLDER)
        assert ground.workspaces.hand_out("night/5.1", ground.base).path == made.path
        assert set(bytes_in(made.path)) == BASE

    def test_a_directory_is_ready_when_its_holder_says_so_until_it_is_handed_out_again(self, ground: Ground) -> None:
        spaces = ground.workspaces
        assert not spaces.hand_out(HOLDER, ground.base).ready
        spaces.note_ready(HOLDER)
        found = spaces.find(HOLDER)
        assert found is not None
        assert (found.ready, found.base) == (True, ground.base)
        assert not spaces.hand_out(HOLDER, ground.base).ready

    def test_setup_is_due_once_in_a_directory(self, ground: Ground) -> None:
        assert not ground.workspaces.hand_out(HOLDER, ground.base).setup_due
        spaces = ground.with_setup
        if spaces is None:
            pytest.skip("these have no setup")
        first = spaces.hand_out(HOLDER, ground.base)
        assert first.setup_due
        (first.path / "ignored" / "deps").mkdir(parents=True)
        (first.path / "ignored" / "deps" / "lib").write_text("took long")
        (first.path / "ignored" / "log").write_text("goes")
        assert spaces.hand_out(HOLDER, ground.base).setup_due  # it did not succeed
        spaces.note_setup(HOLDER)
        found = spaces.find(HOLDER)
        assert found is not None
        assert not found.setup_due
        spaces.keep(HOLDER, REF, message="m")
        spaces.hand_back(HOLDER, REF)
        second = spaces.hand_out("night/4.1", ground.base)
        assert (second.path, second.setup_due) == (first.path, False)
        assert (second.path / "ignored" / "deps" / "lib").read_text() == "took long"
        assert not (second.path / "ignored" / "log").exists()
        assert spaces.hand_out("night/5.1", ground.base).setup_due  # another directory
        (second.path / "ignored" / "deps" / "lib").unlink()
        (second.path / "ignored" / "deps").rmdir()
        spaces.keep("night/4.1", "refs/budwood/night/4.1", message="m")
        spaces.hand_back("night/4.1", "refs/budwood/night/4.1")
        assert spaces.hand_out("night/6.1", ground.base).setup_due  # what it made was taken away

    def test_what_setup_made_is_not_what_an_attempt_left(self, ground: Ground, tmp_path: Path) -> None:
        spaces = ground.with_setup
        if spaces is None:
            pytest.skip("these have no setup")
        made = spaces.hand_out(HOLDER, ground.base)
        for name in ("ignored/deps/lib", "tools/saw", "sub/tools/plane", "ignored/log"):
            (made.path / name).parent.mkdir(parents=True, exist_ok=True)
            (made.path / name).write_text(name)
        kept = spaces.keep(HOLDER, REF, message="m")
        names = ground.repository.git.ask("ls-tree", "-r", "--name-only", kept.candidate).splitlines()
        assert set(names) == BASE
        spaces.restore(kept.commit, tmp_path / "back")
        assert set(bytes_in(tmp_path / "back")) == {*BASE, "ignored/log"}
        assert (made.path / "tools" / "saw").exists()

    def test_cones_are_laid_out_and_the_rest_is_as_the_base_has_it(self, ground: Ground, tmp_path: Path) -> None:
        spaces = ground.with_cones
        if spaces is None:
            pytest.skip("these have no cones")
        for number in (1, 2):
            holder, ref = f"night/{number}.1", f"refs/budwood/night/{number}.1"
            made = spaces.hand_out(holder, ground.base)
            assert set(bytes_in(made.path)) == BASE - {"sub/deep.txt"}
            check_clean(ground, made.path)
            (made.path / "kept.txt").write_text("changed\n")
            (made.path / "elsewhere").mkdir()
            (made.path / "elsewhere" / "new").write_text("in the cone")
            (made.path / "sub").mkdir()
            (made.path / "sub" / "new").write_text("outside, and new")
            (made.path / "sub" / "deep.txt").write_text("outside, and written over\n")
            left = bytes_in(made.path)
            kept = spaces.keep(holder, ref, message="m")
            names = ground.repository.git.ask("ls-tree", "-r", "--name-only", kept.candidate).splitlines()
            assert set(names) == {*BASE, "elsewhere/new", "sub/new"}
            said = ground.repository.git.ask("show", f"{kept.candidate}:sub/deep.txt")
            assert said == "outside, and written over"
            spaces.restore(kept.commit, tmp_path / f"back{number}")
            assert bytes_in(tmp_path / f"back{number}") == left
            spaces.hand_back(holder, ref)

    def test_sixteen_at_once_are_sixteen(self, ground: Ground) -> None:
        paths: list[Path] = []
        failures: list[BaseException] = []

        def take(number: int) -> None:
            try:
                paths.append(ground.workspaces.hand_out(f"night/{number}.1", ground.base).path)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=take, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(set(paths)) == 16
        assert all((path / "kept.txt").exists() for path in paths)
