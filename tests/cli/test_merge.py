"""merge and pr: what was made goes where the user says, and nowhere else."""

import os
from pathlib import Path

import pytest
from tests.support.evening import Evening, evening, made_evening

from budwood._core.model import Review
from budwood.testing.workspaces import git

__all__ = ["evening", "made_evening"]
pytestmark = pytest.mark.slow
GH = """#!/bin/sh
printf '%s\\n' "$@" > {said}
[ -n "$GH_FAILS" ] && {{ echo "no login" >&2; exit 1; }}
echo https://example.test/pull/7
"""


def reviews(evening: Evening) -> dict[str, Review | None]:
    return {str(task.spec.id): task.review for task in evening.state().tasks}


def test_a_lane_is_merged_with_all_that_is_in_it(evening: Evening) -> None:
    ran = evening.call("merge", "night", "api")
    assert ran.code == 0, ran.err
    assert "merged lane api into main (fast-forward)" in ran.err
    assert "night: merged: models, views" in ran.err
    assert (evening.root / "models.txt").exists()
    assert git(evening.root, "status", "--porcelain") == ""
    assert reviews(evening)["views"] is Review.MERGED
    assert "views: attempt 1 was merged into main" in evening.call("story", "night", "views").out
    assert "merged" in evening.call("lanes", "night").out.splitlines()[1]


def test_one_candidate_brings_what_it_stands_on_and_no_more(evening: Evening) -> None:
    assert evening.call("merge", "night", "models").code == 0
    assert (evening.root / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert reviews(evening) == {
        "models": Review.MERGED,
        "views": Review.WAITING,
        "docs": Review.WAITING,
        "bad": None,
    }


def test_main_may_have_moved_meanwhile(evening: Evening) -> None:
    evening.commit("c.txt", "c\n")
    ran = evening.call("merge", "night", "docs")
    assert "merged task docs into main (merge)" in ran.err
    assert sorted(path.name for path in evening.root.glob("*.txt")) == ["a.txt", "c.txt"]
    assert git(evening.root, "log", "-1", "--format=%s") == "Merge task docs of run night"


def test_what_is_merged_already_is_not_pointed_to(evening: Evening) -> None:
    hint = "budwood merge night merges and publishes finished lanes"
    assert hint in evening.call("resume", "night").err
    said = evening.call("merge", "night").err
    assert "budwood review night shows what waits for a decision" in said
    assert hint not in said


def test_a_squash_is_known_as_merged_afterwards(evening: Evening) -> None:
    assert evening.call("merge", "night", "docs", "--squash").code == 0
    head = evening.head()
    again = evening.call("merge", "night", "docs")
    assert (again.code, again.err) == (0, "task docs is merged into main already: its changes are there\n")
    assert evening.head() == head


def test_what_was_merged_by_hand_is_recorded(evening: Evening) -> None:
    git(evening.root, "merge", "-q", "task-docs")
    ran = evening.call("merge", "night", "docs")
    assert "is merged into main already: its commits are there" in ran.err
    assert reviews(evening)["docs"] is Review.MERGED


def test_a_conflict_has_its_own_exit_code_and_changes_nothing(evening: Evening) -> None:
    head = evening.commit("a.txt", "one\nMINE\nthree\n")
    ran = evening.call("merge", "night", "api")
    assert ran.code == 5
    assert "nothing was changed: a.txt" in ran.err
    assert evening.head() == head
    assert reviews(evening)["views"] is Review.WAITING


def test_a_dirty_checkout_is_not_overwritten(evening: Evening) -> None:
    (evening.root / "models.txt").write_text("mine\n")
    head = evening.head()
    ran = evening.call("merge", "night", "api")
    assert ran.code == 4
    assert f"merge --ff-only --no-overwrite-ignore {evening.head('lane-api')}" in ran.err
    assert (evening.root / "models.txt").read_text() == "mine\n"
    assert evening.head() == head
    assert reviews(evening)["models"] is Review.WAITING


def test_another_branch_is_merged_into_without_touching_a_file(evening: Evening) -> None:
    git(evening.root, "branch", "release")
    assert evening.call("merge", "night", "docs", "--into", "release").code == 0
    assert git(evening.root, "show", "release:docs/x.md") == "docs"
    assert not (evening.root / "docs").exists()


def test_a_detached_head_wants_a_branch_named(evening: Evening) -> None:
    git(evening.root, "checkout", "-q", "--detach")
    ran = evening.call("merge", "night", "docs")
    assert ran.code == 2
    assert "hint: --into BRANCH names the one to merge into" in ran.err
    assert evening.call("merge", "night", "docs", "--into", "main").code == 0
    assert not (evening.root / "docs").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("bad",), "attempt 1 at task bad of run night failed: only what was accepted is merged"),
        (("nope",), "run night has no task 'nope'"),
        (("docs", "--into", "nope"), "there is no branch nope"),
        (("docs", "--into", "lane-api"), "branch lane-api is moved by budwood alone"),
    ],
)
def test_what_cannot_be_merged_is_refused(evening: Evening, words: tuple[str, ...], told: str) -> None:
    ran = evening.call("merge", "night", *words)
    assert ran.code == 2
    assert told in ran.err


def test_what_was_rejected_is_not_merged_with_a_lane(evening: Evening) -> None:
    evening.call("reject", "night", "models")
    ran = evening.call("merge", "night", "api")
    assert ran.code == 2
    assert "lane api of run night holds what was rejected: models" in ran.err


@pytest.fixture
def remote(evening: Evening) -> Path:
    path = evening.folder / "remote.git"
    git(evening.folder, "init", "-q", "--bare", str(path))
    git(evening.root, "remote", "add", "origin", str(path))
    return path


@pytest.fixture
def gh(evening: Evening, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = evening.folder / "bin"
    folder.mkdir()
    (folder / "gh").write_text(GH.format(said=evening.folder / "said"))
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return evening.folder / "said"


def test_a_pull_request_is_pushed_and_opened(evening: Evening, remote: Path, gh: Path) -> None:
    ran = evening.call("pr", "night", "api", "--into", "main", "--draft")
    assert (ran.code, ran.out) == (0, "https://example.test/pull/7\n")
    assert git(remote, "rev-parse", "lane-api") == evening.head("lane-api")
    said = gh.read_text().splitlines()
    assert said[:6] == ["pr", "create", "--head", "lane-api", "--title", "lane api of run night"]
    assert "- models: The models" in said
    assert said[-3:] == ["--base", "main", "--draft"]


def test_a_task_that_its_lane_has_left_behind_gets_a_branch_of_its_own(
    evening: Evening, remote: Path, gh: Path
) -> None:
    assert evening.call("pr", "night", "models").code == 0
    made = evening.state().task("models").made
    assert made is not None
    assert git(remote, "rev-parse", "lane-api-at-0.1") == made.left.candidate


@pytest.mark.usefixtures("gh")
def test_a_gh_that_fails_is_told_with_what_is_left_to_do(
    evening: Evening, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_FAILS", "1")
    ran = evening.call("pr", "night", "docs")
    assert ran.code == 4
    assert "gh pr create failed: no login" in ran.err
    assert "hint: by hand: gh pr create --head task-docs" in ran.err
    assert git(remote, "rev-parse", "task-docs") == evening.head("task-docs")


@pytest.mark.usefixtures("gh")
def test_a_push_that_is_refused_opens_nothing(evening: Evening, remote: Path) -> None:
    git(evening.root, "push", "-q", "origin", f"{evening.commit('z.txt', 'z')}:refs/heads/task-docs")
    ran = evening.call("pr", "night", "docs")
    assert ran.code == 4
    assert "git push origin failed" in ran.err
    assert not (evening.folder / "said").exists()


def test_without_gh_the_two_commands_are_written(
    evening: Evening, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = evening.folder / "only git"
    folder.mkdir()
    for name in ("git", "sh"):
        found = next(Path(each) / name for each in os.environ["PATH"].split(":") if (Path(each) / name).exists())
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    ran = evening.call("pr", "night", "docs")
    assert ran.code == 4
    push, create = ran.out.splitlines()[0], ran.out.splitlines()[1]
    assert push == f"git push origin {evening.state().heads['task docs']}:refs/heads/task-docs"
    assert create.startswith("gh pr create --head task-docs --title 'task docs of run night' --body")
    assert git(remote, "for-each-ref") == ""


def test_without_a_remote_a_pull_request_is_refused(evening: Evening) -> None:
    ran = evening.call("pr", "night", "docs")
    assert ran.code == 2
    assert "has no remote to push to" in ran.err


def test_the_run_says_into_what_and_how_unless_the_command_does(evening: Evening) -> None:
    root = evening.root
    git(root, "branch", "work")
    steps = '[[step]]\ndo = "write"\npath = "{name}.txt"\ntext = "made"\n'
    tasks = "".join(f"[[task]]\nid = \"{name}\"\nprompt = '''\n{steps.format(name=name)}'''\n" for name in ("x", "y"))
    (root / "other.toml").write_text(f'[run]\nagent = "script"\ninto = "work"\nmerge = "squash"\n{tasks}')
    ran = evening.call("run", "other.toml")
    assert ran.code == 0, ran.err
    assert evening.call("merge", "other", "x").code == 0
    assert git(root, "rev-list", "--count", "main..work") == "1"
    assert git(root, "rev-parse", "work") != git(root, "rev-parse", "task-x")
    assert evening.call("merge", "other", "y", "--into", "main", "--no-squash").code == 0
    assert git(root, "rev-parse", "main") == git(root, "rev-parse", "task-y")
    assert not (root / "x.txt").exists()
