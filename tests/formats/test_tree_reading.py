"""The manifest of the tree runner: what is read, and what is refused by name."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.formats.tree_runner import TreeRun

from budwood.errors import UsageError
from budwood.formats.tree_reading import read_manifest


def made(folder: Path) -> TreeRun:
    run = TreeRun(folder)
    run.evaluation(1, 0, "a", worth=1, promoted=1)
    run.evaluation(2, 0, "b", state="failed")
    run.evaluation(3, 1, "a", state="running")
    run.evaluation(4, 1, "c", state="queued")
    run.completed_depths = [0]
    return run


def test_it_is_read_with_its_folder_wherever_that_lies_now(tmp_path: Path) -> None:
    found = read_manifest(made(tmp_path).write())
    assert (found.run, found.root.id, list(found.nodes)) == ("night", "0000", ["0000", "0001"])
    assert [(one.id, one.node, one.depth, one.state, one.tries) for one in found.evaluations] == [
        ("0001", "0000", 1, "completed", 1),
        ("0002", "0000", 1, "failed", 2),
        ("0003", "0001", 2, "running", 0),
        ("0004", "0001", 2, "queued", 0),
    ]
    first, second, *_ = found.evaluations
    assert (first.idea, first.text, first.promoted_to) == ("0000/a.md", "worth 1\n", "0001")
    assert first.results == tmp_path / "night/eval/0001/results.csv"
    assert (first.started_at_ms, first.problems, first.complete) == (1770372060000, (), True)
    assert second.failure is not None
    assert (second.failure.error_type, second.failure.message) == ("subprocess", "exit code 3")
    assert (found.is_decided(1), found.is_decided(2)) == (True, False)


def test_nodes_and_evaluations_may_be_tables_or_lists(tmp_path: Path) -> None:
    run = made(tmp_path)
    as_table = read_manifest(run.write())
    run.listed = True
    assert read_manifest(run.write()) == as_table


@pytest.mark.parametrize(("version", "said"), [(1, "1"), (2, "2"), (4, "4"), ("3", "'3'"), (True, "True")])
def test_another_version_is_refused_by_name(tmp_path: Path, version: object, said: str) -> None:
    run = made(tmp_path)
    run.version = version
    with pytest.raises(UsageError, match=f"manifest_version {said}; version 3 can be read"):
        read_manifest(run.write())


def no_version(run: TreeRun) -> None:
    run.version = None


def unknown_state(run: TreeRun) -> None:
    run.evaluations[2]["task_state"] = "paused"


def no_node(run: TreeRun) -> None:
    run.evaluations[2]["parent_node_id"] = "0009"


def same_idea(run: TreeRun) -> None:
    run.evaluations[3]["idea_path"] = run.evaluations[2]["idea_path"]


def same_number(run: TreeRun) -> None:
    run.nodes[1]["node_id"] = "0007"


def no_commit(run: TreeRun) -> None:
    run.nodes[0]["commit"] = None


def two_roots(run: TreeRun) -> None:
    run.nodes.append({**run.nodes[0], "node_id": "0008"})


def lost_idea(run: TreeRun) -> None:
    run.here(run.evaluations[3]["idea_path"]).unlink()


def empty_idea(run: TreeRun) -> None:
    run.here(run.evaluations[3]["idea_path"]).write_text(" \n")


def edited_idea(run: TreeRun) -> None:
    run.evaluations[3]["idea_provenance"] = {"copied_to_path": run.evaluations[3]["idea_path"], "sha256": "0" * 64}


def lost_baseline(run: TreeRun) -> None:
    run.here(run.nodes[0]["baseline_results_csv_path"]).unlink()


def grown_from_itself(run: TreeRun) -> None:
    run.nodes[1]["parent_node_id"] = "0001"


def failed_and_promoted(run: TreeRun) -> None:
    run.evaluations[0]["task_state"] = "failed"


def no_text(run: TreeRun) -> None:
    run.evaluations[0]["idea_path"] = 5


REFUSED: dict[Callable[[TreeRun], None], str] = {
    no_version: "has no manifest_version",
    unknown_state: "evaluation 0003 is 'paused', which is no state that is known",
    no_node: "evaluation 0003 tries an idea at node 0009, and there is no such node",
    same_idea: "evaluation 0004 tries 0001/a.md at node 0001, and another does, too",
    same_number: "evaluation 0003 tries an idea at node 0001, and there is no such node",
    no_commit: "node 0000 has no commit",
    two_roots: "has 2 nodes without a parent",
    lost_idea: r"node_ideas\\0001\\c.md is not there",
    empty_idea: r"node_ideas\\0001\\c.md is empty",
    edited_idea: "evaluation 0004: idea: .* is not what it was: its sha256 was 0000",
    lost_baseline: r"node 0000: its results .*0000.csv are not there",
    grown_from_itself: "node 0001 grew from itself",
    failed_and_promoted: "evaluation 0001 became node 0001, and is failed",
    no_text: "evaluation 0001: Expected `str`, got `int`",
}


@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change.__name__)
def test_what_decisions_rest_on_must_be_there(tmp_path: Path, change: Callable[[TreeRun], None]) -> None:
    run = made(tmp_path)
    change(run)
    with pytest.raises(UsageError, match=REFUSED[change]):
        read_manifest(run.write())


def test_artefacts_that_are_gone_or_changed_are_named(tmp_path: Path) -> None:
    run = made(tmp_path)
    other = run.evaluation(5, 0, "d", worth=2)
    run.here(run.evaluations[0]["candidate_results_csv_path"]).unlink()
    run.here(other["candidate_results_csv_path"]).write_text("config,score\na,99\n")
    found = {one.id: one.problems for one in read_manifest(run.write()).evaluations}
    gone, changed = found["0001"][0], found["0005"][0]
    assert gone.startswith("candidate_results_csv: C:\\work")
    assert gone.endswith("results.csv is not there")
    assert "0005\\results.csv is not what it was: its sha256 was " in changed


def test_what_is_not_complete_is_told(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.evaluations[0]["strict_completeness"] = {"all_rows_present": False, "all_rows_ok": True}
    assert not read_manifest(run.write()).evaluations[0].complete


@pytest.mark.parametrize("text", ["", "{", "[]", '{"manifest_version": 3}'])
def test_what_is_no_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UsageError, match=r"manifest\.json"):
        read_manifest(tmp_path / "manifest.json")
