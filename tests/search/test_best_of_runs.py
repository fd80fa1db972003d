"""best-of as a user has it: agents in workspaces, scores by a command, git, and the real program."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.search.conftest import SCORE, Halves

from budwood._core.events import AttemptEnded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
TASK = "Raise the numbers."


def two_halves(halves: Halves, *more: str, code: int = 0) -> str:
    """Let two agents each raise one half."""
    halves.setter("lefty", "left", 5)
    halves.setter("righty", "right", 3)
    agents = ("--agent", "lefty", "--agent", "righty")
    return halves.call("best-of", TASK, "-n", "2", *agents, "--score", SCORE, *more, code=code).err


def test_the_best_score_is_chosen_and_the_others_stay_reachable(halves: Halves) -> None:
    said = two_halves(halves)
    assert "best    try-1  score 6; the next best, try-2: score 4" in said
    assert halves.decisions() == {"root": "", "try-1": "chosen", "try-2": "kept"}
    found = halves.compared()
    assert [found[task]["score"]["value"] for task in found] == [2.0, 6.0, 4.0]  # type: ignore[index]
    assert found["try-2"]["only_here"] == ["right.txt"]
    for end in halves.events("best-of"):
        if isinstance(end, AttemptEnded):
            assert end.left is not None
            assert halves.git("cat-file", "-t", end.left.ref) == "commit"


def test_without_a_model_two_attempts_are_put_together_and_only_that_is_merged(halves: Halves, tmp_path: Path) -> None:
    two_halves(halves, "--synthesise", "union")
    assert halves.decisions() == {"root": "", "try-1": "kept", "try-2": "kept", "union-1-2": "chosen"}
    best = halves.call("best", "best-of", "-o", str(tmp_path / "best"))
    assert best.out == "union-1-2\n"
    assert "score 8" in best.err
    assert (tmp_path / "best" / "right.txt").read_text() == "right\n3\nend\n"
    refused = halves.call("best", "best-of", "-o", str(tmp_path / "best"), code=2)
    assert "is not empty; nothing was written" in refused.err
    (tmp_path / "file").touch()
    for words in (("best", "best-of"), ("tree", "best-of")):
        refused = halves.call(*words, "-o", str(tmp_path / "file" / "in it"), code=2)
        assert f"{tmp_path}/file/in it cannot be written: Not a directory" in refused.err
    halves.call("best", "best-of", "-o", "best/of all")  # from where the user stands
    assert (halves.root / "best" / "of all" / "right.txt").read_text() == "right\n3\nend\n"
    shutil.rmtree(halves.root / "best")
    halves.call("merge", "best-of", "--into", "main")
    assert (halves.root / "left.txt").read_text() + (halves.root / "right.txt").read_text() == (
        "left\n5\nend\nright\n3\nend\n"
    )
    assert halves.compared()["union-1-2"]["decision"] == "merged"


def test_what_a_union_changed_is_what_was_put_together(halves: Halves) -> None:
    two_halves(halves, "--synthesise", "union")
    found = json.loads(halves.call("diff", "best-of", "union-1-2", "--json").out)
    assert (found["older"], [each["path"] for each in found["files"]]) == (
        halves.git("rev-parse", "HEAD"),
        ["left.txt", "right.txt"],
    )
    patch = halves.call("diff", "best-of", "union-1-2").out
    assert ("+5" in patch, "+3" in patch) == (True, True)
    halves.call("apply", "best-of", "union-1-2")
    assert (halves.root / "left.txt").read_text() == "left\n5\nend\n"
    assert (halves.root / "right.txt").read_text() == "right\n3\nend\n"


def test_only_the_chosen_line_is_merged(halves: Halves) -> None:
    two_halves(halves)
    halves.call("merge", "best-of", "--into", "main")
    assert (halves.root / "left.txt").read_text() == "left\n5\nend\n"
    assert (halves.root / "right.txt").read_text() == "right\n1\nend\n"
    assert halves.git("branch", "--format=%(refname:short)").split() == ["budwood/best-of", "main"]


def test_who_approves_chooses(halves: Halves) -> None:
    said = two_halves(halves, "--choose", "person")
    assert "budwood approve best-of TASK chooses" in said
    assert halves.call("best", "best-of", code=1).out == ""
    halves.call("approve", "best-of", "try-2")
    assert halves.call("best", "best-of").out == "try-2\n"
    halves.call("merge", "best-of", "--into", "main")
    assert (halves.root / "left.txt").read_text() == "left\n1\nend\n"
    assert (halves.root / "right.txt").read_text() == "right\n3\nend\n"


def test_what_conflicts_is_put_together_file_by_file(halves: Halves) -> None:
    halves.agent("both", "sed -i 's/^[0-9]*$/3/' left.txt; sed -i 's/^[0-9]*$/4/' right.txt")
    halves.setter("lefty", "left", 6)
    halves.call(
        *("best-of", TASK, "-n", "2", "--agent", "both", "--agent", "lefty"),
        *("--score", SCORE, "--synthesise", "union"),
    )
    found = halves.compared()
    scores = {task: each["score"]["value"] for task, each in found.items()}  # type: ignore[index]
    assert scores == {
        "root": 2.0,
        "try-1": 7.0,
        "try-2": 7.0,
        "union-1-2-by-file": 7.0,
        "union-2-1-by-file": 10.0,
    }
    assert found["union-2-1-by-file"]["decision"] == "chosen"


def test_a_judge_reads_the_patches_and_its_word_counts(halves: Halves) -> None:
    halves.agent(
        "wise",
        'grep -q "+3" "$BUDWOOD_OTHERS/try-2.patch" && grep -q "+5" "$BUDWOOD_PROMPT_FILE" && '
        'echo \'{"choice": "try-2", "why": "I like three"}\' > "$BUDWOOD_NOTES/choice.json"',
    )
    said = two_halves(halves, "--judge", "wise")
    assert "best    try-2  judge: I like three" in said
    assert halves.decisions() == {"root": "", "try-1": "kept", "try-2": "chosen"}


def test_a_judge_that_is_kept_in_sees_the_patches_and_may_leave_its_choice(halves: Halves, bwrap: Path) -> None:
    halves.env["PATH"] = f"{bwrap}:{halves.env['PATH']}"
    halves.agent(
        "wise",
        'grep -q "+3" "$BUDWOOD_OTHERS/try-2.patch" && echo \'{"choice": "try-2"}\' > "$BUDWOOD_NOTES/choice.json"',
    )
    two_halves(halves, "--judge", "wise", "--sandbox", "bwrap")
    assert halves.decisions()["try-2"] == "chosen"


@pytest.mark.parametrize("answer", ["true", 'echo "both are fine" > "$BUDWOOD_NOTES/choice.json"', "exit 1"])
def test_a_judge_without_an_answer_leaves_it_to_the_score(halves: Halves, answer: str) -> None:
    halves.agent("wise", answer)
    said = two_halves(halves, "--judge", "wise")
    assert halves.decisions()["try-1"] == "chosen"
    assert "; by score" in said


def test_an_agent_is_given_what_the_others_made_and_is_better(halves: Halves) -> None:
    halves.agent("mason", 'if [ -d "$BUDWOOD_OTHERS" ]; then git apply "$BUDWOOD_OTHERS"/*.patch; else exit 1; fi')
    (halves.root / "plan.toml").write_text(
        f"""\
[run]
strategy = "best-of"
score = {json.dumps(SCORE)}
[run.options]
prompt = "{TASK}"
n = 2
agents = ["lefty", "righty"]
synthesise = "agent"
synthesiser = "mason"
"""
    )
    halves.setter("lefty", "left", 5)
    halves.setter("righty", "right", 3)
    halves.call("run", "plan.toml")
    assert halves.decisions("plan") == {"root": "", "try-1": "kept", "try-2": "kept", "synthesis": "chosen"}
    assert halves.call("show", "plan").code == 0


def test_a_driver_that_is_killed_is_followed_by_one_that_decides_the_same(halves: Halves) -> None:
    two_halves(halves, "--synthesise", "union", "--slots", "1", "--name", "whole")
    halves.agent("slow", 'until [ -e "$GO" ]; do sleep 0.02; done; sed -i "s/^[0-9]*$/5/" left.txt')
    go = halves.root.parent / "go"
    words = ("best-of", TASK, "-n", "2", "--agent", "slow", "--agent", "righty", "--score", SCORE)
    (halves.root / "budwood.toml").write_text(
        (halves.root / "budwood.toml")
        .read_text()
        .replace("[run]\n", f"[run]\nenv = {{ GO = {json.dumps(str(go))} }}\n")
    )
    driver = halves.start(*words, "--synthesise", "union", "--name", "cut")
    wait_for(lambda: _has_begun(halves), what="the run to begin", within_s=60)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    go.touch()
    halves.call("resume", "cut")
    assert halves.decisions("cut") == halves.decisions("whole")


def _has_begun(halves: Halves) -> bool:
    try:
        ends = [event for event in halves.events("cut") if isinstance(event, AttemptEnded)]
    except StopIteration:
        return False
    return len(ends) >= 2


def test_every_attempt_may_fail(halves: Halves) -> None:
    halves.setter("lefty", "left", 5, fails=True)
    said = halves.call("best-of", TASK, "-n", "2", "--agent", "lefty", "--score", SCORE, code=1)
    assert "2 failed" in said.err
    assert halves.call("best", "best-of", code=1).out == ""


def test_a_score_that_is_no_number_never_wins(halves: Halves) -> None:
    halves.agent("mad", "echo nan > left.txt")
    halves.setter("righty", "right", 3)
    score = "if grep -q nan left.txt; then echo nan; else " + SCORE + "; fi"
    halves.call("best-of", TASK, "-n", "2", "--agent", "mad", "--agent", "righty", "--score", score)
    assert halves.decisions() == {"root": "", "try-1": "rejected", "try-2": "chosen"}


def test_outside_git_it_works_on_copies(tmp_path: Path) -> None:
    halves = Halves(tmp_path / "no git here", in_git=False)
    try:
        two_halves(halves, "--synthesise", "union")
        assert halves.decisions()["union-1-2"] == "chosen"
        halves.call("best", "best-of", "-o", str(tmp_path / "best"))
        assert (tmp_path / "best" / "left.txt").read_text() == "left\n5\nend\n"
        assert "no branch" in halves.call("merge", "best-of", code=2).err
    finally:
        halves.end()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-n", "0", "--agent", "script"), "n is 0"),
        (("--agent", "nobody"), "nobody"),
        ((), "best-of asks agents, and none is named"),
        (("--agent", "script", "--synthesise", "union"), "needs a score"),
        (("--agent", "script", "--choose", "score"), "choose = score needs a score"),
        (("--agent", "script", "--direction", "min"), "there is no --score"),
        (("--agent", "script", "-n", "1", "--hint", "a", "--hint", "b"), "2 hints and 1 attempt:"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(
    halves: Halves, words: tuple[str, ...], message: str
) -> None:
    said = halves.call("best-of", TASK, *words, code=2)
    assert message in said.err
    assert not (halves.root / ".budwood" / "store.db").exists()


def test_what_is_compared_can_be_read_as_a_page_and_file_by_file(halves: Halves, tmp_path: Path) -> None:
    halves.agent("odd", "echo '<script>alert(1)</script>' > 'a & b.txt'")
    halves.setter("lefty", "left", 5)
    halves.call("best-of", TASK, "-n", "3", "--agent", "odd", "--agent", "lefty", "--score", SCORE, "--seed", "3")
    files = halves.call("compare", "best-of", "--diff").out
    assert "=== a & b.txt\n--- by try-1, try-3\ndiff --git" in files
    assert "=== left.txt\n--- by try-2\n" in files
    halves.call("compare", "best-of", "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "http" not in page
    assert "try-1, try-3" in page
    table = halves.call("compare", "best-of")
    assert table.out.splitlines()[0].split()[:3] == ["TASK", "STATE", "SCORE"]
    assert "only try-2 touched left.txt" in table.err
    some = json.loads(halves.call("compare", "best-of", "try-1", "try-2", "--json").out)
    assert list(some["files"]) == ["a & b.txt", "left.txt"]
    assert "exclude each other" in halves.call("compare", "best-of", "--json", "--diff", code=2).err


@pytest.mark.crash
def test_killed_before_its_first_event_it_is_not_listed_and_stands_in_nobodys_way(halves: Halves) -> None:
    halves.setter("lefty", "left", 5)
    words = ("best-of", TASK, "-n", "1", "--agent", "lefty", "--score", SCORE)
    victim = [sys.executable, "-m", "tests.workshop.victim", "0", *words]
    env = {**halves.env, "PYTHONPATH": str(Path(__file__).parents[2])}
    died = subprocess.run(victim, cwd=halves.root, env=env, capture_output=True, timeout=120, check=False)
    assert died.returncode == -signal.SIGKILL
    assert json.loads(halves.call("ls", "--json").out) == {"runs": []}
    assert "nothing of best-of was written, and it is not listed" in halves.call("resume", "best-of", code=2).err
    halves.call(*words)
    [run] = json.loads(halves.call("ls", "--json").out)["runs"]
    assert (run["name"], run["state"]) == ("best-of-2", "finished")
    assert halves.call("status").out.startswith("best-of-2")


def test_where_something_failed_in_a_search_only_the_best_is_offered_for_merging(halves: Halves) -> None:
    halves.setter("lefty", "left", 5)
    halves.agent("spoiler", "echo nonsense > left.txt; exit 3")
    said = halves.call("best-of", TASK, "-n", "2", "--agent", "lefty", "--agent", "spoiler", "--score", SCORE).err
    assert "budwood merge best-of merges the best; budwood review best-of shows what waits for a decision\n" in said
