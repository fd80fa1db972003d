"""Runs of the tree runner that go on here: nothing that was completed is repeated, nothing is stranded."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.world import Said
from tests.docs.test_commands import OF_MANIFESTS, json_samples
from tests.formats.tree_runner import TreeRun
from tests.search.grove import Grove

from budwood._core.model import TaskPhase

pytestmark = pytest.mark.slow


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Grove]:
    made = Grove(tmp_path / "project")
    made.ideas(z="worth 0.5")
    made.beam(options={"beam_width": 2, "max_depth": 2}, retries=2)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def run(tmp_path: Path, grove: Grove) -> TreeRun:
    """Two of four were promoted; at the next depth there is one of every kind."""
    made = TreeRun(tmp_path / "runs", grove)
    made.evaluation(1, 0, "a", worth=1, promoted=1)
    made.evaluation(2, 0, "b", state="failed")
    made.evaluation(3, 0, "c", worth=3, promoted=2)
    made.evaluation(4, 0, "d", worth=-1)
    made.evaluation(5, 1, "c", worth=3)
    made.evaluation(6, 1, "d", state="running", worth=2)
    made.evaluation(7, 2, "e", state="failed")
    made.evaluation(8, 2, "f", state="queued", worth=1)
    made.completed_depths = [0]
    return made


def take_in(grove: Grove, run: TreeRun, *more: str, code: int = 0) -> Said:
    return grove.call("store", "import-manifest", str(run.write()), "--plan", "plan.toml", *more, code=code)


def phases(grove: Grove) -> dict[str, str]:
    return {str(task.spec.id): task.phase.value for task in grove.state().tasks}


def test_what_ended_there_has_ended_here_and_the_rest_is_done(grove: Grove, run: TreeRun) -> None:
    before = grove.belongings()
    said = take_in(grove, run)
    assert "run plan imported: 4 done, 2 failed, 2 to be done" in said.err
    assert phases(grove) == {
        "root": "done",
        "d1-e0001": "done",
        "d1-e0002": "failed",
        "d1-e0003": "done",
        "d1-e0004": "done",
        "d2-e0005": "done",
        "d2-e0006": "ready",
        "d2-e0007": "failed",
        "d2-e0008": "ready",
    }
    state = grove.state()
    assert state.settings.workspace is not None
    assert state.settings.workspace.base == run.nodes[0]["commit"]
    assert [(task.score.value, task.tries) for task in state.tasks if task.score is not None] == [
        (10, 1),
        (11, 1),
        (13, 1),
        (9, 1),
        (14, 1),
    ]
    assert (state.task("d1-e0002").tries, state.task("d1-e0002").error_type) == (2, "subprocess")
    judged = [(j.task, j.decision, j.why) for j in grove.judged()]
    assert judged == [
        ("root", "promoted", ""),
        ("d1-e0001", "promoted", ""),
        ("d1-e0002", "rejected", "its task failed: subprocess"),
        ("d1-e0003", "promoted", ""),
        ("d1-e0004", "rejected", "score is 9, its parent's 10"),
    ]
    assert grove.call("store", "verify").code == 0
    assert json.loads(grove.call("tree", "--validate", "--json").out)["problems"] == []
    assert "run plan was here already; nothing is changed" in take_in(grove, run).err

    grove.call("resume", "plan", "--slots", "2")
    assert set(grove.ledger.read_text().splitlines()) == {"d2-e0006 1", "d2-e0008 1"}
    state = grove.state()
    assert (state.end_reason, state.counts[TaskPhase.DONE]) == ("max_depth", 7)
    assert grove.promoted()[-2:] == ["d2-e0005", "d2-e0008"]
    assert grove.git("show", f"{grove.end_of('d2-e0008').left.candidate}:worth/c.md") == "3"  # type: ignore[union-attr]
    assert json.loads(grove.call("tree", "--validate", "--json").out)["problems"] == []
    after = grove.belongings()
    assert {name: after[name] for name in before} == before


def test_what_was_stranded_at_depth_0_is_done_and_counts(tmp_path: Path, grove: Grove) -> None:
    run = TreeRun(tmp_path / "runs", grove)
    run.evaluation(1, 0, "a", worth=1, promoted=1)
    run.evaluation(2, 0, "b", state="running", worth=4)
    run.evaluation(3, 0, "c", state="queued", worth=3)
    run.evaluation(4, 0, "d", state="queued", worth=-1)
    run.completed_depths = [0]
    grove.beam(options={"beam_width": 2, "max_depth": 1})
    said = take_in(grove, run, "--json")
    [sample] = [sample for line, sample in json_samples() if line.startswith(OF_MANIFESTS)]
    assert isinstance(sample, dict)
    assert list(sample) == list(json.loads(said.out))
    assert json.loads(said.out)["requeued"] == ["d1-e0002", "d1-e0003", "d1-e0004"]
    assert "depth 1 was decided there before 0002, 0003, 0004 had ended: it is decided when they have" in said.err
    grove.call("resume", "plan")
    assert grove.promoted() == ["root", "d1-e0002", "d1-e0003"]
    assert len(grove.ledger.read_text().splitlines()) == 3


def test_artefacts_that_are_gone_are_named_and_may_be_made_again(grove: Grove, run: TreeRun) -> None:
    run.here(run.evaluations[4]["candidate_results_csv_path"]).unlink()
    said = take_in(grove, run, code=2)
    assert "evaluation 0005: candidate_results_csv: " in said.err
    assert "0005\\results.csv is not there" in said.err
    assert "--missing-ok" in said.err
    assert not grove.git("for-each-ref", "refs/budwood/")
    said = take_in(grove, run, "--missing-ok")
    assert "evaluation 0005 is done again: " in said.err
    assert phases(grove)["d2-e0005"] == "ready"


def test_what_others_rest_on_is_not_made_again(grove: Grove, run: TreeRun) -> None:
    run.here(run.evaluations[3]["candidate_results_csv_path"]).write_text("score\n99\n")
    assert "evaluation 0004: candidate_results_csv: " in take_in(grove, run, code=2).err
    said = take_in(grove, run, "--missing-ok", code=2)
    assert "evaluation 0005 grew from what was promoted at depth 1, where 0004 had not ended" in said.err
    assert "no run" in grove.call("show", "plan", code=2).err


def test_a_commit_that_is_not_there_is_named(grove: Grove, run: TreeRun) -> None:
    run.evaluations[4]["candidate_commit"] = "c" * 40
    said = take_in(grove, run, code=2).err
    assert f"evaluation 0005: its candidate, commit {'c' * 40}, is not in " in said


def test_a_decision_that_the_plan_would_not_make_is_refused(grove: Grove, run: TreeRun) -> None:
    grove.beam(options={"beam_width": 1, "max_depth": 2})
    assert (
        "evaluation 0001 was promoted there, and by the plan is pruned: place 2 of 2" in take_in(grove, run, code=2).err
    )
    grove.beam(options={"beam_width": 2, "max_depth": 1})
    assert (
        "evaluation 0005 is at depth 2, and by this plan the search ended before: max_depth"
        in take_in(grove, run, code=2).err
    )
    plan = grove.root / grove.beam(options={"beam_width": 2, "max_depth": 2}, score="")
    plan.write_text(plan.read_text().replace('score = ""', 'score = { run = "true", results = "r.csv", rows = 3 }'))
    assert "the search ended before: root_failed" in take_in(grove, run, code=2).err


def test_a_plan_that_is_no_beam_is_refused(grove: Grove, run: TreeRun) -> None:
    grove.plan('[[task]]\nid = "a"\nprompt = "x"\nagent = "worker"\n')
    said = take_in(grove, run, code=2).err
    assert "a manifest goes on as a beam, and the plan's strategy is plan" in said


def test_ideas_that_were_thought_of_are_not_asked_for_again(tmp_path: Path, grove: Grove) -> None:
    run = TreeRun(tmp_path / "runs", grove)
    run.evaluation(1, 0, "a", worth=1, promoted=1)
    waiting = run.evaluation(2, 1, "next", state="queued", worth=2)["idea_path"]
    run.evaluations.pop()
    run.nodes[1]["generated_idea_files"] = [waiting]
    plan = grove.root / grove.beam(options={"idea_agent": "worker", "max_depth": 2})
    plan.write_text(plan.read_text().replace('ideas = "ideas"\n', ""))
    take_in(grove, run)
    assert phases(grove) == {
        "root": "done",
        "root-ideas": "done",
        "d1-e0001": "done",
        "d1-e0001-ideas": "done",
    }
    grove.call("resume", "plan")
    assert phases(grove)["d2-e0002"] == "done"
    assert grove.state().task("d2-e0002").spec.prompt == "worth 2\n"
    assert grove.ledger.read_text() == "d2-e0002 1\n"
