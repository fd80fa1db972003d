"""`budwood config`: every key, its value, and where that comes from."""

from pathlib import Path

import pytest
from tests.support.program import call, in_terminal

from budwood.settings import KEYS, TABLES


def values(*flags: str, cwd: Path) -> dict[str, dict[str, object]]:
    settings = call("config", "show", "--json", *flags, cwd=cwd).json["settings"]
    assert isinstance(settings, dict)
    return settings


def test_every_key_is_shown_with_its_default(tmp_path: Path) -> None:
    assert list(values(cwd=tmp_path)) == list(KEYS)
    lines = call("config", "show", cwd=tmp_path).out.splitlines()
    assert len(lines) == len(KEYS) + 1
    assert lines[0].split() == ["KEY", "VALUE"]
    assert ["slots", "all", "cores;"] in [line.split()[:3] for line in lines]


def test_the_strongest_layer_wins_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "budwood.toml").write_text("[run]\nslots = 3\nretries = 2\nseed = 5\n")
    (tmp_path / "plan.toml").write_text('[run]\nretries = 7\n[[task]]\nid = 1\nrun = "x"\n')
    monkeypatch.setattr("tests.support.program._environment", lambda: {"BUDWOOD_SEED": "9", "XDG_CONFIG_HOME": "/none"})
    shown = values("--plan", "plan.toml", cwd=tmp_path)
    assert shown["slots"] == {"value": 3, "origin": str(tmp_path / "budwood.toml")}
    assert shown["retries"] == {"value": 7, "origin": "plan.toml"}
    assert shown["seed"] == {"value": 9, "origin": "BUDWOOD_SEED"}
    assert shown["strict"] == {"value": False, "origin": "default"}
    table = call("config", "show", "--origin", cwd=tmp_path).out
    assert [line.split() for line in table.splitlines() if line.startswith("seed")] == [["seed", "9", "BUDWOOD_SEED"]]


def test_a_wrong_key_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "budwood.toml").write_text("[run]\nslotz = 3\n")
    ran = call("config", "show", cwd=tmp_path)
    assert ran.code == 2
    assert "slotz" in ran.err
    assert "did you mean 'slots'?" in ran.err


def test_keys_are_explained(tmp_path: Path) -> None:
    keys = call("config", "keys", "--json", cwd=tmp_path).json["keys"]
    assert isinstance(keys, list)
    tables = [(table, name) for table, known in TABLES.items() for name in known]
    assert [key["key"] for key in keys] == [*KEYS, *(name for _, name in tables)]
    assert [(key["table"], key["key"]) for key in keys if key["table"] not in ("run", "machine")] == tables
    assert keys[3] == {
        "key": "slots",
        "table": "run",
        "takes": KEYS["slots"].kind.wants,
        "default": "all cores; with agents 3, in a beam 1",
        "variable": "BUDWOOD_SLOTS",
        "flag": "--slots",
        "meaning": "How many attempts run at once.",
    }
    assert (
        "slots (default: all cores; with agents 3, in a beam 1)\n  How many attempts run at once.\n"
        in call("config", "keys", cwd=tmp_path).out
    )
    assert "\nmodel_rule.match (default: must be given)\n" in call("config", "keys", cwd=tmp_path).out
    shown = in_terminal("config", "keys", cwd=tmp_path, env={"NO_COLOR": "1"})[1]
    assert max(map(len, shown.splitlines())) <= 80


def test_what_tables_of_agents_set_is_shown_with_its_origin(tmp_path: Path) -> None:
    (tmp_path / "budwood.toml").write_text(
        '[agents.local]\nagent = "model"\nbase_url = "https://host/v1?key=hunter2"\n'
        '[prices."m.1"]\ninput_per_million = 1\noutput_per_million = 2\n'
        '[[model_rule]]\nmatch = "x"\nmodel = "m.1"\n'
    )
    shown = values(cwd=tmp_path)
    assert list(shown)[len(KEYS) :] == ["agents.local.agent", "agents.local.base_url", "model_rule", "prices.m.1"]
    assert shown["agents.local.base_url"] == {"value": "https://host/v1", "origin": str(tmp_path / "budwood.toml")}
    table = call("config", "show", "--origin", cwd=tmp_path).out
    assert "hunter2" not in table
    rows = [line.split() for line in table.splitlines() if line.startswith("agents.local.agent")]
    assert rows == [["agents.local.agent", "model", str(tmp_path / "budwood.toml")]]
