"""How runs are found again from Python, and gone on with."""

import sys
from pathlib import Path

import pytest
from tests.api.world import World, held, quick

import budwood
from budwood import NoSuchId, SettingsError, StoreError, UsageError
from budwood._core import events as e
from budwood.api import process


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
