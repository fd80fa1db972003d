"""A beam that is written as a manifest and read back: the same decisions, and the same end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.search.grove import Grove

pytestmark = pytest.mark.slow

OTHER = "other.db"


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Grove]:
    made = Grove(tmp_path / "project", flaky=True)
    try:
        yield made
    finally:
        made.end()


def decisions(grove: Grove, *more: str) -> str:
    return grove.call("show", "plan", "--decisions", *more).out


def there_and_back(grove: Grove) -> dict[str, object]:
    """Write the run as a manifest, and read that into another store."""
    file = grove.root.parent / "exported" / "manifest.json"
    grove.call("store", "export", "plan", "--manifest", str(file))
    said = grove.call("store", "import-manifest", str(file), "--plan", "plan.toml", "--store", OTHER, "--json")
    found: dict[str, object] = json.loads(said.out)
    return found


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
