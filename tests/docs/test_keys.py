"""Every key has its entry in the reference, and the entry says what the table says."""

import tomllib
from pathlib import Path

import pytest

from budwood.formats.aliases import YOKEFLOW_DEPENDENCY, YOKEFLOW_EPIC, YOKEFLOW_TASK, YOKEFLOW_TOP
from budwood.plans import LANE_KEYS, TASK_KEYS, PlanKey, parse_plan
from budwood.settings import KEYS, Key, Scope

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
PLAN_FILE = (ROOT / "docs/reference/plan-file.md").read_text(encoding="utf-8")
EVERY_KEY = tomllib.loads((ROOT / "examples/every-key.toml").read_text(encoding="utf-8"))
PLAN_KEYS = [("task", key) for key in TASK_KEYS.values()] + [("lane", key) for key in LANE_KEYS.values()]


def entry(page: str, heading: str) -> str:
    """Return what stands under a heading, or fail naming it."""
    _, found, rest = page.partition(f"\n### `{heading}`\n")
    assert found, f"no heading for {heading}"
    return rest.partition("\n#")[0]


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_every_setting_has_an_entry_that_agrees_with_the_table(key: Key) -> None:
    text = entry(SETTINGS, key.name)
    told = [
        key.doc,
        key.kind.wants,
        f"| default | {key.shown_default} |",
        f"`{key.name} = {key.example}`",
        f"`{key.env}`",
    ]
    told += [f"`{key.flag}`"] if key.flag else []
    assert [part for part in told if part not in text] == []


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_the_example_of_every_setting_is_a_value_that_it_takes(key: Key) -> None:
    key.kind.read(tomllib.loads(f"x = {key.example}")["x"])


@pytest.mark.parametrize(("table", "key"), PLAN_KEYS, ids=lambda given: getattr(given, "name", given))
def test_every_key_of_a_plan_has_an_entry_that_agrees_with_the_table(table: str, key: PlanKey) -> None:
    text = entry(PLAN_FILE, f"{table}.{key.name}")
    told = [key.doc, key.wants, f"| default | {key.default} |", f"`{key.name} = {key.example}`"]
    assert [part for part in told if part not in text] == []


@pytest.mark.parametrize("key", TASK_KEYS.values(), ids=lambda key: key.name)
def test_the_example_of_every_task_key_is_read(key: PlanKey, tmp_path: Path) -> None:
    if key.name == "prompt_file":
        file = tmp_path / tomllib.loads(f"x = {key.example}")["x"]
        file.parent.mkdir()
        file.write_text("Write the form.")
    head = "" if key.name == "id" else "id = 1\n"
    head += 'function = "m:f"\n' if key.name in ("args", "kwargs") else ""
    parse_plan(f"[[task]]\n{head}{key.name} = {key.example}\n".encode(), path="example", folder=tmp_path)


def test_no_heading_names_a_key_that_is_none() -> None:
    headings = {line[5:-1] for line in SETTINGS.splitlines() if line.startswith("### `")}
    assert headings == set(KEYS)
    headings = {line[5:-1] for line in PLAN_FILE.splitlines() if line.startswith("### `")}
    assert headings == {f"{table}.{key.name}" for table, key in PLAN_KEYS}


def test_the_page_of_the_plan_file_names_every_key_of_run_and_every_alias() -> None:
    run = [key.name for key in KEYS.values() if key.scope is not Scope.MACHINE]
    theirs = [row.theirs for row in (*YOKEFLOW_TASK, *YOKEFLOW_EPIC, *YOKEFLOW_DEPENDENCY, *YOKEFLOW_TOP)]
    assert [name for name in (*run, *theirs) if f"`{name}`" not in PLAN_FILE] == []


def test_the_example_has_every_key() -> None:
    assert set(EVERY_KEY["run"]) == {key.name for key in KEYS.values() if key.scope is not Scope.MACHINE}
    assert {name for task in EVERY_KEY["task"] for name in task} == set(TASK_KEYS)
    assert {name for lane in EVERY_KEY["lane"] for name in lane} == set(LANE_KEYS)
