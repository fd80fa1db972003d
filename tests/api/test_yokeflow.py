"""Progress callbacks written for YokeFlow hear of budwood's runs, as they are."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.api.world import World, held

import budwood

CALLBACK = Path(__file__).with_name("yokeflow_callback.txt")
"""The callback of YokeFlow's guide to parallel execution, to the letter."""
COSTS = """echo '{"cost_usd": 0.0625}' > "$BUDWOOD_USAGE" """


def guide_tasks() -> list[budwood.TaskSpec]:
    """Make the guide's example of seven tasks in three epics."""
    edges: dict[int, tuple[int, list[int]]] = {
        1: (1, []),
        2: (1, [1]),
        3: (1, [2]),
        4: (2, [2]),
        5: (2, [3, 4]),
        6: (3, []),
        7: (3, [3]),
    }
    return [budwood.command(COSTS, id=task, lane=epic, after=after) for task, (epic, after) in edges.items()]


def verbatim() -> Callable[[dict[str, object]], object]:
    names: dict[str, Any] = {}
    exec(CALLBACK.read_text(encoding="utf-8"), names)
    found: Callable[[dict[str, object]], object] = names["my_progress_callback"]
    return found


def test_the_callback_of_the_guide_runs_to_the_letter_in_a_loop(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    async def main() -> budwood.Run:
        run = budwood.start(guide_tasks(), slots=1, on_event=budwood.yokeflow_callback(verbatim()))
        assert (await run).exit_code == 0
        return run

    run = asyncio.run(main())
    assert run.callback_error is None
    check_printed(capsys.readouterr().out.splitlines())


def test_the_callback_of_the_guide_runs_to_the_letter_without_a_loop(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    run = budwood.start(guide_tasks(), slots=4, on_event=budwood.yokeflow_callback(verbatim()))
    assert run.wait().exit_code == 0
    assert run.callback_error is None
    check_printed(capsys.readouterr().out.splitlines())


def check_printed(lines: list[str]) -> None:
    """See that everything was said once, each in its place."""
    for task, epic in {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3, 7: 3}.items():
        started = lines.index(f"Task {task} (Epic {epic}) started")
        [complete] = [n for n, line in enumerate(lines) if line.startswith(f"Task {task} complete: ")]
        assert started < complete
        assert lines[complete].endswith("s, $0.0625")
    starts = [lines.index(f"Batch {number} started: {size} tasks") for number, size in ((1, 2), (2, 1), (3, 2), (4, 2))]
    ends = [lines.index(f"Batch {number} complete") for number in (1, 2, 3, 4)]
    assert ends == sorted(ends)
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert len(lines) == 2 * 7 + 2 * 4
    assert lines[-1] == "Batch 4 complete"


def test_a_plain_callback_gets_the_same_events(world: World) -> None:
    heard: list[dict[str, object]] = []
    run = budwood.start(guide_tasks(), slots=2, on_event=budwood.yokeflow_callback(heard.append))
    run.wait()
    assert [each["batch_number"] for each in heard if each["type"] == "batch_complete"] == [1, 2, 3, 4]
    [done] = [each for each in heard if each["type"] == "task_complete" and each["task_id"] == 5]
    assert set(done) == {"type", "task_id", "epic_id", "batch_number", "duration", "cost"}
    assert (done["epic_id"], done["batch_number"], done["cost"]) == (2, 4, 0.0625)
    assert isinstance(done["duration"], float)


def test_a_later_batch_is_never_complete_before_an_earlier_one(world: World) -> None:
    heard: list[tuple[object, object]] = []
    tasks = [budwood.command("true", id="a"), held("slow"), budwood.command("true", id="b", after=["a"])]
    adapter = budwood.yokeflow_callback(lambda told: heard.append((told["type"], told["batch_number"])))

    def hear(event: budwood.Event) -> None:
        adapter(event)
        if ("task_complete", 2) in heard:
            world.let_go()

    budwood.start(tasks, slots=2, on_event=hear).wait()
    assert heard.index(("batch_started", 2)) < heard.index(("batch_complete", 1)) < heard.index(("batch_complete", 2))


def test_a_run_that_goes_on_is_known_from_its_beginning_and_told_once(world: World) -> None:
    heard: list[str] = []

    def said(told: dict[str, object]) -> None:
        heard.append(f"{told['type']} {told.get('task_id', told['batch_number'])}")

    tasks = [budwood.command("true", id="a"), held("b", after=["a"]), budwood.command("true", id="c", after=["b"])]  # type: ignore[arg-type]
    run = budwood.start(tasks, name="night", on_event=budwood.yokeflow_callback(said))
    world.wait_began("b")
    run.stop(now=True)
    run.wait()
    first, heard[:] = list(heard), []
    assert first == [
        "batch_started 1",
        "task_started a",
        "task_complete a",
        "batch_complete 1",
        "batch_started 2",
        "task_started b",
    ]
    world.let_go()
    budwood.resume("night", on_event=budwood.yokeflow_callback(said)).wait()
    assert heard == [
        "task_complete b",
        "batch_complete 2",
        "batch_started 3",
        "task_started c",
        "task_complete c",
        "batch_complete 3",
    ]


def test_an_edited_plan_has_other_batches_and_is_told_of_all_the_same(world: World) -> None:
    heard: list[str] = []

    def said(told: dict[str, object]) -> None:
        heard.append(f"{told['type']} {told.get('task_id', told['batch_number'])} {told.get('task_count', '')}".strip())

    chain = [budwood.command("true", id="a"), held("b", after=["a"])]  # type: ignore[arg-type]
    chain += [budwood.command("true", id=name, after=[before]) for before, name in ("bc", "cd", "de")]
    first = budwood.start(chain, name="night", slots=1, on_event=budwood.yokeflow_callback(said))
    world.wait_began("b")
    first.stop()
    world.let_go()
    first.wait()
    assert first.callback_error is None
    heard.clear()
    apart = [budwood.command("true", id="a"), held("b"), *(budwood.command("true", id=name) for name in "ce")]
    run = budwood.start(apart, name="night", slots=1, on_event=budwood.yokeflow_callback(said))
    assert run.wait().counts["done"] == 4
    assert run.callback_error is None
    assert heard == [
        "batch_started 1 4",
        "task_complete b",  # it comes after something else than before, so it is done once more
        *(f"{what} {name}" for name in "ce" for what in ("task_started", "task_complete")),
        "batch_complete 1 4",
    ]


def test_a_task_that_the_plan_lost_while_it_ran_is_told_of_no_more(world: World) -> None:
    heard: list[str] = []

    def said(told: dict[str, object]) -> None:
        heard.append(f"{told['type']} {told.get('task_id', told['batch_number'])}")

    tell = budwood.yokeflow_callback(said)
    first = budwood.start([budwood.command("true", id="a"), held("b", after=["a"])], name="night", on_event=tell)  # type: ignore[arg-type]
    world.wait_began("b")
    first.stop(now=True)
    first.wait()
    heard.clear()
    run = budwood.start([budwood.command("true", id="a")], name="night", on_event=budwood.yokeflow_callback(said))
    assert run.wait().counts["done"] == 1
    assert (run.callback_error, heard) == (None, [])


def test_a_batch_that_a_retry_opens_again_is_complete_once_more(world: World) -> None:
    heard: list[str] = []

    def said(told: dict[str, object]) -> None:
        heard.append(f"{told['type']} {told.get('task_id', told['batch_number'])}")

    tasks = [budwood.command("true", id="a"), budwood.command("test -e go", id="b")]
    run = budwood.start(tasks, name="night", slots=1, on_event=budwood.yokeflow_callback(said))
    assert run.wait().exit_code == 1
    assert heard[-2:] == ["task_failed b", "batch_complete 1"]
    world.let_go()
    run.retry()
    assert run.wait().exit_code == 0
    assert run.callback_error is None
    assert heard[-3:] == ["batch_started 1", "task_complete b", "batch_complete 1"]
