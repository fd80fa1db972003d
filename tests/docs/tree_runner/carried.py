"""A run of the tree runner that there is: read, carried over, and written as one."""

import json

import pytest
from tests.docs.tree_runner.yard import PAGE, Yard
from tests.formats.tree_runner import TreeRun

from budwood.errors import UsageError
from budwood.formats.tree_reading import read_manifest


@PAGE.tries(
    "`manifest_version` 3",
    "`*_provenance` with `sha256`",
    "`idea_path`, `node_ideas`",
    "paths of another machine, backslashes, byte order marks",
    "`events`, `conversations`, logs, `deferred_cleanup`",
)
def of_reading(yard: Yard) -> None:
    run = TreeRun(yard.grove.root.parent / "runs")
    run.evaluation(1, 0, "a", worth=1)
    found = read_manifest(run.write())
    assert (found.evaluations[0].text, found.evaluations[0].problems) == ("worth 1\n", ())
    assert not {"events", "conversations"} & set(type(found).__dataclass_fields__)
    run.here(run.evaluations[0]["candidate_results_csv_path"]).write_text("score\n99\n")
    assert "is not what it was" in read_manifest(run.write()).evaluations[0].problems[0]
    run.evaluations[0]["idea_provenance"] = {"copied_to_path": run.evaluations[0]["idea_path"], "sha256": "0"}
    with pytest.raises(UsageError, match=r"idea: .* is not what it was"):
        read_manifest(run.write())
    run.version = 2
    with pytest.raises(UsageError, match="manifest_version 2"):
        read_manifest(run.write())


@PAGE.tries(
    "`evaluations` that are `completed`",
    "`evaluations` that are `failed`",
    "`evaluations` that are `failed`, with the `error_type` `cancelled` or `skipped`",
    "`evaluations` that are `queued` or `running`",
    "`candidate_commit`, `candidate_ref_name`, `commit` of nodes",
    "`candidate_results_csv_path`, `baseline_results_csv_path`",
    "`decision`",
    "a depth that was decided before all of it had ended",
    "ids of evaluations",
)
def of_importing(yard: Yard) -> None:
    grove = yard.grove
    run = TreeRun(grove.root.parent / "imported", grove)
    run.evaluation(1, 0, "a", worth=1, promoted=1)
    run.evaluation(2, 0, "b", state="failed")
    run.evaluation(3, 0, "c", state="running")
    run.evaluation(4, 0, "d", state="completed", worth=5, strict_completeness=False)
    run.evaluation(5, 0, "e", state="failed", error_payload={"error_type": "cancelled"})
    run.evaluation(6, 0, "f", state="failed", error_payload={"error_type": "skipped", "because": "0002"})
    yard.planned({"name": "imported", "score": "awk '{ s += $1 } END { print s }' base"}, {"max_depth": 1})
    words = ("store", "import-manifest", str(run.write()), "--plan", "try.toml", "--store", "imported.db")
    said = json.loads(grove.call(*words, "--json").out)
    assert (said["done"], said["failed"], said["requeued"]) == (2, 1, ["d1-e0003"])
    assert (said["cancelled"], said["skipped"]) == (1, 1)
    assert said["numbers"]["0003"] == "d1-e0003"
    assert "depth 1 was decided there before 0003 had ended" in said["notes"][0]
    nodes = {
        node["id"]: node for node in json.loads(grove.call("tree", "--store", "imported.db", "--json").out)["nodes"]
    }
    assert (nodes["d1-e0001"]["score"]["value"], nodes["d1-e0004"]["score"]["valid"]) == (11, False)
    assert (nodes["d1-e0005"]["state"], nodes["d1-e0006"]["state"]) == ("cancelled", "skipped")
    kept = grove.git("for-each-ref", "--format=%(objectname)", f"refs/budwood/imported-{said['run']}/").split()
    assert run.evaluations[0]["candidate_commit"] in kept
    run.evaluations[2] = {**run.evaluations[2], "task_state": "failed"}
    run.evaluations[3]["strict_completeness"] = True
    words = ("store", "import-manifest", str(run.write()), "--plan", "try.toml", "--store", "another.db")
    assert "evaluation 0001 was promoted there, and by the plan is pruned" in grove.call(*words, code=2).err
    run.evaluations[3]["candidate_commit"] = "f" * 40
    run.write()
    assert f"commit {'f' * 40}, is not in " in grove.call(*words, code=2).err


@PAGE.tries("`budwood store export RUN --manifest FILE`")
def of_exporting(yard: Yard) -> None:
    file = yard.grove.root.parent / "exported" / "manifest.json"
    yard.grove.call("store", "export", "plan", "--manifest", str(file))
    found = read_manifest(file)
    assert [(one.id, one.state, one.promoted_to) for one in found.evaluations if one.depth == 1] == [
        ("0001", "completed", "0001"),
        ("0002", "failed", None),
    ]
    assert found.evaluations[0].results is not None
