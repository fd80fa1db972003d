"""How runs begin from Python: what is the same run, what is refused, and what comes at once."""

from pathlib import Path
from typing import Any

import pytest
from tests.api.world import World, held, quick
from tests.cli.world import task

import budwood
from budwood import LeaseHeld, PlanError, SettingsError, Strategy, UsageError


def test_a_plan_file_is_the_same_run_here_and_on_the_command_line(world: World) -> None:
    world.plan(task("a"), task("b", after=["a"]))
    run = budwood.start("plan.toml")
    assert run.wait().exit_code == 0
    assert "2 done" in world.call("run", "plan.toml").err
    again = budwood.start("plan.toml")
    assert (again.id, again.is_driven, again.state) == (run.id, False, "finished")
    assert again.wait().exit_code == 0
    assert [row.name for row in world.runs()] == ["plan"]
    assert world.lines("began-a") == ["1"]


def test_an_edited_plan_runs_what_changed(world: World) -> None:
    world.plan(task("a"))
    budwood.start("plan.toml").wait()
    world.plan(task("a"), task("b"))
    assert budwood.start("plan.toml").wait().counts["done"] == 2
    assert world.lines("began-a") == ["1"]


def test_again_makes_a_new_run(world: World) -> None:
    world.plan(task("a"))
    first = budwood.start("plan.toml")
    first.wait()
    second = budwood.start(world.root / "plan.toml", again=True)
    second.wait()
    assert (first.name, second.name) == ("plan", "plan-2")
    assert world.lines("began-a") == ["1", "1"]


def test_a_plan_is_found_in_the_directory_that_is_given(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.plan(task("a"))
    monkeypatch.chdir("/")
    assert budwood.start("plan.toml", directory=world.root).wait().counts["done"] == 1
    assert budwood.open_run(directory=world.root).name == "plan"


def test_a_directory_that_is_given_is_exactly_a_plan_files_too(world: World, tmp_path: Path) -> None:
    world.plan(task("a"))
    (world.root / "sub").mkdir()
    (tmp_path / "other").mkdir()
    (world.root / "sub" / "plan.toml").write_text(task("b"))
    assert budwood.start("plan.toml", directory="sub").wait().counts["done"] == 1
    budwood.start(world.root / "plan.toml", directory=tmp_path / "other").wait()
    for root, name in ((world.root / "sub", "b"), (tmp_path / "other", "a")):
        assert (root / f"did-{name}").exists()
        assert (root / ".budwood" / "store.db").exists()
    assert not world.has_store
    with pytest.raises(UsageError, match="there is no directory"):
        budwood.start(world.root / "plan.toml", directory="missing")


def test_a_bad_plan_is_refused_by_start_itself_and_nothing_is_made(world: World) -> None:
    world.plan(task("a", after=["b"]), task("b", after=["a"]))
    with pytest.raises(PlanError, match="Circular dependencies detected: a -> b -> a"):
        budwood.start("plan.toml")
    with pytest.raises(PlanError):
        budwood.start("missing.toml")
    assert not world.has_store


def test_a_plan_file_takes_no_strategy_beside_it(world: World) -> None:
    world.plan(task("a"))
    with pytest.raises(UsageError, match="plan file says itself"):
        budwood.start("plan.toml", strategy="climb:HillClimb")


def test_tasks_without_a_name_are_a_new_run_each_time(world: World) -> None:
    names = []
    for _ in range(2):
        run = budwood.start([quick("a")])
        run.wait()
        names.append(run.name)
    assert names == ["run", "run-2"]
    assert world.lines("began-a") == ["1", "1"]


def test_tasks_with_a_name_go_on_under_it_and_edits_are_run(world: World) -> None:
    first = budwood.start([quick("a")], name="night")
    first.wait()
    second = budwood.start([quick("a"), quick("b")], name="night")
    assert second.wait().counts["done"] == 2
    assert second.id == first.id
    assert world.lines("began-a") == ["1"]
    third = budwood.start([quick("a"), quick("b")], name="night")
    assert (third.is_driven, third.wait().exit_code) == (False, 0)


def test_one_name_in_two_projects_of_one_store_is_two_runs(world: World, tmp_path: Path) -> None:
    store = tmp_path / "shared.db"
    other = tmp_path / "other"
    other.mkdir()
    runs = [budwood.start([quick("a")], name="night", store=store, directory=root) for root in (world.root, other)]
    assert [run.wait().exit_code for run in runs] == [0, 0]
    assert [run.name for run in budwood.runs(store=store)] == ["night", "night-2"]
    assert (other / "did-a").exists()


def test_settings_are_given_by_name_and_task_settings_are_for_all_tasks(world: World) -> None:
    run = budwood.start(
        [quick("a"), quick("b", retries=1)], name="s", slots=3, seed=7, timeout="5s", env={"X": "1"}, budget_usd=2
    )
    run.wait()
    state = world.state("s")
    assert (state.settings.slots, state.settings.seed, state.settings.budget_usd) == (3, 7, 2.0)
    assert [(each.spec.timeout_s, each.spec.retries, each.spec.env) for each in state.tasks] == [
        (5.0, 0, {"X": "1"}),
        (5.0, 1, {"X": "1"}),
    ]


def test_an_unknown_setting_is_refused_with_a_suggestion(world: World) -> None:
    with pytest.raises(SettingsError, match=r"unknown key 'slot' of budwood.start\(\)") as caught:
        budwood.start([quick("a")], slot=2)  # type: ignore[call-arg]
    assert caught.value.hint == "did you mean 'slots'?"
    with pytest.raises(SettingsError, match="slots is 0; it takes a whole number from 1 to 4096"):
        budwood.start([quick("a")], slots=0)
    with pytest.raises(SettingsError, match=r"^name is 3; it takes text that is not empty"):
        budwood.start([quick("a")], name=3)  # type: ignore[arg-type]
    assert not world.has_store


def test_lanes_that_tasks_name_need_not_be_listed_but_listed_ones_must_be_all(world: World) -> None:
    tasks = [quick("a", lane="x"), quick("b", lane=2), quick("c")]
    run = budwood.start(tasks, name="lanes")
    run.wait()
    assert [lane.id for lane in run.lanes()] == ["x", 2]
    with pytest.raises(PlanError, match="lane"):
        budwood.start(tasks, lanes=[budwood.LaneSpec(id="y")])


def test_what_is_no_task_is_refused_and_so_are_no_tasks_at_all(world: World) -> None:
    with pytest.raises(UsageError, match="quick is no task") as caught:
        budwood.start([quick])  # type: ignore[list-item]
    assert "quick.task(…)" in (caught.value.hint or "")
    with pytest.raises(UsageError, match=r"^9 is no task") as caught:
        budwood.start([9])  # type: ignore[list-item]
    assert "square.task(3) makes a task" in (caught.value.hint or "")
    with pytest.raises(PlanError, match="no tasks"):
        budwood.start([])
    with pytest.raises(PlanError, match="no tasks"):
        budwood.start()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"what": budwood.command("true", id="a")}, r"was given the task 'a'; it takes .* a list of tasks"),
        ({"what": 3}, r"was given 3; it takes a plan file's path, or a list of tasks"),
        ({"strategy": 3}, "strategy is 3; it takes an object of a budwood.Strategy"),
        ({"strategy": Strategy}, "strategy is the class Strategy; it takes an object"),
        ({"what": [budwood.command("true")], "on_event": 3}, "on_event is 3; it takes a function"),
    ],
)
def test_what_start_does_not_take_is_refused_with_what_it_takes(world: World, given: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        budwood.start(**given)
    assert not world.has_store


def test_what_resume_does_not_take_is_refused_with_what_it_takes(world: World) -> None:
    with pytest.raises(UsageError, match="strategy is 3"):
        budwood.resume(strategy=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="on_event is 3"):
        budwood.resume(on_event=3)  # type: ignore[arg-type]


def test_two_tasks_of_one_id_are_refused(world: World) -> None:
    with pytest.raises(PlanError, match="two tasks 'true'") as caught:
        budwood.start([budwood.command("true"), budwood.command("true")])
    assert "equal calls get equal ids" in (caught.value.hint or "")


def test_a_directory_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="there is no directory"):
        budwood.start([quick("a")], directory="missing")


def test_a_directory_that_is_given_is_exactly_the_runs(world: World) -> None:
    (world.root / "sub").mkdir()
    budwood.start([quick("a")], directory="sub").wait()
    assert (world.root / "sub" / "did-a").exists()
    assert (world.root / "sub" / ".budwood" / "store.db").exists()
    assert not world.has_store


def test_a_store_in_memory_is_gone_with_the_program_and_works_until_then(world: World) -> None:
    heard: list[str] = []
    run = budwood.start([quick("a"), quick("b")], store="memory:", on_event=lambda event: heard.append(event.kind))
    assert run.wait().counts["done"] == 2
    assert [each.id for each in run.tasks()] == ["a", "b"]
    assert heard == [event.kind for event in run.events()]
    assert not world.has_store


def test_a_second_start_of_one_name_is_refused_with_the_holders_name(world: World) -> None:
    run = budwood.start([held("a")], name="night")
    world.wait_began("a")
    with pytest.raises(LeaseHeld, match=r"run night is already driven by pid \d+") as caught:
        budwood.start([held("a")], name="night")
    assert caught.value.run == "night"
    with pytest.raises(LeaseHeld):
        budwood.resume("night")
    assert run.is_driven
    world.let_go()
    assert run.wait().exit_code == 0


def test_several_runs_go_on_at_once(world: World) -> None:
    runs = [budwood.start([held(f"{n}")], name=f"run{n}") for n in range(4)]
    world.wait_began("0", "1", "2", "3")
    assert all(run.is_driven for run in runs)
    world.let_go()
    assert [run.wait().exit_code for run in runs] == [0, 0, 0, 0]


def test_what_another_process_drives_is_refused_and_can_be_looked_at(world: World) -> None:
    world.plan(task("a", run=held("a").run))  # type: ignore[arg-type]
    other = world.start("run", "plan.toml")
    world.wait_began("a")
    with pytest.raises(LeaseHeld, match="run plan is already driven"):
        budwood.start("plan.toml")
    run = budwood.open_run("plan")
    assert (run.is_driven, run.state, run.verdict) == (False, "active", None)
    with pytest.raises(TimeoutError, match=r"not at rest after 0\.1 s"):
        run.wait(0.1)
    with pytest.raises(UsageError, match="not driven by this object"):
        run.stop()
    world.let_go()
    assert run.wait().exit_code == 0
    assert world.finish(other).code == 0
