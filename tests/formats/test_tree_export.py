"""A beam that is written as a manifest and read back: the same decisions, and the same end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.formats.there_and_back import OTHER, cancel_when, decisions, states, there_and_back
from tests.search.grove import Grove

pytestmark = pytest.mark.slow


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Grove]:
    with Grove(tmp_path / "project", flaky=True) as made:
        yield made


def test_a_finished_one(grove: Grove) -> None:
    grove.ideas(a="worth 1", b="never succeed", c="worth 3")
    grove.beam(options={"max_depth": 2}, retries=1)
    grove.call("run", "plan.toml")
    found = there_and_back(grove)
    assert (found["created"], found["requeued"], found["failed"]) == (True, [], 2)
    assert decisions(grove, "--store", OTHER) == decisions(grove)
    ran = grove.ledger.read_text()
    grove.call("resume", "plan", "--store", OTHER)
    assert grove.ledger.read_text() == ran
    assert decisions(grove, "--store", OTHER) == decisions(grove)
    assert json.loads(grove.call("tree", "plan", "--store", OTHER, "--validate", "--json").out)["problems"] == []
    shown = json.loads(grove.call("tree", "plan", "--store", OTHER, "--json").out)
    assert (shown["state"], shown["reason"], shown["best"]) == ("finished", "max_depth", "d2-e0004")


def test_one_of_which_an_evaluation_was_cancelled(grove: Grove) -> None:
    grove.ideas(a="worth 1", b="hang at depth 1, worth 2")
    grove.beam(options={"max_depth": 2}, slots=2)
    cancel_when(grove, "d1-e0002 1", "d1-e0002")
    assert states(grove)["d1-e0002"] == ("cancelled", None)
    found = there_and_back(grove)
    assert (found["cancelled"], found["requeued"]) == (1, [])
    assert states(grove, "--store", OTHER) == states(grove)
    assert decisions(grove, "--store", OTHER) == decisions(grove)
    assert json.loads(grove.call("tree", "plan", "--store", OTHER, "--validate", "--json").out)["problems"] == []


def test_one_that_was_given_up_stays_so_until_somebody_retries_it(grove: Grove) -> None:
    grove.ideas(a="worth 1", b="hang at depth 1, worth 2", c="worth 3")
    grove.beam(options={"max_depth": 2})
    cancel_when(grove, "d1-e0002 1")
    assert (states(grove)["run"], states(grove)["d1-e0003"]) == ("cancelled", ("cancelled", None))
    found = there_and_back(grove)
    assert (found["done"], found["cancelled"], found["requeued"]) == (1, 2, [])
    assert states(grove, "--store", OTHER) == states(grove)
    assert decisions(grove, "--store", OTHER) == decisions(grove)
    assert "was cancelled" in grove.call("resume", "plan", "--store", OTHER, code=2).err


def test_one_that_a_failure_stopped(grove: Grove) -> None:
    grove.ideas(a="never succeed", b="worth 2", c="worth 3")
    grove.beam(options={"max_depth": 2}, strict=True)
    grove.call("run", "plan.toml", code=1)
    assert states(grove)["d1-e0003"] == ("skipped", "d1-e0001")
    found = there_and_back(grove)
    assert (found["failed"], found["skipped"], found["requeued"]) == (1, 2, [])
    assert states(grove, "--store", OTHER) == states(grove)
    assert decisions(grove, "--store", OTHER) == decisions(grove)
    grove.call("resume", "plan", "--store", OTHER, code=1)
    assert states(grove, "--store", OTHER) == states(grove)


def test_one_whose_root_has_no_score_is_refused_by_name(grove: Grove) -> None:
    grove.ideas(a="worth 1")
    grove.beam(score="exit 1")
    grove.call("run", "plan.toml", code=1)
    said = grove.call("store", "export", "plan", "--manifest", str(grove.root.parent / "no" / "manifest.json"), code=2)
    assert "the root of run plan is failed, and a manifest's root has been measured" in said.err
    assert (
        "store export plan --manifest DIR/manifest.json"
        in grove.call("store", "export", "plan", "--manifest", code=2).err
    )


def test_where_it_cannot_be_written_is_said(grove: Grove) -> None:
    grove.ideas(a="worth 1")
    grove.beam(options={"max_depth": 1})
    grove.call("run", "plan.toml")
    place = grove.root / "base" / "manifest.json"  # `base` is a file
    said = grove.call("store", "export", "plan", "--manifest", str(place), code=2).err
    assert "cannot be written" in said


def test_one_that_is_half_way_goes_on_to_the_same_end(grove: Grove) -> None:
    grove.ideas(a="worth 1", b="worth -1", c="worth 3")
    grove.beam(options={"beam_width": 2, "max_depth": 2, "one_depth": True, "per_node": 1}, retries=1)
    grove.call("run", "plan.toml", code=4)
    there_and_back(grove)
    assert decisions(grove, "--store", OTHER) == decisions(grove)
    grove.call("resume", "plan")
    grove.call("resume", "plan", "--store", OTHER)
    assert decisions(grove, "--store", OTHER) == decisions(grove)
    assert json.loads(grove.call("tree", "plan", "--store", OTHER, "--validate", "--json").out)["problems"] == []
