"""Layers: the strongest wins, and errors name the place, the key and what was meant."""

import pytest

from budwood.errors import PlanError, SettingsError
from budwood.settings import DEFAULT, FLAG, KEYS, Key, Scope, env_layer, plan_layer, resolve


def test_flag_before_environment_before_plan_before_project_before_user_before_default() -> None:
    layers = [
        (FLAG, {"slots": 1}),
        env_layer({"BUDWOOD_SLOTS": "2"}),
        ("night.toml", {"slots": 3}),
        ("budwood.toml", {"slots": 4}),
        ("~/.config/budwood/config.toml", {"slots": 5}),
    ]
    found = [resolve(layers[start:]) for start in range(len(layers) + 1)]
    assert [resolved.value("slots") for resolved in found] == [1, 2, 3, 4, 5, None]
    assert [resolved.origin("slots") for resolved in found] == [
        "--slots",
        "BUDWOOD_SLOTS",
        "night.toml",
        "budwood.toml",
        "~/.config/budwood/config.toml",
        DEFAULT,
    ]


def test_a_flag_that_was_not_given_does_not_hide_the_rest() -> None:
    resolved = resolve([(FLAG, {"slots": None}), ("night.toml", {"slots": 3})])
    assert resolved.value("slots") == 3


def test_a_value_is_read_when_layers_are_resolved() -> None:
    resolved = resolve([("night.toml", {"timeout": "10m", "memory": "1kB", "env_pass": ["A"]})])
    assert resolved.value("timeout") == 600
    assert resolved.value("memory") == 1000
    assert resolved.value("env_pass") == ("A",)


def test_rows_tell_every_key_with_value_and_origin() -> None:
    rows = list(resolve([("night.toml", {"goal": "x"})]).rows())
    assert [key.name for key, _, _ in rows] == list(KEYS)
    assert ("goal", "x", "night.toml") in [(key.name, value, origin) for key, value, origin in rows]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ((FLAG, {"slots": 0}), "--slots is 0; it takes a whole number from 1 to 4096"),
        (("a.toml", {"slots": "4"}), "slots in [run] of a.toml is '4'; it takes a whole number from 1 to 4096"),
        (("a.toml", {"store": ""}), "store in [machine] of a.toml is ''; it takes text that is not empty"),
        (("a.toml", {"contain": "docker"}), 'contain in [run] of a.toml is \'docker\'; it takes "tree" or "namespace"'),
    ],
)
def test_a_wrong_value_says_where_it_stands_and_what_is_taken(
    layer: tuple[str, dict[str, object]], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        resolve([layer])
    assert caught.value.message == message


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(SettingsError) as caught:
        resolve([env_layer({"BUDWOOD_SLOTS": "0"})])
    assert caught.value.message == "BUDWOOD_SLOTS is 0; it takes a whole number from 1 to 4096"
    with pytest.raises(SettingsError, match="BUDWOOD_SLOTS is 'many'"):
        env_layer({"BUDWOOD_SLOTS": "many"})


def test_an_unknown_key_comes_with_a_suggestion() -> None:
    with pytest.raises(SettingsError) as caught:
        resolve([("night.toml", {"slot": 4})])
    assert caught.value.message == "unknown key 'slot' in [run] of night.toml"
    assert caught.value.hint == "did you mean 'slots'?"


def test_a_variable_that_is_nearly_a_setting_is_refused_and_others_are_left_alone() -> None:
    with pytest.raises(SettingsError) as caught:
        env_layer({"BUDWOOD_SLOT": "4"})
    assert caught.value.hint == "did you mean BUDWOOD_SLOTS?"
    given = {"BUDWOOD_RUN": "x", "BUDWOOD_TASK": "t", "BUDWOOD_MARK": "m", "BUDWOOD_XYZZY": "1", "PATH": "/bin"}
    assert env_layer(given) == ("environment", {})


def test_a_plan_may_not_say_what_concerns_the_whole_machine() -> None:
    with pytest.raises(PlanError) as caught:
        plan_layer({"machine_slots": 3}, path="night.toml")
    assert caught.value.hint == "put it into [machine] of budwood.toml, or set BUDWOOD_MACHINE_SLOTS"


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_every_default_is_a_value_that_its_key_takes(key: Key) -> None:
    if key.default is not None:
        assert key.kind.read(key.default) == key.default
    assert key.doc.endswith(".")
    assert key.flag in (None, "--" + key.name.replace("_", "-"))
    assert key.scope in Scope
