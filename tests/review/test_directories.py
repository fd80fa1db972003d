"""Opened directories, and what may be removed: never what somebody holds, stands in or has worked in."""

import shutil
import subprocess
from pathlib import Path

from tests.review.conftest import Ground

from budwood._core.model import Left
from budwood.review.mending import mend_refs, prune_entries
from budwood.review.opened import Opened, hand_out, opened_in, plan_gc, remove
from budwood.testing.workspaces import git
from budwood.workspaces import Pool, Worktree
from budwood.workspaces.gc import Removable

AGAIN = Opened(again="budwood open night form", repository="/repository")


def fill(into: Path) -> None:
    into.mkdir()
    (into / "sub").mkdir()
    (into / "sub" / "x").write_text("x\n")


def look(tmp_path: Path) -> tuple[list[Removable], list[str]]:
    going, stays = plan_gc(tmp_path / "opened", Path("/repository"))
    return going, [each.why for each in stays]


def test_each_opening_has_a_directory_of_its_own(tmp_path: Path) -> None:
    places = [hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill) for _ in range(3)]
    assert [place.name for place in places] == ["night-form-1", "night-form-1-2", "night-form-1-3"]
    assert [place for place, _ in opened_in(tmp_path / "opened")] == places


def test_an_opened_one_may_go_until_somebody_worked_in_it(tmp_path: Path) -> None:
    place = hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    going, stays = look(tmp_path)
    assert ([each.how_to_get_back for each in going], stays) == (["budwood open night form"], [])
    (place / "sub" / "new").write_text("work\n")
    assert look(tmp_path) == ([], ["somebody has worked in it"])
    (place / "sub" / "new").unlink()
    (place / "sub" / "x").write_text("y\n")
    assert look(tmp_path) == ([], ["somebody has worked in it"])


def test_an_opened_one_that_is_removed_leaves_nothing(tmp_path: Path) -> None:
    remove(hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill))
    assert list((tmp_path / "opened").iterdir()) == []


def test_directories_of_other_repositories_are_not_listed(tmp_path: Path) -> None:
    hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    assert plan_gc(tmp_path / "opened", Path("/another")) == ([], [])


def test_one_in_use_is_left_and_the_process_named(tmp_path: Path) -> None:
    place = hand_out(tmp_path / "opened", "night-form-1", AGAIN, fill=fill)
    with subprocess.Popen(["sleep", "60"], cwd=place / "sub") as process:
        try:
            assert look(tmp_path) == ([], [f"in use by sleep {process.pid}"])
        finally:
            process.kill()


def test_only_our_own_entries_of_worktrees_are_pruned(ground: Ground, tmp_path: Path) -> None:
    git(ground.root, "worktree", "add", "-q", "--detach", str(tmp_path / "unplugged"))
    folder = tmp_path / "pool"
    pool = Pool(folder, ground.repository, Worktree(ground.repository, folder))
    pool.hand_out("r/1", ground.base)
    (tmp_path / "unplugged").rename(tmp_path / "away")
    assert prune_entries(ground.repository, folder) == []
    pool.release("r/1")
    shutil.rmtree(folder / "w1")
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
