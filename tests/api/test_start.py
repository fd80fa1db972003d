"""How runs begin from Python: what is the same run, what is refused, and what comes at once."""

import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.api.world import World, held
from tests.cli.world import HELD, QUICK, task

import budwood
from budwood import LeaseHeld, NoSuchId, PlanError, SettingsError, StoreError, Strategy, TaskSpec, Told, UsageError
from budwood._core import events as e
from budwood.api import process


def quick(name: str, **keys: object) -> TaskSpec:
    return budwood.command(QUICK, id=name, **keys)  # type: ignore[arg-type]


# --- plan files ---


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


# --- tasks ---


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


# --- more than one ---


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


# --- opening ---


def test_a_run_is_opened_by_name_id_prefix_or_as_the_newest(world: World) -> None:
    first = budwood.start([quick("a")], name="night")
    first.wait()
    budwood.start([quick("a")], name="day").wait()
    assert [run.name for run in budwood.runs()] == ["night", "day"]
    assert budwood.open_run().name == "day"
    assert {budwood.open_run(given).id for given in ("night", "ni", first.id)} == {first.id}
    with pytest.raises(NoSuchId, match="no run 'nigth'") as caught:
        budwood.open_run("nigth")
    assert caught.value.hint == "did you mean night?"


def test_a_run_is_opened_and_resumed_by_the_name_that_it_was_started_with(world: World) -> None:
    names = ("ä", "A", "a", "a/b", "a-b", "My Run", "a-2")
    for name in names:
        budwood.start([quick(f"of-{name}")], name=name).wait()
    for opened in (budwood.open_run, budwood.resume):
        assert [[each.id for each in opened(name).tasks()] for name in names] == [[f"of-{name}"] for name in names]
    assert budwood.open_run("my-run").id == budwood.open_run("My Run").id
    assert budwood.start([quick("of-a")], name="a").id == budwood.open_run("a").id
    newest = budwood.start([quick("of-a")], name="a", again=True)
    newest.wait()
    assert budwood.open_run("a").id == newest.id


def test_a_name_is_looked_for_in_its_own_project_first(world: World, tmp_path: Path) -> None:
    store, other = tmp_path / "shared.db", tmp_path / "other"
    other.mkdir()
    for root in (world.root, other):
        run = budwood.start([quick("a")], name="night", store=store, directory=root)
        run.wait()
        assert budwood.open_run("night", store=store, directory=root).id == run.id
        assert budwood.resume("night", store=store, directory=root).id == run.id


def test_last_is_the_newest_run_whatever_another_was_called(world: World) -> None:
    budwood.start([quick("a")], name="last").wait()
    newest = budwood.start([quick("a")], name="day")
    newest.wait()
    assert {budwood.open_run().id, budwood.open_run("last").id} == {newest.id}


def test_without_a_store_there_is_nothing_to_open_and_none_is_made(world: World) -> None:
    with pytest.raises(UsageError, match="there is no store"):
        budwood.open_run()
    with pytest.raises(UsageError, match="there is no store"):
        budwood.runs()
    assert not world.has_store


def test_a_store_that_cannot_be_is_an_error_of_start(world: World) -> None:
    (world.root / "file").write_text("no store")
    with pytest.raises(StoreError, match="does not begin as a database"):
        budwood.start([quick("a")], store="file")


# --- resume ---


def test_a_stopped_run_goes_on_with_other_settings(world: World) -> None:
    run = budwood.start([held("a"), quick("b", after=["a"])], name="night", slots=1)
    world.wait_began("a")
    run.stop()
    world.let_go()
    verdict = run.wait()
    assert (verdict.exit_code, verdict.counts["done"]) == (130, 1)
    assert run.verdict == verdict
    again = budwood.resume("night", slots=3)
    assert again.wait().exit_code == 0
    assert world.state("night").settings.slots == 3
    assert world.lines("began-a") == ["1"]


def test_resume_takes_over_from_this_programs_own_driver_that_was_told_to_stop(world: World) -> None:
    run = budwood.start([held("a"), quick("b", after=["a"])], name="night")
    world.wait_began("a")
    run.stop()
    again = budwood.resume("night")
    assert not run.is_driven
    assert again.is_driven
    assert run.wait().exit_code == 130
    world.let_go()
    assert again.wait().exit_code == 0
    assert world.lines("began-a") == ["1"]
    assert [each for each in world.events("night") if isinstance(each, e.AttemptAdopted)]


def test_a_run_that_is_over_is_not_driven_by_resume(world: World) -> None:
    budwood.start([quick("a")], name="night").wait()
    again = budwood.resume("night")
    assert (again.is_driven, again.wait().exit_code) == (False, 0)


def test_a_cancelled_run_is_not_resumed_but_can_be_retried(world: World) -> None:
    run = budwood.start([held("a")], name="night")
    world.wait_began("a")
    assert run.cancel() == "tasks cancelled: 1"
    assert run.wait().phase == "cancelled"
    with pytest.raises(UsageError, match="was cancelled"):
        budwood.resume("night")
    world.let_go()
    assert budwood.open_run("night").retry() == "tasks wanted again: 1"
    assert run.wait().phase == "cancelled"
    assert budwood.open_run("night").wait().exit_code == 0


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"seed": 2}, "keeps its seed"), ({"window": 2}, "keeps its window"), ({"retries": 2}, "said of tasks")],
)
def test_what_a_run_keeps_cannot_be_changed_on_resume(world: World, settings: dict[str, int], why: str) -> None:
    budwood.start([quick("a")], name="night").wait()
    with pytest.raises(SettingsError, match=why):
        budwood.resume("night", **settings)  # type: ignore[arg-type]


def test_an_interpreter_is_named_on_resume_as_on_start(world: World) -> None:
    world.write("work_of_home.py", "def one():\n    return 1\n")
    home = Path(world.env["HOME"])
    home.mkdir(exist_ok=True)
    for name in ("old", "new"):
        (home / name).symlink_to(sys.executable)
    tasks = [held("a"), budwood.call("work_of_home:one", id="b", after=["a"])]
    run = budwood.start(tasks, name="night", python="~/old")
    world.wait_began("a")
    run.stop(now=True)
    run.wait()
    assert world.state("night").settings.python == str(home / "old")
    (home / "old").unlink()
    with pytest.raises(
        SettingsError, match=r"run night calls its functions with .*/old, and that cannot be run"
    ) as caught:
        budwood.resume("night")
    assert "budwood.resume('night', python=…)" in (caught.value.hint or "")
    with pytest.raises(SettingsError, match="python is '~/older', and there is no program"):
        budwood.resume("night", python="~/older")
    world.let_go()
    assert budwood.resume("night", python="~/new").wait().exit_code == 0
    assert world.state("night").settings.python == str(home / "new")


def test_a_paused_run_whose_driver_still_waits_is_asked_to_go_on(world: World) -> None:
    run = budwood.start([held("a"), quick("b", after=["a"])], name="night")
    world.wait_began("a")
    assert run.pause() == "paused; 1 running, it may finish"
    again = budwood.resume("night")
    assert again.is_driven
    world.let_go()
    assert again.wait().exit_code == 0
    assert run.wait().exit_code == 0
    assert not list(process.drivings_of(run.id))


# --- strategies ---


class Count(Strategy):
    """Asks for some tasks, one after the other."""

    def __init__(self, steps: int = 3, *, command: str = QUICK) -> None:
        self.steps = steps
        self._command = command
        self.told: list[Told] = []

    def ask(self, number: int, random: Random) -> list[TaskSpec]:
        return [budwood.command(self._command, id=f"step-{number}")] if number < self.steps else []

    def tell(self, told: Told) -> None:
        self.told.append(told)


class Vague(Count):
    """Does not keep what it was made with."""

    def __init__(self, *steps: int) -> None:
        super().__init__(len(steps), command=HELD)


class Doubling(Strategy):
    """Keeps something else under the name of its argument, and changes what it was given."""

    def __init__(self, points: list[int], *, command: str = QUICK) -> None:
        self.points = [point * 2 for point in points]
        self.command = command
        points.clear()

    def ask(self, number: int, random: Random) -> list[TaskSpec]:
        return [budwood.command(self.command, id=f"point-{point}") for point in self.points[number : number + 1]]

    def tell(self, told: Told) -> None:
        pass


def test_a_strategy_leads_a_run_and_its_tasks_get_the_settings_of_all(world: World) -> None:
    strategy = Count(3)
    run = budwood.start(strategy=strategy, name="climb", retries=4, window=2)
    assert run.wait().counts["done"] == 3
    assert [told.task.id for told in strategy.told][:2] == ["step-0", "step-1"]
    state = world.state("climb")
    assert {each.spec.retries for each in state.tasks} == {4}
    assert (state.strategy, state.options) == ("tests.api.test_start:Count", {"steps": 3})
    assert state.settings.window == 2


def test_a_strategy_that_was_told_something_is_not_used_again(world: World) -> None:
    strategy = Count(1)
    budwood.start(strategy=strategy, name="climb").wait()
    with pytest.raises(UsageError, match="has led a run already"):
        budwood.start(strategy=strategy)
    with pytest.raises(UsageError, match="has led a run already"):
        budwood.start(strategy=strategy, name="climb", again=True)


def test_a_strategys_run_goes_on_with_a_new_object_as_it_was_made(world: World) -> None:
    run = budwood.start(strategy=Count(3, command=held("x").run), name="climb")  # type: ignore[arg-type]
    world.wait_began("step-0")
    run.stop(now=True)
    assert run.wait().exit_code == 130
    with pytest.raises(UsageError, match=r"is led by .*Count with .*'steps': 3.* not by .*'steps': 4"):
        budwood.resume("climb", strategy=Count(4, command=held("x").run))  # type: ignore[arg-type]
    world.let_go()
    new = Count(3, command=held("x").run)  # type: ignore[arg-type]
    again = budwood.resume("climb", strategy=new)
    assert again.wait().counts["done"] == 3
    assert [told.task.id for told in new.told] == ["step-0", "step-1", "step-2"]
    assert world.lines("began-step-0") == ["1"]


def test_a_finished_run_keeps_its_strategy_options_and_seed(world: World) -> None:
    first = budwood.start(strategy=Count(1), name="climb", seed=5)
    first.wait()
    changed: list[tuple[dict[str, Any], str]] = [
        ({"strategy": Count(2), "seed": 5}, "keeps its strategy"),
        ({"strategy": Vague(1), "seed": 5}, "keeps its strategy"),
        ({"what": [quick("step-0")], "seed": 5}, "keeps its strategy"),
        ({"what": [quick("other")], "seed": 5}, "keeps its strategy"),
        ({"strategy": Count(1), "seed": 6}, "has seed 5; a run keeps its seed"),
        ({"strategy": Count(1), "seed": 5, "window": 3}, "keeps its window"),
    ]
    for given, why in changed:
        with pytest.raises(UsageError, match=why) as caught:
            budwood.start(name="climb", **given)
        assert caught.value.hint == "again=True makes a new run"
    same = budwood.start(strategy=Count(1), name="climb", seed=5)
    assert (same.id, same.is_driven, same.wait().exit_code) == (first.id, False, 0)
    assert budwood.start(strategy=Count(2), name="climb", again=True).wait().counts["done"] == 2


def test_a_finished_run_of_tasks_keeps_having_none_but_them_and_its_seed(world: World) -> None:
    budwood.start([quick("a")], name="night").wait()
    with pytest.raises(UsageError, match="keeps its strategy"):
        budwood.start(strategy=Count(1), name="night")
    with pytest.raises(UsageError, match="keeps its seed"):
        budwood.start([quick("a")], name="night", seed=6)
    assert budwood.start([quick("a")], name="night", slots=3).wait().exit_code == 0


def test_a_run_that_was_left_says_in_python_how_to_make_another(world: World) -> None:
    run = budwood.start(strategy=Count(1, command=HELD), name="climb")
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    with pytest.raises(UsageError, match="keeps its strategy") as caught:
        budwood.start(strategy=Count(2, command=HELD), name="climb")
    assert caught.value.hint == "again=True makes a new run"


def test_a_strategys_run_goes_on_by_its_name_alone(world: World) -> None:
    run = budwood.start(strategy=Count(2, command=held("x").run), name="climb")  # type: ignore[arg-type]
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    world.let_go()
    assert budwood.resume("climb").wait().counts["done"] == 2


def test_a_strategy_whose_options_are_unknown_goes_on_only_with_an_object(world: World) -> None:
    run = budwood.start(strategy=Vague(1, 2), name="vague")
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    world.let_go()
    with pytest.raises(UsageError, match=r"the strategy of run vague is an object of .*:Vague that only") as caught:
        budwood.resume("vague")
    assert 'budwood.resume("vague", strategy=' in (caught.value.hint or "")
    assert 'budwood.resume("vague", strategy=' in world.call("resume", "vague", code=2).err
    assert budwood.resume("vague", strategy=Vague(1, 2)).wait().counts["done"] == 2


def test_a_strategy_is_made_again_with_what_it_was_given_not_with_what_it_keeps(world: World) -> None:
    given = [1, 2]
    run = budwood.start(strategy=Doubling(given, command=HELD), name="doubling")
    world.wait_began("point-2")
    run.stop(now=True)
    run.wait()
    assert world.state("doubling").options == {"points": [1, 2], "command": HELD}
    world.let_go()
    assert budwood.resume("doubling").wait().counts["done"] == 2
    assert [str(task.id) for task in budwood.open_run("doubling").tasks()] == ["point-2", "point-4"]


def test_a_class_inside_a_function_goes_on_only_with_an_object(world: World) -> None:
    class Inner(Count):
        pass

    run = budwood.start(strategy=Inner(2, command=HELD), name="inner")
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    world.let_go()
    with pytest.raises(UsageError, match="only its program can make"):
        budwood.resume("inner")
    assert budwood.resume("inner", strategy=Inner(2)).wait().counts["done"] == 2


def test_a_strategy_decides_about_tasks_itself(world: World) -> None:
    with pytest.raises(UsageError, match="decides about tasks"):
        budwood.start([quick("a")], strategy=Count(1))


def test_a_strategy_by_name_is_imported_from_the_project(world: World) -> None:
    world.write(
        "climb_once.py",
        """
        import budwood

        class Once(budwood.Strategy):
            def __init__(self, word):
                self.word = word

            def ask(self, number, random):
                return [] if number else [budwood.command(["echo", self.word], id="say")]

            def tell(self, told):
                pass
        """,
    )
    run = budwood.start(strategy="climb_once:Once", options={"word": "hi"}, name="named")
    assert run.wait().counts["done"] == 1
    with pytest.raises(UsageError, match="cannot be imported"):
        budwood.start(strategy="nowhere:Once")


def test_a_strategy_that_cannot_even_be_looked_at_is_an_error_of_start(world: World) -> None:
    class Broken(Count):
        @property
        def window(self) -> int:  # type: ignore[override]
            raise ValueError("no window")

    with pytest.raises(ValueError, match="no window"):
        budwood.start(strategy=Broken(1), name="night")
    assert not world.has_store
