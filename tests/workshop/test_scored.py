"""Candidates that are scored: what is kept, what fails, and what is not done again after a kill."""

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.cases import at_length
from tests.workshop.reviewing import began, plan
from tests.workshop.site import Site, do, task

from budwood._core.events import AttemptScoring
from budwood._core.model import AttemptPhase

__all__ = ["began"]
SCORE = "wc -c < made.txt"


def made(text: str) -> tuple[dict[str, object], ...]:
    """Say what the script agent does: it leaves word outside that it did so, and makes a file."""
    return (
        do("run", command='echo "$BUDWOOD_TASK" >> "$BEGAN"'),
        do("write", path="made.txt", text=text),
    )


def held(gate: Path) -> str:
    """Score once the test lets it; until then a file tells who scores."""
    return f"echo $PPID $$ >> '{gate}.pids'; until [ -e '{gate}' ]; do sleep 0.02; done; {SCORE}"


def test_what_a_score_command_leaves_is_no_part_of_the_candidate(site: Site, began: Path) -> None:
    file = plan(site, task("a", made("123")), score=f"echo spoilt >> README.md; echo row > rows.csv; {SCORE}")
    before = site.belongings()
    site.call("run", file)
    end = site.end_of("a")
    assert end.score is not None
    assert (end.score.value, end.score.metrics, end.score.valid) == (3.0, {"score": 3.0}, True)
    assert "rows.csv" not in site.candidate(end)
    assert site.restored(end)["README.md"] == b"a project\n"
    assert end.left is not None
    assert site.git("show", f"{end.left.ref}.score:rows.csv") == "row"
    assert [event for event in site.events() if isinstance(event, AttemptScoring)] == [
        AttemptScoring(task="a", attempt=1)
    ]
    assert site.belongings() == before
    assert site.call("review", "plan").out.splitlines()[1].split()[:3] == ["a", "succeeded", "3"]
    [waiting] = json.loads(site.call("review", "plan", "--json").out)["waiting"]
    assert (waiting["score"]["value"], waiting["branch"]) == (3.0, "task-a")


def test_the_same_content_is_scored_once(site: Site, began: Path) -> None:
    count = site.root.parent / "count"
    tables = (task("a", made("12")), task("b", made("12")), task("c", made("1")))
    site.call("run", plan(site, *tables, score=f"echo x >> '{count}'; {SCORE}", slots=1))
    assert [end.score.value for end in site.ends() if end.score is not None] == [2.0, 2.0, 1.0]
    assert count.read_text() == "x\nx\n"


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("exit 3", "score failed: exit code 3"),
        ({"run": "sleep 60", "timeout": "300ms"}, "score took more than 0.3 s"),
        ({"run": SCORE, "at_least": 9}, "its score is not valid: score is 2, and at least 9 is wanted"),
        ({"run": "kill -9 $PPID; sleep 60"}, "the scoring program ended: ended by signal SIGKILL"),
        *at_length(
            ("echo fine", "score: its last line is no number"),
            ("echo 1; echo 2", "score: it printed 2 numbers"),
            ("true", "score: it printed nothing"),
            ("echo nan", "its score is not valid: score is nan"),
            ({"run": SCORE, "results": "none.csv"}, "score: its results file cannot be read"),
        ),
    ],
)
def test_what_is_not_scored_has_not_succeeded(site: Site, began: Path, score: object, message: str) -> None:
    file = plan(site, task("a", made("12"), score=score))
    site.call("run", file, code=1)
    end = site.end_of("a")
    assert end.error is not None
    assert (end.error.type, end.phase) == ("score", AttemptPhase.FAILED)
    assert message in end.error.message
    assert end.left is not None
    assert "made.txt" in site.candidate(end)


def test_a_driver_that_is_killed_while_something_is_scored_repeats_nothing(site: Site, began: Path) -> None:
    gate = site.root.parent / "gate"
    file = plan(site, task("a", made("123")), score=held(gate))
    driver = site.start("run", file)
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the score")
    driver.kill()
    driver.communicate()
    gate.touch()
    site.call("run", file)
    end = site.end_of("a")
    assert end.score is not None
    assert (end.attempt, end.score.value) == (1, 3.0)
    assert began.read_text() == "a\n"
    assert len(Path(f"{gate}.pids").read_text().splitlines()) == 1


def test_a_score_that_ended_while_nobody_drove_is_taken(site: Site, began: Path) -> None:
    gate = site.root.parent / "gate"
    file = plan(site, task("a", made("123")), score=held(gate))
    driver = site.start("run", file)
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the score")
    driver.kill()
    driver.communicate()
    gate.touch()
    run = next(iter((site.root / ".budwood" / "runs").iterdir()))
    wait_for(lambda: list(run.glob("attempts/*.score1/result.json")), what="the end of the score")
    site.call("run", file)
    assert [(end.attempt, end.phase) for end in site.ends()] == [(1, AttemptPhase.SUCCEEDED)]
    assert began.read_text() == "a\n"
    assert len(Path(f"{gate}.pids").read_text().splitlines()) == 1


@pytest.mark.parametrize("torn", [None, b"{"])
def test_what_was_kept_is_known_by_its_ref_if_the_word_of_it_is_lost(
    site: Site, began: Path, torn: bytes | None
) -> None:
    gate = site.root.parent / "gate"
    file = plan(site, task("a", made("123")), score=f"echo spoilt >> README.md; {held(gate)}")
    driver = site.start("run", file)
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the score")
    driver.kill()
    driver.communicate()
    [word] = (site.root / ".budwood" / "runs").glob("*/attempts/0.1/kept.json")
    word.unlink()
    if torn is not None:
        word.write_bytes(torn)
    gate.touch()
    site.call("run", file)
    end = site.end_of("a")
    assert (end.attempt, began.read_text()) == (1, "a\n")
    assert end.left is not None
    assert site.git("show", f"{end.left.tree}:README.md") == "a project"


def test_a_score_that_was_lost_with_its_supervisor_is_taken_again(site: Site, began: Path) -> None:
    gate = site.root.parent / "gate"
    file = plan(site, task("a", made("123")), score=held(gate))
    driver = site.start("run", file)
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the score")
    program = int(Path(f"{gate}.pids").read_text().split()[0])
    supervisor = int(Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    wait_for(lambda: len(Path(f"{gate}.pids").read_text().splitlines()) == 2, what="the second score")
    gate.touch()
    assert site.finish(driver).code == 0
    end = site.end_of("a")
    assert end.score is not None
    assert (end.attempt, end.score.value, began.read_text()) == (1, 3.0, "a\n")


def test_what_is_cancelled_while_it_is_scored_is_kept(site: Site, began: Path) -> None:
    gate = site.root.parent / "gate"
    driver = site.start("run", plan(site, task("a", made("123")), score=held(gate)))
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the score")
    site.call("cancel", "plan", "a")
    site.finish(driver)
    end = site.end_of("a")
    assert end.phase is AttemptPhase.CANCELLED
    assert site.restored(end)["made.txt"] == b"123"


def test_what_is_scored_needs_a_workspace(site: Site) -> None:
    file = site.plan('[run]\nworkspace = "none"\nscore = "echo 1"\n', '[[task]]\nid = "a"\nrun = "true"\n')
    assert "what is scored is made in workspaces" in site.call("run", file, code=2).err


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ({"runs": "x"}, "unknown key 'runs' in score; did you mean"),
        ({"direction": "min"}, "score has either a run of its own or stages"),
        ({"run": "x", "stages": [{"run": "y"}]}, "score has either a run of its own or stages"),
        ({"stages": []}, "stages of score takes a list of tables"),
        ({"stages": [{"name": "x"}]}, "stage 1 of score has no run"),
        ({"run": "x", "direction": "up"}, "Invalid enum value 'up'"),
        ({"run": "x", "repeats": 0}, "repeats of score is 0"),
        ({"run": "x", "timeout": "soon"}, "timeout of score is 'soon'"),
        ({"run": "x", "rows": 3}, "rows of score is about a results file"),
        ({"run": "x", "sweep": ["a", "a"]}, "sweep of score has a setting twice"),
        ({"run": "x", "metrics": {"a": {"wight": 1}}}, "unknown key 'wight' in metric a of score"),
        ("", "has no run"),
    ],
)
def test_a_score_that_cannot_be_is_refused(site: Site, score: object, message: str) -> None:
    assert message in site.call("run", plan(site, task("a", made("1"), score=score)), code=2).err
