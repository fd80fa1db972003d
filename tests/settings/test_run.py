"""From settings to RunSettings."""

import msgspec
import pytest

from budwood._core.model import RunSettings, TaskSpec
from budwood.settings import KEYS, Key, Machine, Scope, resolve, run_settings


def test_without_settings_a_run_has_the_machine_and_the_defaults_of_the_model() -> None:
    settings = run_settings(resolve([]), Machine(cores=6, gpus=("0", "1")))
    assert settings == RunSettings(slots=6, cpus=6.0, gpus=("0", "1"))


def test_what_is_set_is_taken() -> None:
    given = {"slots": 2, "budget_time": "1h", "output": "1kB", "groups": {"net": 2}, "contain": "namespace", "cpus": 3}
    settings = run_settings(resolve([("night.toml", given)]), Machine(cores=6))
    assert settings == RunSettings(
        slots=2, budget_time_s=3600.0, output_bytes=1000, groups={"net": 2}, contain="namespace", cpus=3.0
    )


@pytest.mark.parametrize(
    ("given", "devices"),
    [(1, ("a",)), (0, ()), ([], ()), (["b"], ("b",)), ([3], ("3",)), (4, ("0", "1", "2", "3"))],
)
def test_gpus_may_be_a_number_or_names(given: object, devices: tuple[str, ...]) -> None:
    assert run_settings(resolve([("x", {"gpus": given})]), Machine(cores=1, gpus=("a", "b"))).gpus == devices


@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.target], ids=lambda key: key.name)
def test_every_key_has_a_field_to_go_to(key: Key) -> None:
    model = TaskSpec if key.scope is Scope.TASK else RunSettings
    fields = {field.encode_name for field in msgspec.structs.fields(model)}
    assert key.target in fields


def test_every_field_of_a_run_has_a_key_or_is_made_of_several() -> None:
    keyed = {key.target for key in KEYS.values()}
    made = {"workspace", "agents", "prices"}
    assert {field.encode_name for field in msgspec.structs.fields(RunSettings)} - keyed == made
