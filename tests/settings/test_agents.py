"""Tables of agents: each key a setting with its origin, and errors that name table, key and file."""

import tomllib
from pathlib import Path

import pytest

from budwood.errors import SettingsError
from budwood.settings import DEFAULT, KEYS, TABLES, TableKey, read_settings, resolve
from budwood.settings.agents import agent_values, price_values

MINE = """
[agents.claude]
command = ["/opt/claude"]
model = "opus"
[prices.m]
input_per_million = 1
output_per_million = 2
cached_per_million = 0.5
[[model_rule]]
match = "mine"
model = "a"
"""
THEIRS = """
[run]
slots = 3
[agents.claude]
model = "sonnet"
[agents.cheap]
agent = "claude"
[prices.m]
input_per_million = 3
output_per_million = 4
[prices."gpt-4.1"]
input_per_million = 0
output_per_million = 0
[[model_rule]]
match = "theirs"
model = "b"
agent = "cheap"
"""
ALL_KEYS = [(table, key) for table, keys in TABLES.items() for key in keys.values()]


def written(directory: Path, text: str, *, name: str = "budwood.toml") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_agents_are_put_together_key_by_key_prices_and_rules_whole(tmp_path: Path) -> None:
    theirs, mine = written(tmp_path, THEIRS), written(tmp_path, MINE, name="mine.toml")
    resolved = resolve([read_settings(theirs), read_settings(mine)])
    assert agent_values(resolved.values) == {
        "claude": {"command": ("/opt/claude",), "model": "sonnet"},
        "cheap": {"agent": "claude"},
    }
    assert price_values(resolved.values) == {
        "m": {"input_per_million": 3, "output_per_million": 4},
        "gpt-4.1": {"input_per_million": 0, "output_per_million": 0},
    }
    assert resolved.value("model_rule") == [{"match": "theirs", "model": "b", "agent": "cheap"}]
    assert [(name, origin) for name, _, origin in resolved.table_rows()] == [
        ("agents.cheap.agent", str(theirs)),
        ("agents.claude.command", str(mine)),
        ("agents.claude.model", str(theirs)),
        ("model_rule", str(theirs)),
        ("prices.gpt-4.1", str(theirs)),
        ("prices.m", str(theirs)),
    ]


def test_they_do_not_disturb_the_other_keys(tmp_path: Path) -> None:
    resolved = resolve([read_settings(written(tmp_path, THEIRS))])
    assert [key.name for key, _, _ in resolved.rows()] == list(KEYS)
    assert (resolved.value("slots"), resolved.origin("seed")) == (3, DEFAULT)
    assert list(resolve([]).table_rows()) == []


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[agents.x]\nmodle = 1\n", "unknown key 'modle' in [agents.x] of PATH", "did you mean 'model'?"),
        ("[agents.x]\nmodel = 1\n", "model in [agents.x] of PATH is 1; it takes text that is not empty", None),
        ("[agents]\nx = 1\n", "1 stands where PATH must have a table: [agents.x]", "keys are agent, command, "),
        ("agents = 1\n", "agents in PATH is 1; it takes tables: [agents.NAME]", None),
        ("[[agents]]\nmodel = 'x'\n", "agents in PATH is [{'model': 'x'}]; it takes tables: [agents.NAME]", None),
        ("[agents.'a.b']\n", "agent 'a.b' in PATH has no name that a plan could use", "letters, digits, - and _ "),
        ("[agents.x]\ncommand = []\n", 'it takes a list of words, at least one: ["word", …]', None),
        ("[agents.x]\ncommand = 'x'\n", "command in [agents.x] of PATH is 'x'; it takes a list of words", None),
        ("[agents.x]\nargs = ['a', 1]\n", "args in [agents.x] of PATH is ['a', 1]; it takes a list of words", None),
        (
            "[agents.x]\nmax_turns = 0\n",
            "max_turns in [agents.x] of PATH is 0; it takes a whole number, 1 or more",
            None,
        ),
        ("[agents.x]\nbudget_usd = 0\n", "it takes a number above 0", None),
        ("[agents.x]\nbilling = 'free'\n", 'it takes "metered" or "subscription"', None),
        ("[agents.x]\napi_key_env = 'A=b'\n", "it takes a variable's name", None),
        ("[agents.x]\ntimeout = '2d'\n", "it takes a duration above 0, at most a day", None),
        ("[agents.x]\nbase_url = 'HOST/v1'\n", "it takes a web address: http:// or https:// with a host", None),
        ("[prices.m]\ninput_per_million = 1\n", 'output_per_million is missing in [prices."m"] of PATH', "add output_"),
        ("[prices.m]\ninput = 1\n", "unknown key 'input' in [prices.\"m\"] of PATH", "keys are input_per_million, "),
        ("[prices.m]\ninput_per_million = -1\n", "it takes a number, 0 or more", None),
        ("[model_rule]\nmatch = 'x'\n", "it takes a list of tables: [[model_rule]]", None),
        ("[[model_rule]]\nmodel = 'x'\n", "match is missing in [[model_rule]] number 1 of PATH", "add match = "),
        (
            "[[model_rule]]\nmatch = '('\nmodel = 'x'\n",
            "is '('; it takes a regular expression, as Python has them",
            None,
        ),
        ("[agent.x]\n", "unknown key 'agent' in PATH", "did you mean 'agents'?"),
        (
            "[xyzzy]\n",
            "unknown key 'xyzzy' in PATH",
            "a settings file has the tables [run], [machine], [agents.NAME], ",
        ),
    ],
)
def test_what_does_not_belong_is_named(tmp_path: Path, text: str, message: str, hint: str | None) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert message in caught.value.message.replace(str(path), "PATH")
    assert (caught.value.hint or "").startswith(hint or "")
    assert (caught.value.hint is None) == (hint is None)


def test_a_password_in_an_address_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(written(tmp_path, "[agents.x]\nbase_url = 'https://me:hunter2@host/v1'\n"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("table", "key"), ALL_KEYS, ids=lambda given: getattr(given, "name", given))
def test_the_example_of_every_key_is_a_value_that_it_takes(table: str, key: TableKey) -> None:
    key.kind.read(tomllib.loads(f"x = {key.example}")["x"])
