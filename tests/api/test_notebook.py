"""A notebook's cells in a real Jupyter kernel: the live picture, Ctrl-C, and going on afterwards."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.kernel import Notebook, notebook_in
from tests.api.world import World, held
from tests.cli.world import QUICK, wait_for

import budwood
from budwood import UsageError
from budwood._core.model import TaskPhase
from budwood.api.picture import Picture, Row, as_html, as_text


@pytest.fixture
def notebook(world: World) -> Iterator[Notebook]:
    home = Path(world.env["HOME"])
    home.mkdir()
    with notebook_in(world.root, home=home) as made:
        yield made


def bar(html: str) -> tuple[int, int]:
    """Read the progress bar: how many have ended, of how many."""
    found = re.search(r'aria-valuemax="(\d+)" aria-valuenow="(\d+)"', html)
    assert found is not None, html
    return int(found[2]), int(found[1])


LIVE = """
import budwood, threading
held, quick = "until [ -e go ]; do sleep 0.05; done", "sleep 0.3; exit "
commands = [held if n < 2 else quick + ("1" if n == 3 else "0") for n in range(8)]
tasks = [budwood.command(command, id=f"t{n}") for n, command in enumerate(commands)]
run = budwood.start(tasks, name="night", slots=2)
run.show()
while sum(task.state == "active" for task in run.tasks()) < 2:
    threading.Event().wait(0.05)
threading.Timer(2.0, lambda: open("go", "w").close()).start()  # the picture has until then to show both
verdict = run.wait()
[thread.join(10) for thread in threading.enumerate() if thread.name == "budwood show"]
print(verdict.exit_code, [thread.name for thread in threading.enumerate() if thread.name.startswith("budwood")])
"""


@pytest.mark.slow
def test_a_run_shows_its_progress_in_place_until_it_rests(world: World, notebook: Notebook) -> None:
    cell = notebook.run(LIVE)
    assert (cell.error, cell.text) == ("", "1 []\n")
    [pictures] = cell.shown.values()
    seen = [bar(each["text/html"]) for each in pictures]
    assert len(pictures) > 3
    assert seen == sorted(seen)
    assert seen[-1] == (8, 8)
    assert any("2 running" in each["text/html"] and "t0" in each["text/html"] for each in pictures)
    assert any("left" in each["text/html"] for each in pictures)
    last = pictures[-1]
    assert "finished" in last["text/html"]
    assert "running" not in last["text/html"]
    assert re.search(r"t3</td><td[^>]*>exit code 1<", last["text/html"])
    assert last["text/plain"].splitlines()[0].startswith("night  finished  8/8")


@pytest.mark.slow
def test_an_interrupt_stops_the_wait_not_the_kernel_and_resume_goes_on(world: World, notebook: Notebook) -> None:
    notebook.run("import budwood, threading")
    request = notebook.begin(
        f"tasks = [budwood.command({HELD_COMMAND!r}, id=name, **keys) for name, keys in "
        "(('a', {}), ('b', {'after': ['a']}))]\n"
        "run = budwood.start(tasks, name='night', slots=1)\n"
        "run.show()\n"
        "threading.Timer(0.5, lambda: open('waiting', 'w').close()).start()\n"
        "run.wait()"
    )
    world.wait_began("a")
    wait_for((world.root / "waiting").exists, what="the cell to wait")
    notebook.interrupt()
    cell = notebook.finish(request)
    assert cell.error.startswith("KeyboardInterrupt")
    assert notebook.run("print(run.is_driven, run.state)").text == "True active\n"
    again = notebook.run("again = budwood.resume('night'); print(again.is_driven, run.is_driven)")
    assert (again.text, again.error) == ("True False\n", "")
    world.let_go()
    assert notebook.run("print(again.wait().counts['done'])").text == "2\n"
    assert world.lines("began-a") == ["1"]


@pytest.mark.slow
def test_an_interrupt_ends_an_await_at_once_and_the_run_goes_on(world: World, notebook: Notebook) -> None:
    notebook.run("import budwood, threading")
    notebook.run(f"run = budwood.start([budwood.command({HELD_COMMAND!r}, id='a')], name='night')")
    request = notebook.begin("threading.Timer(0.5, lambda: open('waiting', 'w').close()).start()\nverdict = await run")
    wait_for((world.root / "waiting").exists, what="the cell to wait")
    notebook.interrupt()
    assert notebook.finish(request).error.startswith("CancelledError")
    assert notebook.run("print(run.is_driven, run.state)").text == "True active\n"
    world.let_go()
    assert notebook.run("print((await run).exit_code)").text == "0\n"


@pytest.mark.slow
def test_cells_can_await_and_functions_of_a_cell_are_refused_with_what_to_do(world: World, notebook: Notebook) -> None:
    cell = notebook.run(
        "import budwood\n"
        "heard = []\n"
        "async def hear(event): heard.append(event.kind)\n"
        "run = budwood.start([budwood.command('true', id='a')], name='night', on_event=hear)\n"
        "verdict = await run\n"
        "print(verdict.exit_code, heard[-1])"
    )
    assert (cell.text, cell.error) == ("0 driver_stopped\n", "")
    cell = notebook.run("@budwood.task\ndef square(n): return n * n\nsquare.task(3)")
    assert "square is defined in a notebook or at a prompt" in cell.error
    written = notebook.run("%%writefile work.py\nimport budwood\n@budwood.task\ndef square(n):\n    return n * n")
    assert "Writing work.py" in written.text
    cell = notebook.run(
        "from work import square\n"
        "run = budwood.start([square.task(3)])\n"
        "print(run.wait().exit_code, run.result('square-3'))"
    )
    assert (cell.text, cell.error) == ("0 9\n", "")
    cell = notebook.run("import asyncio\nmain = asyncio.sleep(0)\nasyncio.run(main)")
    assert "cannot be called from a running event loop" in cell.error
    assert notebook.run("main.close(); print(budwood.start([square.task(4)]).wait().exit_code)").text == "0\n"
    shown = notebook.run("run")
    [[picture]] = shown.shown.values()
    assert bar(picture["text/html"]) == (1, 1)
    assert "finished" in picture["text/plain"]


HELD_COMMAND = held("x").run


# --- the picture ---


COUNTS = dict.fromkeys(TaskPhase, 0)


def test_names_and_reasons_are_text_never_markup() -> None:
    evil = "<script>alert(1)</script>\"'&"
    picture = Picture(
        name=evil,
        state=evil,
        counts={**COUNTS, TaskPhase.ACTIVE: 1, TaskPhase.FAILED: 1},
        running=(Row(evil, evil),),
        failed=(Row(evil, evil),),
    )
    html = as_html(picture)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 6


def test_a_long_list_is_cut_and_counted() -> None:
    rows = tuple(Row(f"t{n}", "1 s") for n in range(30))
    picture = Picture(name="night", state="active", counts={**COUNTS, TaskPhase.ACTIVE: 30}, running=rows)
    assert "and 22 more running" in as_html(picture)
    assert as_text(picture).count("\n") == 9


def test_time_left_and_cost_are_shown_when_they_are_known() -> None:
    picture = Picture(
        name="night",
        state="active",
        counts={**COUNTS, TaskPhase.DONE: 3, TaskPhase.READY: 1},
        elapsed_s=65,
        left_s=20.4,
    )
    assert as_text(picture) == "night  active  3/4  1 min 5 s  about 20 s left\n  3 done, 1 to come"
    assert "$" not in as_html(picture)
    assert "$1.50" in as_html(Picture(name="n", state="s", counts=COUNTS, cost_usd=1.5))


def test_a_run_without_tasks_yet_can_be_drawn() -> None:
    assert bar(as_html(Picture(name="n", state="active", counts=COUNTS))) == (0, 0)


def test_without_a_notebook_there_is_nothing_to_show_it_in_and_nothing_is_loaded(world: World) -> None:
    run = budwood.start([budwood.command(QUICK, id="a")], name="night")
    with pytest.raises(UsageError, match="there is no notebook"):
        run.show()
    run.wait()
    assert bar(run._repr_html_()) == (1, 1)
    said = world.run_script(
        """
        import sys
        import budwood

        run = budwood.open_run("night")
        try:
            run.show()
        except budwood.UsageError:
            print("IPython" in sys.modules)
        """
    )
    assert said.out == "False\n"


def test_a_picture_of_what_is_under_way_tells_what_runs_and_what_failed(world: World) -> None:
    run = budwood.start([budwood.command("exit 3", id="bad"), held("slow")], name="night", slots=2)
    world.wait_began("slow")
    wait_for(lambda: run.counts[TaskPhase.FAILED] == 1, what="the failure")
    for seen in (run, budwood.open_run("night")):
        html = seen._repr_html_()
        assert bar(html) == (1, 2)
        assert re.search(r"bad</td><td[^>]*>exit code 3<", html)
    world.let_go()
    run.wait()


def test_a_picture_of_another_processs_run_is_read_from_the_store(world: World, tmp_path: Path) -> None:
    world.plan(f"[[task]]\nid = 'a'\nrun = '''{HELD_COMMAND}'''")
    other = world.start("run", "plan.toml")
    world.wait_began("a")
    run = budwood.open_run("plan")
    wait_for(lambda: run.counts[TaskPhase.ACTIVE] == 1, what="the attempt to be recorded")
    html = run._repr_html_()
    assert "1 running" in html
    assert ">a</td>" in html
    world.let_go()
    assert world.finish(other).code == 0
    assert "finished" in run._repr_html_()
