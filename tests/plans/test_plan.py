"""Defaults for all tasks, and tasks that could never start."""

from pathlib import Path

import pytest

from budwood._core.model import RunSettings, TaskSpec
from budwood.errors import PlanError
from budwood.plans import LANE_KEYS, TASK_KEYS, Plan, PlanKey, parse_plan, refuse_impossible, with_defaults
from budwood.plans.entries import LaneEntry, TaskEntry
from budwood.settings import KEYS, Key, Scope, env_layer, resolve

OTHER: dict[str, object] = {
    "agent": ["claude"],
    "model": "haiku",
    "check": "true",
    "reviewer": "true",
    "max_review_rounds": 9,
    "score": "echo 1",
    "allow_unchanged": True,
    "timeout": 9,
    "retries": 9,
    "env": {"A": "9"},
    "env_pass": ["A"],
    "memory": 9_000_000,
    "reserve_usd": 9.0,
    "reserve_tokens": 9,
}


def resolved_plan(text: str) -> Plan:
    plan = parse_plan(text.encode(), path="night.toml")
    return with_defaults(plan, resolve([plan.layer]))


def test_a_task_takes_from_run_what_it_does_not_say() -> None:
    plan = resolved_plan(
        '[run]\ntimeout = "5m"\nretries = 2\n[[task]]\nid = 1\n[[task]]\nid = 2\ntimeout = 7\nretries = 1\n'
    )
    assert [(task.timeout_s, task.retries) for task in plan.tasks] == [(300.0, 2), (7.0, 1)]


def test_the_model_of_run_is_not_for_agents_of_another_family() -> None:
    head = '[run]\nagent = "claude"\nmodel = "opus"\n'
    agents = ('agent = "codex"', 'agent = ["codex", "claude"]', "", 'agent = "codex"\nmodel = "o4"')
    plan = resolved_plan(
        head + "".join(f'[[task]]\nid = {n}\nprompt = "x"\n{agent}\n' for n, agent in enumerate(agents))
    )
    assert [task.model for task in plan.tasks] == [None, "opus", "opus", "o4"]
    nobody = resolved_plan('[run]\nmodel = "opus"\n[[task]]\nid = 1\nprompt = "x"\nagent = "codex"\n')
    assert [task.model for task in nobody.tasks] == ["opus"]


def test_a_task_that_says_0_keeps_it() -> None:
    plan = resolved_plan("[run]\nretries = 2\nreserve_usd = 1\n[[task]]\nid = 1\nretries = 0\nreserve_usd = 0\n")
    assert (plan.tasks[0].retries, plan.tasks[0].reserve_usd) == (0, 0.0)


def test_variables_of_run_and_task_are_joined_and_the_tasks_win() -> None:
    run = '[run]\nenv = { A = "1", B = "1" }\nenv_pass = ["X", "Y"]\n'
    task = resolved_plan(run + '[[task]]\nid = 1\nenv = { B = "2" }\nenv_pass = ["Y", "Z"]\n').tasks[0]
    assert task.env == {"A": "1", "B": "2"}
    assert task.env_pass == ("X", "Y", "Z")


def test_defaults_may_come_from_any_layer() -> None:
    plan = parse_plan(b"[[task]]\nid = 1\n", path="night.toml")
    resolved = resolve([env_layer({"BUDWOOD_TIMEOUT": "30s"}), plan.layer])
    assert with_defaults(plan, resolved).tasks[0].timeout_s == 30.0


def test_without_defaults_the_plan_is_left_as_it_is() -> None:
    plan = parse_plan(b"[[task]]\nid = 1\n", path="night.toml")
    assert with_defaults(plan, resolve([plan.layer])) is plan


@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.scope is Scope.TASK], ids=lambda key: key.name)
def test_every_default_for_tasks_reaches_them(key: Key) -> None:
    plan = Plan(tasks=(TaskSpec(id=1),))
    given = with_defaults(plan, resolve([("night.toml", {key.name: OTHER[key.name]})]))
    assert getattr(given.tasks[0], key.target) == key.kind.read(OTHER[key.name])


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        (TaskSpec(id="a", cpus=3.0), RunSettings(cpus=2.0), "it wants 3 cpus, the run has 2"),
        (TaskSpec(id="a", gpus=1), RunSettings(), "it wants 1 gpus, the run has 0"),
        (TaskSpec(id="a", memory_bytes=512), RunSettings(), "nothing runs in 512 bytes of memory"),
        (TaskSpec(id="a", reserve_usd=3.0), RunSettings(budget_usd=2.0), "it reserves $3 of a budget of $2"),
        (TaskSpec(id="a", reserve_tokens=3), RunSettings(budget_tokens=2), "it reserves 3 of 2 tokens"),
    ],
)
def test_a_task_that_can_never_start_is_refused(task: TaskSpec, settings: RunSettings, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        refuse_impossible(Plan(tasks=(task,), path="night.toml"), settings)
    assert caught.value.message == f"task 'a' of night.toml can never start: {message}"
    assert caught.value.hint


def test_a_task_that_just_fits_is_allowed() -> None:
    fits = TaskSpec(id="a", cpus=2.0, gpus=1, memory_bytes=2**20, reserve_usd=2.0)
    refuse_impossible(Plan(tasks=(fits,)), RunSettings(cpus=2.0, gpus=("0",), budget_usd=2.0))


def test_the_tables_name_exactly_the_keys_that_are_read() -> None:
    assert set(TASK_KEYS) == set(TaskEntry.__struct_fields__)
    assert set(LANE_KEYS) == set(LaneEntry.__struct_fields__)


BESIDE = {
    "function": "",
    "args": 'function = "pack:work"',
    "kwargs": 'function = "pack:work"',
    "agent": 'prompt = "Do it."',
    "reviewer": 'prompt = "Do it."',
    "prompt_file": "",
}


@pytest.mark.parametrize("key", [TASK_KEYS[name] for name in TASK_KEYS if name not in ("id", "run")], ids=str)
def test_each_key_that_a_task_says_by_itself_reaches_its_spec(key: PlanKey, tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/form.md").write_text("Write the form.")
    base = '[[task]]\nid = "a"\n' + BESIDE.get(key.name, 'run = "true"') + "\n"
    plain, said = (
        parse_plan(text.encode(), path="night.toml", folder=tmp_path).tasks[0]
        for text in (base, f"{base}{key.name} = {key.example}")
    )
    different = [name for name in said.__struct_fields__ if getattr(said, name) != getattr(plain, name)]
    assert len(different) == 1
    assert different[0].startswith(key.name.removesuffix("_file"))
