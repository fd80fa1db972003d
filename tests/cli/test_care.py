"""open, apply, branch, gc, recover: what attempts left is brought back, and nothing that holds work is ever removed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.evening import Evening, evening, made_evening

from budwood._core.model import TaskPhase
from budwood.testing.workspaces import git
from budwood.workspaces import find_repository
from budwood.workspaces.fingerprint import Fingerprint, Watch

__all__ = ["evening", "made_evening"]
pytestmark = pytest.mark.slow
HELD = """
[run]
agent = "script"
[[task]]
id = "held"
prompt = '''
[[step]]
do = "write"
path = "held.txt"
text = "held"
[[step]]
do = "run"
command = "touch {began}; until [ -e {go} ]; do sleep 0.02; done"
'''
"""


def seen(evening: Evening) -> Fingerprint:
    repository = find_repository(evening.root, os.environ)
    assert repository is not None
    return Watch(repository).look()


def test_everything_that_was_left_is_opened_outside_of_the_repository(evening: Evening) -> None:
    before = seen(evening)
    ran = evening.call("open", "night", "models")
    place = Path(ran.out.rstrip("\n"))
    assert not place.is_relative_to(evening.root)
    assert (place / "build.log").read_bytes() == b"ignored by git\r\n"
    assert (place / "models.txt").read_text() == "models\n"
    assert (place / "a.txt").read_bytes() == (evening.root / "a.txt").read_bytes()
    assert not (place / ".git").exists()
    assert evening.call("open", "night", "models.1").out == f"{place}-2\n"
    assert seen(evening) == before


def test_what_a_failed_attempt_left_can_be_opened_applied_and_branched(evening: Evening) -> None:
    place = Path(evening.call("open", "night", "bad").out.rstrip("\n"))
    assert (place / "half.txt").read_text() == "half\n"
    assert evening.call("branch", "night", "bad", "half").code == 0
    assert git(evening.root, "show", "half:half.txt") == "half"
    assert evening.call("apply", "night", "bad").out == "half.txt\n"
    assert (evening.root / "half.txt").read_text() == "half\n"


def test_a_candidate_is_applied_to_files_alone(evening: Evening) -> None:
    head, index = evening.head(), git(evening.root, "ls-files", "--stage")
    ran = evening.call("apply", "night", "docs")
    assert (ran.code, ran.out) == (0, "docs/x.md\nb.txt\n")
    assert ran.err == f"docs.1: 1 file written, 1 file deleted in {evening.root}\n"
    assert not (evening.root / "b.txt").exists()
    assert (evening.head(), git(evening.root, "ls-files", "--stage")) == (head, index)


def test_a_file_that_changed_since_is_named_and_nothing_is_written(evening: Evening) -> None:
    (evening.root / "b.txt").write_text("mine\n")
    ran = evening.call("apply", "night", "docs")
    assert ran.code == 4
    assert "so that nothing was written: b.txt" in ran.err
    assert not (evening.root / "docs").exists()


def test_a_branch_that_is_there_stays(evening: Evening) -> None:
    head = evening.head("main")
    ran = evening.call("branch", "night", "docs", "main")
    assert ran.code == 2
    assert "there is a branch main already, and it stays as it is" in ran.err
    assert evening.head("main") == head
    for name in ("a..b", "-x", "main/sub", ""):
        assert evening.call("branch", "night", "docs", "--", name).code == 2
    assert evening.call("branch", "night", "nope", "new").code == 2
    assert git(evening.root, "branch", "--list", "new") == ""


def test_gc_shows_first_and_removes_only_what_is_kept(evening: Evening) -> None:
    place = Path(evening.call("open", "night", "docs").out.rstrip("\n"))
    worked = Path(evening.call("open", "night", "docs").out.rstrip("\n"))
    (worked / "mine.txt").write_text("mine\n")
    lanes = evening.call("lanes", "night").out
    dry = evening.call("gc")
    assert dry.code == 0
    assert "budwood open night docs.1" in dry.out
    assert "hint: budwood gc --apply removes it" in dry.err
    assert "5 refs, for one" in dry.out
    assert f"{worked}  somebody has worked in it" in dry.out
    assert place.exists()
    pools = list((evening.folder / "state" / "budwood" / "pools").glob("*/clone/w[0-9]*"))
    assert pools
    assert "removed: " in evening.call("gc", "--apply").err
    assert not place.exists()
    assert not any(pool.exists() for pool in pools)
    assert (worked / "mine.txt").exists()
    assert Path(evening.call("open", "night", "docs").out.rstrip("\n")).exists()
    assert evening.call("lanes", "night").out == lanes
    evening.call("retry", "night", "bad")  # new directories are made
    assert evening.state().task("bad").attempts == 2
    assert git(evening.root, "branch", "--list", "--format=%(refname:short)").split() == [
        "lane-api",
        "main",
        "task-docs",
    ]


def test_what_was_kept_as_it_was_stays_until_that_is_given_up(evening: Evening) -> None:
    evening.call("gc", "--apply")
    step = "[[step]]\ndo = 'write'\npath = 'a.txt'\ntext = 'x'\n"
    plan = f'[run]\nagent = "script"\nkeep = true\n[[task]]\nid = "kept"\nreserve_usd = 0.5\nprompt = """{step}"""\n'
    (evening.root / "kept.toml").write_text(plan)
    assert evening.call("run", "kept.toml").code == 0
    assert "~$0.50" in evening.call("review", "kept").out
    [place] = (evening.folder / "state" / "budwood" / "pools").glob("*/clone/w[0-9]*")
    assert "it is pinned for " in evening.call("gc", "--apply").out
    assert place.exists()
    assert "directory that is pinned for " in evening.call("gc", "--pinned").out
    assert place.exists()
    assert "removed: " in evening.call("gc", "--pinned", "--apply").err
    assert not place.exists()
    assert evening.call("diff", "kept", "kept", "--name-only").out == "a.txt\n"


def test_gc_with_nothing_to_remove_says_so(evening: Evening) -> None:
    evening.call("gc", "--apply")
    assert evening.call("gc").err == "nothing to remove\n"
    assert evening.call("gc", "--json").json == {"applied": False, "removable": [], "left": []}


def test_a_deleted_ref_and_branch_are_recovered(evening: Evening) -> None:
    task = evening.state().task("docs")
    assert task.made is not None
    git(evening.root, "update-ref", "-d", task.made.left.ref)
    git(evening.root, "branch", "-D", "task-docs")
    refs = task.made.left.ref.rpartition("/")[0]
    for twin in git(evening.root, "for-each-ref", "--format=%(refname)", f"{refs}/branches/task-docs").split():
        git(evening.root, "update-ref", "-d", twin)
    ran = evening.call("recover", "night")
    assert ran.code == 0
    assert ran.out == "recovered  the ref of what docs.1 left\nrecovered  branch task-docs\n"
    assert evening.head("task-docs") == task.made.left.candidate
    assert evening.call("recover", "night").out == "night: everything is in its place\n"


def test_a_branch_that_the_user_moved_is_told_and_left(evening: Evening) -> None:
    mine = evening.commit("mine.txt", "mine\n")
    git(evening.root, "branch", "-f", "task-docs", mine)
    found = evening.call("recover", "night", "--json").json
    assert found["left"] == ["branch task-docs is not where the run left it, and stays as it is"]
    assert evening.head("task-docs") == mine


@pytest.fixture
def killed(evening: Evening) -> Iterator[Path]:
    """A driver that was killed while its attempt ran; give the file that lets the attempt end."""
    began, go = evening.folder / "began", evening.folder / "go"
    (evening.root / "held.toml").write_text(HELD.replace("{began}", str(began)).replace("{go}", str(go)))
    driver = subprocess.Popen(
        [sys.executable, "-m", "budwood", "run", "held.toml"],
        cwd=evening.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(began.exists, what="the attempt to begin")
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        yield go
    finally:
        go.touch()
        driver.kill()
        driver.wait()
        evening.call("cancel", "held")


@pytest.mark.crash
def test_what_ended_without_a_driver_is_recovered_and_its_lease_ends(evening: Evening, killed: Path) -> None:
    still = evening.call("recover", "held").out
    assert still == "left  attempt 1 at task held is still running; budwood resume takes it over\n"
    assert "attempt 1 at task held of run held has it" in evening.call("gc").out
    killed.touch()
    attempt = next((evening.root / ".budwood" / "runs").glob("*/attempts/0.1/begun")).parent
    wait_for((attempt / "result.json").exists, what="the attempt to end")
    ran = evening.call("recover", "held")
    assert ran.out == (
        "recovered  attempt 1 at task held: succeeded\nrecovered  branch task-held\n"
        "cleaned  the lease on the workspace of attempt 1 at task held\n"
    )
    state = evening.state("held")
    assert state.task("held").phase is TaskPhase.DONE
    assert git(evening.root, "show", "task-held:held.txt") == "held"


@pytest.mark.crash
def test_a_workspace_that_was_removed_by_hand_is_no_reason_to_fail(evening: Evening, killed: Path) -> None:
    killed.touch()
    attempt = next((evening.root / ".budwood" / "runs").glob("*/attempts/0.1/begun")).parent
    wait_for((attempt / "result.json").exists, what="the attempt to end")
    for lease in (evening.folder / "state" / "budwood" / "pools").glob("*/clone/w*/lease.json"):
        shutil.rmtree(lease.parent / "tree")
    ran = evening.call("recover", "held")
    assert ran.code == 0, ran.err
    assert "attempt 1 at task held: failed" in ran.out


def test_a_run_that_somebody_drives_is_left_to_them(evening: Evening) -> None:
    from budwood.stores import open_store

    with open_store(evening.root / ".budwood" / "store.db", create=False) as store:
        run = store.runs()[-1].id
        lease = store.acquire(run, "pid 4242 on host")
        try:
            ran = evening.call("recover", "night")
        finally:
            store.release(lease)
    assert ran.code == 2
    assert "run night is already driven by pid 4242 on host" in ran.err


def test_in_a_linked_worktree_files_and_branch_are_those_of_that_one(evening: Evening) -> None:
    side = evening.folder / "side"
    git(evening.root, "worktree", "add", "-q", "-b", "side", str(side))
    assert evening.call("run", "night.toml", cwd=side).code == 1
    assert evening.call("apply", "night", "docs", cwd=side).code == 0
    assert (side / "docs" / "x.md").exists()
    ran = evening.call("merge", "night", "models", cwd=side)
    assert "merged task models into side (fast-forward)" in ran.err
    assert (side / "models.txt").exists()
    assert not (evening.root / "models.txt").exists()
    assert evening.head("side") != evening.head("main")


def test_outside_of_git_files_are_brought_back_and_branches_refused(evening: Evening) -> None:
    plain = evening.folder / "plain"
    plain.mkdir()
    for name in ("a.txt", "b.txt", "night.toml"):
        shutil.copy(evening.root / name, plain / name)
    assert evening.call("run", "night.toml", cwd=plain).code == 1
    assert evening.call("diff", "night", "docs", "--name-only", cwd=plain).out == "b.txt\ndocs/x.md\n"
    for words in (("merge", "night", "docs"), ("branch", "night", "docs", "x"), ("pr", "night", "docs")):
        ran = evening.call(*words, cwd=plain)
        assert ran.code == 2
        assert "which is in no git repository" in ran.err
    assert Path(evening.call("open", "night", "models", cwd=plain).out.rstrip("\n"), "build.log").exists()
    assert evening.call("apply", "night", "docs", cwd=plain).code == 0
    assert (plain / "docs" / "x.md").exists()
    assert not (plain / "b.txt").exists()
    assert "free directory" in evening.call("gc", cwd=plain).out
