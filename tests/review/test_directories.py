"""Opened directories, and what may be removed: never what somebody holds, stands in or has worked in."""

import os
import subprocess
from pathlib import Path

from tests.review.conftest import Ground

from budwood._core.model import Left
from budwood.review.garbage import Found, look_through, remove
from budwood.review.mending import mend_refs, prune_entries
from budwood.review.opened import Opened, hand_out, opened_in
from budwood.testing.workspaces import git
from budwood.workspaces import Clone, Pool, Worktree

AGAIN = Opened(again="budwood open night form", repository="/repository")


def fill(into: Path) -> None:
    into.mkdir()
    (into / "sub").mkdir()
    (into / "sub" / "x").write_text("x\n")


def look(tmp_path: Path, *pools: Path) -> list[Found]:
    return list(look_through(pools, tmp_path / "opened", repository=Path("/repository")))


def stays(tmp_path: Path, *pools: Path) -> list[str]:
    return [found.stays for found in look(tmp_path, *pools)]


def test_each_opening_has_a_directory_of_its_own(tmp_path: Path) -> None:
    places = [hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill) for _ in range(3)]
    assert [place.name for place in places] == ["night-form-1", "night-form-1-2", "night-form-1-3"]
    assert [place for place, _ in opened_in(tmp_path / "opened")] == places


def test_an_opened_one_may_go_until_somebody_worked_in_it(tmp_path: Path) -> None:
    place = hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    assert stays(tmp_path) == [""]
    assert look(tmp_path)[0].back == "budwood open night form"
    (place / "sub" / "new").write_text("work\n")
    assert stays(tmp_path) == ["somebody has worked in it"]
    (place / "sub" / "new").unlink()
    (place / "sub" / "x").write_text("y\n")
    assert stays(tmp_path) == ["somebody has worked in it"]


def test_an_opened_one_that_is_removed_leaves_nothing(tmp_path: Path) -> None:
    hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    assert remove(look(tmp_path)[0]) == ""
    assert list((tmp_path / "opened").iterdir()) == []


def test_directories_of_other_repositories_are_not_listed(tmp_path: Path) -> None:
    hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    assert list(look_through([], tmp_path / "opened", repository=Path("/another"))) == []


def test_one_in_use_is_left_and_the_process_named(tmp_path: Path) -> None:
    place = hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    with subprocess.Popen(["sleep", "60"], cwd=place / "sub") as process:
        try:
            assert stays(tmp_path) == [f"process {process.pid} stands in it"]
        finally:
            process.kill()


def test_a_workspace_may_go_only_when_nobody_holds_it(ground: Ground, tmp_path: Path) -> None:
    folder = tmp_path / "pool"
    pool = Pool(folder, ground.repository, lambda _: Clone(ground.repository))
    pool.hand_out("r/1", ground.base)
    (found,) = look(tmp_path, folder)
    assert found.stays == "held by r/1"
    assert found.bytes > 0
    assert remove(found) == "held by r/1"
    assert pool.find("r/1") is not None
    pool.keep("r/1", "refs/budwood/r/1", message="kept\n")
    pool.hand_back("r/1", "refs/budwood/r/1")
    (free,) = look(tmp_path, folder)
    assert (free.stays, free.what) == ("", "workspace")
    assert remove(free) == ""
    assert look(tmp_path, folder) == []
    assert pool.hand_out("r/2", ground.base).path.exists()


def test_one_that_was_taken_after_the_look_is_left(ground: Ground, tmp_path: Path) -> None:
    folder = tmp_path / "pool"
    pool = Pool(folder, ground.repository, lambda _: Clone(ground.repository))
    pool.hand_out("r/1", ground.base)
    pool.release("r/1")
    (free,) = look(tmp_path, folder)
    made = pool.hand_out("r/2", ground.base)
    assert remove(free) == "held by r/2"
    assert (made.path / "a.txt").exists()


def test_one_that_is_shut_stays_with_its_reason(ground: Ground, tmp_path: Path) -> None:
    folder = tmp_path / "pool"
    pool = Pool(folder, ground.repository, lambda _: Clone(ground.repository), file_limit=10)
    made = pool.hand_out("r/1", ground.base)
    (made.path / "large").write_text("x" * 100)
    pool.keep("r/1", "refs/budwood/r/1", message="kept\n")
    pool.hand_back("r/1", "refs/budwood/r/1")
    (found,) = look(tmp_path, folder)
    assert found.stays.startswith("shut: it holds what is too large to be kept: large")


def test_what_a_killed_removal_left_goes_the_next_time(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "pool" / "gone-w3" / "tree").mkdir(parents=True)
    (found,) = look(tmp_path, tmp_path / "pool")
    assert remove(found) == ""
    assert not (tmp_path / "pool" / "gone-w3").exists()


def test_only_our_own_entries_of_worktrees_are_pruned(ground: Ground, tmp_path: Path) -> None:
    git(ground.root, "worktree", "add", "-q", "--detach", str(tmp_path / "unplugged"))
    folder = tmp_path / "pool"
    pool = Pool(folder, ground.repository, lambda _: Worktree(ground.repository, folder))
    pool.hand_out("r/1", ground.base)
    (tmp_path / "unplugged").rename(tmp_path / "away")
    assert prune_entries(ground.repository, folder) == []
    pool.release("r/1")
    assert remove(look(tmp_path, folder)[0]) == ""
    assert prune_entries(ground.repository, folder) == ["budwood-w1"]
    assert [path.name for path in (ground.root / ".git" / "worktrees").iterdir()] == ["unplugged"]


def left(commit: str, ref: str) -> Left:
    return Left(base=commit, tree=commit, candidate=commit, commit=commit, ref=ref)


def test_a_deleted_ref_is_made_again_and_a_lost_commit_is_told(ground: Ground) -> None:
    made, gone = ground.made({"new.txt": "n\n"}), "f" * 40
    folded = ground.made({"more.txt": "n\n"})
    ground.repository.set_ref("refs/budwood/r/kept", ground.made({}, on=folded))
    wanted = [left(made, "refs/budwood/r/0.1"), left(gone, "refs/budwood/r/1.1"), left(folded, "refs/budwood/r/2.1")]
    refs = mend_refs(ground.repository, wanted)
    assert (refs.made, refs.lost) == (["refs/budwood/r/0.1"], ["refs/budwood/r/1.1"])
    assert ground.repository.ref("refs/budwood/r/0.1") == made
    assert mend_refs(ground.repository, wanted[:1]).made == []


def test_sizes_are_those_on_the_disk(tmp_path: Path) -> None:
    place = hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    (place / "hole").write_bytes(b"")
    os.truncate(place / "hole", 10**9)
    assert look(tmp_path)[0].bytes < 10**6
