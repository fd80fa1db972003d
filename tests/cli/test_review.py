"""review, diff, lanes, show, approve, reject, revise: what was made overnight is looked at and decided about."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_completion import complete
from tests.cli.world import Terminal, wait_for
from tests.support.evening import Evening, evening, made_evening
from tests.support.program import golden

from budwood._core.events import DriverStarted
from budwood._core.model import Review, TaskPhase
from budwood.testing.workspaces import git

__all__ = ["evening", "made_evening"]
pytestmark = pytest.mark.slow


def waiting(evening: Evening) -> list[object]:
    found = evening.call("review", "night", "--json").json["waiting"]
    assert isinstance(found, list)
    return [each["task"] for each in found]


def test_what_has_changes_and_no_decision_is_listed(evening: Evening) -> None:
    ran = evening.call("review")
    assert ran.code == 0
    assert ran.out == golden("""
    TASK    OUTCOME    SCORE  FILES  LINES   COST  BRANCH
    models  succeeded      -      1  +1 -0  $0.25  lane-api
    views   succeeded      -      1  +2 -1         lane-api
    docs    succeeded      -      2  +1 -1         task-docs
    bad     failed         -      1  +1 -0
    """)
    assert "budwood review night --walk" in ran.err


def test_the_list_gets_shorter_with_every_decision(evening: Evening) -> None:
    assert waiting(evening) == ["models", "views", "docs", "bad"]
    said = evening.call("approve", "night", "models", "docs")
    assert (said.code, said.err) == (0, "night: approved: models, docs\n")
    assert evening.call("reject", "night", "bad", "--reason", "half done").code == 0
    assert waiting(evening) == ["views"]
    assert evening.call("reject", "night", "views").code == 0
    assert evening.call("review", "night").err == "night: nothing waits for a decision\n"
    state = evening.state()
    assert [task.review for task in state.tasks] == [
        Review.APPROVED,
        Review.REJECTED,
        Review.APPROVED,
        Review.REJECTED,
    ]
    assert "bad: attempt 1 was rejected: half done" in evening.call("story", "night", "bad").out


def test_a_decision_can_be_another_one_later(evening: Evening) -> None:
    evening.call("reject", "night", "docs")
    evening.call("approve", "night", "docs")
    assert evening.state().task("docs").review is Review.APPROVED


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("approve", "night", "nope"), "run night has no task 'nope'"),
        (("approve", "nigth", "docs"), "did you mean night?"),
        (("approve", "night", "bad"), "task bad has no candidate to decide about: it is failed"),
        (("approve", "night"), "Missing argument 'TASKS...'"),
        (("review", "night", "--walk"), "standard input is no terminal"),
        (("review", "night", "--walk", "--json"), "leave one of them out"),
        (("diff", "night", "docs", "--stat", "--name-only"), "exclude each other"),
        (("diff", "night", "docs.2"), "attempt 2 at task docs of run night has left nothing"),
        (("diff", "night", "docs", "nope"), "run night has no task 'nope'"),
        (("revise", "night", "docs", "  "), "a revision says what is wanted"),
    ],
)
def test_what_cannot_be_done_is_refused(evening: Evening, words: tuple[str, ...], told: str) -> None:
    ran = evening.call(*words)
    assert ran.code == 2
    assert told in ran.err
    assert [task.review for task in evening.state().tasks] == [*[Review.WAITING] * 3, None]


def test_a_difference_is_a_patch_that_git_takes(evening: Evening, tmp_path: Path) -> None:
    patch = evening.call("diff", "night", "docs").raw
    (tmp_path / "docs.patch").write_bytes(patch)
    git(evening.root, "apply", str(tmp_path / "docs.patch"))
    assert (evening.root / "docs" / "x.md").read_text() == "docs\n"
    assert not (evening.root / "b.txt").exists()


def test_a_difference_is_against_what_the_attempt_began_with(evening: Evening) -> None:
    assert evening.call("diff", "night", "views", "--name-only").out == "a.txt\n"
    assert evening.call("diff", "night", "views", "models", "--name-only").out == "a.txt\n"
    assert evening.call("diff", "night", "models.1", "docs", "--name-only").out == "b.txt\ndocs/x.md\nmodels.txt\n"
    same = evening.call("diff", "night", "docs", "docs")
    assert (same.code, same.out, same.err) == (0, "", "docs.1 and docs.1 are the same\n")
    assert "1 file changed, 2 insertions(+), 1 deletion(-)" in evening.call("diff", "night", "views", "--stat").out


def test_lanes_are_shown_with_branch_and_state(evening: Evening) -> None:
    out = evening.call("lanes").out
    head = evening.head("lane-api")[:12], evening.head("task-docs")[:12]
    assert out == golden(f"""
    LANE  STATE    DONE  FILES   COST  HEAD          BRANCH
    api   waiting   2/2      2  $0.25  {head[0]}  lane-api
    docs  waiting   1/1      2         {head[1]}  task-docs
    bad   held      0/1      0
    """)


def test_a_task_is_shown_with_what_it_made(evening: Evening) -> None:
    evening.call("approve", "night", "models")
    out = evening.call("show", "night", "models").out
    made = evening.state().task("models").made
    assert made is not None
    assert "  review    approved\n" in out
    assert f"  attempt 1 changed 1 file, +1 -0: candidate {made.left.candidate[:12]}\n" in out
    assert "    agent script, ok\n" in out
    shown = evening.call("show", "night", "models", "--json").json
    assert isinstance(shown["task"], dict)
    assert isinstance(shown["attempts"], list)
    assert shown["task"]["review"] == "approved"
    assert shown["attempts"][0]["left"]["candidate"] == made.left.candidate
    assert shown["attempts"][0]["told"]["agent"] == "script"


def test_a_revision_goes_on_with_what_was_left_under_a_new_number(evening: Evening) -> None:
    ran = evening.call("revise", "night", "views", "say it twice")
    assert "night: task views goes on from attempt 1" in ran.err
    state = evening.state()
    task = state.task("views")
    assert (task.phase, task.attempts) == (TaskPhase.DONE, 2), ran.err
    assert task.review is Review.WAITING
    assert evening.head("lane-api") == state.heads["lane api"]
    old = evening.call("diff", "night", "views.1", "views", "--name-only")
    assert (old.code, old.out) == (0, "a.txt\n")
    assert task.made is not None
    first, second = (
        evening.call("diff", "night", "views.1", "--json").json,
        evening.call("diff", "night", "views", "--json").json,
    )
    assert (first["older"], task.made.left.base) == (second["older"], first["newer"])  # as a whole, from where it began
    [counted] = [line for line in evening.call("review", "night").out.splitlines() if line.startswith("views ")]
    assert counted.split()[3:6] == ["1", "+3", "-1"]  # by both attempts, as diff shows it


def test_what_was_sent_back_and_is_not_done_is_not_merged(evening: Evening) -> None:
    evening.call("revise", "night", "docs", "shorter")  # its steps cannot be done a second time
    assert evening.state().task("docs").phase is TaskPhase.FAILED
    evening.call("revise", "night", "models", "longer")  # and those change nothing
    for line, words in (("lane-api", "lane api"), ("views", "task views")):
        refused = evening.call("merge", "night", line)
        assert refused.code == 2
        said = f"error: {words} of run night holds what was sent back and is not done: models\n\nhint: budwood revise"
        assert refused.err.startswith(said)
    partly = evening.call("merge", "night", "--partial").err
    assert "held      lane api: not done: models\n            budwood revise night models TEXT goes on" in partly
    assert "held      task docs: not done: docs\n            budwood revise night docs TEXT goes on" in partly
    assert evening.state().landing.merged == {}


def test_scores_are_listed(evening: Evening) -> None:
    step = "[[step]]\ndo = 'write'\npath = '{task}.txt'\ntext = 'x'\n"
    (evening.root / "rated.toml").write_text(
        f'[run]\nagent = "script"\n[[task]]\nid = "rated"\nscore = "echo 7.5"\nprompt = """{step}"""\n'
        f'[[task]]\nid = "plain"\nprompt = """{step}"""\n'
    )
    assert evening.call("run", "rated.toml").code == 0
    rows = [line.split()[:3] for line in evening.call("review", "rated").out.splitlines()[1:]]
    assert rows == [["rated", "succeeded", "7.5"], ["plain", "succeeded", "-"]]
    waiting = evening.call("review", "rated", "--json").json["waiting"]
    assert isinstance(waiting, list)
    assert [each["score"] and each["score"]["value"] for each in waiting] == [7.5, None]


def test_a_run_without_workspaces_has_nothing_to_review(evening: Evening) -> None:
    (evening.root / "plain.toml").write_text("[[task]]\nid = 'a'\nrun = 'true'\n")
    assert evening.call("run", "plain.toml", "-q").code == 0
    for words in (("review", "plain"), ("lanes", "plain"), ("diff", "plain", "a"), ("merge", "plain", "a")):
        ran = evening.call(*words)
        assert ran.code == 2
        assert "run plain has no workspaces" in ran.err
    assert evening.call("recover", "plain").out == "plain: everything is in its place\n"


def test_a_walk_shows_asks_and_decides(evening: Evening) -> None:
    terminal = Terminal([sys.executable, "-m", "budwood", "review", "--walk"], cwd=evening.root, env=dict(os.environ))
    try:
        terminal.wait_text("1/4 models: attempt 1 succeeded, 1 file, +1 -0, $0.25")
        terminal.wait_text("a, r, v, s, q or ?")
        terminal.press("?\n")
        terminal.wait_text("skip: decide later")
        terminal.press("a\n")
        terminal.wait_text("2/4 views")
        terminal.press("r\n")
        terminal.wait_text("why (may be empty)")
        terminal.press("not so\n")
        terminal.wait_text("3/4 docs")
        terminal.press("s\n")
        terminal.wait_text("4/4 bad")
        terminal.press("v\n")
        terminal.wait_text("what is wanted")
        terminal.press("all of it\n")
        terminal.wait_text("budwood resume night works on what was sent back")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    state = evening.state()
    assert [task.review for task in state.tasks] == [Review.APPROVED, Review.REJECTED, Review.WAITING, None]
    assert state.task("bad").phase is TaskPhase.READY


def test_a_walk_shows_the_beginning_of_what_is_long(evening: Evening) -> None:
    step = "[[step]]\ndo = 'run'\ncommand = 'seq 1 1000 > many.txt'\n"
    (evening.root / "long.toml").write_text(f'[run]\nagent = "script"\n[[task]]\nid = "a b"\nprompt = """{step}"""\n')
    assert evening.call("run", "long.toml").code == 0
    words = [sys.executable, "-m", "budwood", "review", "long", "--walk"]
    terminal = Terminal(words, cwd=evening.root, env=dict(os.environ))
    try:
        terminal.wait_text("and 606 lines more: budwood diff long 'a b.1'")
        terminal.press("q\n")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert "+1000\n" in evening.call("diff", "long", "a b.1").out


def test_names_are_completed(evening: Evening) -> None:
    assert complete("budwood approve night d", cwd=evening.root) == ["docs"]
    assert complete("budwood diff night doc", cwd=evening.root) == ["docs"]
    assert complete("budwood diff night docs.", cwd=evening.root) == ["docs.1"]
    assert complete("budwood merge night a", cwd=evening.root) == ["api"]


def test_the_end_of_a_run_points_to_what_waits(evening: Evening) -> None:
    assert "budwood review night shows what waits for a decision" in evening.call("resume", "night").err
    evening.call("approve", "night", "models", "views", "docs")
    evening.call("reject", "night", "bad")
    assert "budwood review" not in evening.call("resume", "night").err


def test_bare_budwood_points_to_what_waits(evening: Evening) -> None:
    assert "  night: 4 tasks to decide about; budwood review night\n" in evening.call().out
    evening.call("approve", "night", "models", "views", "docs")
    evening.call("reject", "night", "bad")
    assert "to decide about" not in evening.call().out


def test_a_run_that_is_driven_takes_decisions_meanwhile(evening: Evening) -> None:
    go = evening.folder / "go"
    held = f"[[step]]\ndo = 'run'\ncommand = 'until [ -e {go} ]; do sleep 0.02; done'\n"
    quick = "[[step]]\ndo = 'write'\npath = 'quick.txt'\ntext = 'quick'\n"
    (evening.root / "live.toml").write_text(
        f'[run]\nagent = "script"\n[[task]]\nid = "quick"\nprompt = """{quick}"""\n'
        f'[[task]]\nid = "held"\nallow_unchanged = true\nprompt = """{held}"""\n'
    )
    driver = subprocess.Popen(
        [sys.executable, "-m", "budwood", "run", "live.toml"],
        cwd=evening.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: "quick" in evening.call("review", "live").out, what="the first candidate")
        merged = evening.call("merge", "live", "quick")
        assert "live: merged: quick" in merged.err, merged.err
        assert "already driven" in evening.call("recover", "live").err
        go.touch()
        assert driver.wait(30) == 0
    finally:
        go.touch()
        driver.kill()
        driver.wait()
    assert evening.state("live").task("quick").review is Review.MERGED
    assert sum(isinstance(event, DriverStarted) for event in evening.events("live")) == 1
