"""The Python interface on PostgreSQL: the same as on a file."""

import asyncio

import pytest
from tests.api.world import World, held
from tests.cli.world import QUICK

import budwood
from budwood import LeaseHeld

pytestmark = pytest.mark.postgres


def test_a_run_is_driven_heard_looked_at_and_resumed(world: World, schema: str) -> None:
    heard: list[int] = []
    tasks = [held("a"), budwood.command(QUICK, id="b", after=["a"])]
    run = budwood.start(tasks, name="night", store=schema, on_event=lambda event: heard.append(event.number))
    world.wait_began("a")
    with pytest.raises(LeaseHeld, match="run night is already driven"):
        budwood.resume("night", store=schema)
    assert run.pause() == "paused; 1 running, it may finish"
    run.stop(now=True)
    assert run.wait().exit_code in (4, 130)
    assert heard == [event.number for event in run.events()]
    world.let_go()
    again = budwood.resume("night", store=schema)
    assert again.wait().exit_code == 0
    assert [task.state.value for task in budwood.open_run("night", store=schema).tasks()] == ["done", "done"]
    assert world.lines("began-a") == ["1"]
    assert not world.has_store


def test_the_store_of_database_url_is_used_and_followed_in_a_loop(
    world: World, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", schema)

    async def main() -> list[str]:
        run = budwood.start([budwood.command(QUICK, id=f"{n}") for n in range(5)], name="night")
        kinds = [event.kind async for event in run.follow()]
        assert (await run).exit_code == 0
        return kinds

    kinds = asyncio.run(main())
    assert kinds.count("attempt_ended") == 5
    assert [run.name for run in budwood.runs()] == ["night"]
    assert not world.has_store
