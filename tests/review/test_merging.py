"""Merged into a branch of the user's: what is theirs is never overwritten, and what is refused changed nothing."""

from pathlib import Path

import pytest
from tests.review.conftest import Ground

from budwood.errors import MergeConflict, UsageError, WorkspaceError
from budwood.review.merging import Merged, Merger, Wanted, found_in
from budwood.testing.workspaces import git
from budwood.workspaces.fingerprint import Watch
from budwood.workspaces.git import Git
from budwood.workspaces.merging import Merge, merge_tree


def merge(ground: Ground, commit: str, branch: str = "main", *, squash: bool = False) -> Merged:
    wanted = Wanted(commit=commit, called="task form", message="Merge form\n", squash=squash)
    return Merger(ground.repository, "refs/budwood/night").merge(wanted, branch)


def kept(ground: Ground) -> str:
    return git(ground.root, "for-each-ref", "--format=%(objectname)", "refs/budwood")


def test_a_branch_that_has_not_moved_goes_ahead_with_its_files(ground: Ground) -> None:
    made = ground.made({"new.txt": "n\n"})
    merged = merge(ground, made)
    assert (merged.how, merged.commit, merged.checkout) == ("fast-forward", made, ground.root)
    assert ground.head() == made
    assert (ground.root / "new.txt").read_text() == "n\n"
    assert git(ground.root, "status", "--porcelain") == ""
    assert kept(ground) == ""


def test_one_that_moved_meanwhile_gets_both(ground: Ground) -> None:
    made = ground.made({"new.txt": "n\n"})
    theirs = ground.commit({"b.txt": "mine\n"})
    merged = merge(ground, made)
    assert merged.how == "merge"
    assert git(ground.root, "rev-parse", "HEAD^1", "HEAD^2").split() == [theirs, made]
    assert (ground.root / "b.txt").read_text() == "mine\n"
    assert git(ground.root, "status", "--porcelain") == ""


def test_a_squash_is_one_commit_without_the_history(ground: Ground) -> None:
    made = ground.made({"more.txt": "2\n"}, on=ground.made({"new.txt": "n\n"}))
    before = ground.head()
    assert merge(ground, made, squash=True).how == "squash"
    assert git(ground.root, "rev-list", f"{before}..main").split() == [ground.head()]
    assert git(ground.root, "log", "-1", "--format=%s") == "Merge form"
    assert git(ground.root, "rev-parse", "main^{tree}") == git(ground.root, "rev-parse", f"{made}^{{tree}}")


def test_a_branch_that_is_not_checked_out_moves_and_no_file_does(ground: Ground) -> None:
    git(ground.root, "branch", "release")
    before = Watch(ground.repository).look()
    made = ground.made({"new.txt": "n\n"})
    assert merge(ground, made, "release").checkout is None
    assert ground.head("release") == made
    after = Watch(ground.repository).look()
    assert {name for name in after if before.get(name) != after[name]} == {"branch release"}
    assert not (ground.root / "new.txt").exists()


def test_a_branch_in_a_linked_worktree_moves_with_the_files_there(ground: Ground, tmp_path: Path) -> None:
    git(ground.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    made = ground.made({"new.txt": "n\n"})
    assert merge(ground, made, "side").checkout == tmp_path / "side"
    assert (tmp_path / "side" / "new.txt").exists()
    assert not (ground.root / "new.txt").exists()
    assert git(tmp_path / "side", "status", "--porcelain") == ""


def test_a_conflict_names_its_files_and_changes_nothing(ground: Ground) -> None:
    made = ground.made({"a.txt": "one\nTHEIRS\nthree\n"})
    ground.commit({"a.txt": "one\nMINE\nthree\n"})
    before = Watch(ground.repository).look()
    with pytest.raises(MergeConflict, match=r"task form cannot be merged into main.*: a\.txt") as caught:
        merge(ground, made)
    assert caught.value.files == ("a.txt",)
    assert caught.value.exit_code == 5
    assert Watch(ground.repository).look() == before


@pytest.mark.parametrize("case", ["changed", "untracked", "ignored", "staged"])
def test_a_file_of_the_users_is_never_overwritten_and_the_command_is_told(ground: Ground, case: str) -> None:
    path = {"changed": "a.txt", "untracked": "new.txt", "ignored": "new.log", "staged": "a.txt"}[case]
    made = ground.made({path: "from the attempt\n"})
    (ground.root / path).write_text("the user's\n")
    if case == "staged":
        git(ground.root, "add", "a.txt")
    before = Watch(ground.repository).look()
    with pytest.raises(WorkspaceError, match="nothing was changed") as caught:
        merge(ground, made)
    assert caught.value.exit_code == 4
    assert (ground.root / path).read_text() == "the user's\n"
    assert Watch(ground.repository).look() == before
    assert caught.value.hint is not None
    assert f"merge --ff-only --no-overwrite-ignore {made}" in caught.value.hint
    assert kept(ground) == made  # git would collect it before the user comes to it


def test_another_file_that_is_changed_does_not_matter(ground: Ground) -> None:
    made = ground.made({"new.txt": "n\n"})
    (ground.root / "b.txt").write_text("the user's\n")
    merge(ground, made)
    assert (ground.root / "b.txt").read_text() == "the user's\n"
    assert (ground.root / "new.txt").exists()


def test_hooks_of_the_user_do_not_run(ground: Ground) -> None:
    hook = ground.root / ".git" / "hooks" / "post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    merge(ground, ground.made({"new.txt": "n\n"}))
    assert not (ground.root / "hooked").exists()


def test_one_that_moves_while_it_is_merged_is_merged_with(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ground.made({"new.txt": "n\n"})
    git(ground.root, "switch", "-q", "-c", "elsewhere")
    ground.commit({"b.txt": "first\n"})
    git(ground.root, "branch", "-f", "main")
    meanwhile = ground.commit({"b.txt": "second\n"})
    moved: list[str] = []

    def moving(git_: Git, ours: str, theirs: str) -> Merge:
        if not moved:
            moved.append(git(ground.root, "branch", "-f", "main", meanwhile))
        return merge_tree(git_, ours, theirs)

    monkeypatch.setattr("budwood.review.merging.merge_tree", moving)
    merge(ground, made)
    assert git(ground.root, "rev-parse", "main^1") == meanwhile
    assert git(ground.root, "show", "main:b.txt") == "second"


def test_a_branch_that_is_being_rebased_is_left_alone(ground: Ground) -> None:
    made = ground.made({"new.txt": "n\n"})
    git(ground.root, "branch", "side")
    ground.commit({"a.txt": "one\nMAIN\nthree\n"})
    git(ground.root, "switch", "-q", "side")
    ground.commit({"a.txt": "one\nSIDE\nthree\n"})
    before = ground.head("side")
    with pytest.raises(Exception, match="rebase"):
        git(ground.root, "rebase", "-q", "main")
    with pytest.raises(WorkspaceError, match="side is in the middle of a rebase"):
        merge(ground, made, "side")
    assert ground.head("side") == before


def test_a_branch_that_is_not_there_is_refused(ground: Ground) -> None:
    with pytest.raises(UsageError, match="there is no branch nope"):
        merge(ground, ground.made({"new.txt": "n\n"}), "nope")


def test_what_is_merged_already_is_known_by_history_files_or_change(ground: Ground) -> None:
    made = ground.made({"a.txt": "one\nTWO\nthree\n"})
    git_ = ground.repository.git
    assert found_in(git_, made, ground.head()) is None
    merge(ground, made, squash=True)
    assert found_in(git_, made, ground.head()) == "its changes are there"
    ground.commit({"a.txt": "one\nthree\n"})  # and changed since
    assert found_in(git_, made, ground.head()) == "a commit there makes the same change"
    assert found_in(git_, made, made) == "its commits are there"
    assert found_in(git_, ground.made({"b.txt": "other\n"}), ground.head()) is None
