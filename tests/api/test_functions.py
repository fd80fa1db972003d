"""Functions as tasks, from programs as users write them: where workers find them, and what comes back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.api import work
from tests.api.world import World, held

import budwood
from budwood import SettingsError, TaskFailed, UsageError
from budwood.api.importable import Importable

pytestmark = pytest.mark.slow
SEARCH = """
    import sys
    import budwood

    @budwood.task
    def square(number: int) -> int:
        print("squaring", number)
        return number * number

    @budwood.task(retries=1)
    def divide(by: int) -> float:
        return 1 / by

    @budwood.task
    async def later(text: str) -> dict[str, str]:
        return {"said": text}

    @budwood.task
    def interpreter() -> str:
        return sys.executable

    if __name__ == "__main__":
        first = square.task(3)
        tasks = [first, square.options(id="after", after=[first]).task(number=4), divide.task(0), later.task("hi")]
        run = budwood.start([*tasks, interpreter.task()], name="search", slots=2, backoff="1ms")
        verdict = run.wait()
        print(verdict.counts["done"], verdict.failed)
        print([result.value for result in run.results()])
        print(run.result("interpreter") == sys.executable)
        run.result("divide-0")
"""


def test_functions_of_a_script_are_called_and_their_results_come_back(world: World) -> None:
    said = world.run_script(SEARCH, name="search.py", code=1)
    shown = f"[9, 16, None, {{'said': 'hi'}}, {sys.executable!r}]"
    assert said.out.splitlines() == ["4 ('divide-0',)", shown, "True"]
    assert "TaskFailed: task divide-0 of run search: ZeroDivisionError: division by zero\nTraceback" in said.err
    assert f'  File "{world.root}/search.py", line 12, in divide\n    return 1 / by\n' in said.err
    assert "squaring 3" in world.call("logs", "search", "square-3").out
    state = world.state("search")
    assert [task.spec.function for task in state.tasks][:2] == ["search:square", "search:square"]
    assert state.settings.python == sys.executable


def test_a_program_that_is_started_again_calls_nothing_again(world: World) -> None:
    guard = SEARCH.replace('run.result("divide-0")', "")
    world.run_script(guard, name="search.py")
    before = len(world.events("search"))
    said = world.run_script(guard, name="search.py")
    assert said.out.startswith("4 ('divide-0',)")
    assert len(world.events("search")) == before


def test_a_failed_task_carries_the_traceback_of_its_function(world: World) -> None:
    world.write("broken.py", "def fail(text):\n    raise KeyError(text)\n")
    run = budwood.start([budwood.call("broken:fail", args=["lost"], id="x")], directory=world.root)
    run.wait()
    with pytest.raises(TaskFailed, match="task x of run run: KeyError: 'lost'") as caught:
        run.result("x")
    assert caught.value.traceback.splitlines()[-2:] == ["    raise KeyError(text)", "KeyError: 'lost'"]
    assert caught.value.__notes__ == [caught.value.traceback]
    [result] = run.results()
    assert result.error is not None
    assert (result.error.type, result.error.traceback) == ("exception", caught.value.traceback)


def test_a_script_below_the_projects_root_is_imported_by_its_path(world: World) -> None:
    said = world.run_script(SEARCH.replace('run.result("divide-0")', ""), name="tools/search.py")
    assert said.out.startswith("4 ('divide-0',)")
    assert world.state("search").tasks[0].spec.function == "tools.search:square"


def test_a_program_started_as_a_module_is_imported_as_that(world: World) -> None:
    world.write("pack/__init__.py", "")
    world.write("pack/search.py", SEARCH.replace('run.result("divide-0")', ""))
    command = [sys.executable, "-m", "pack.search"]
    ran = subprocess.run(command, cwd=world.root, env=world.env, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.startswith("4 ('divide-0',)")
    assert world.state("search").tasks[0].spec.function == "pack.search:square"


def test_a_script_that_starts_its_run_without_a_guard_is_stopped_in_the_worker(world: World) -> None:
    said = world.run_script(
        """
        import budwood

        @budwood.task
        def square(number):
            return number * number

        run = budwood.start([square.task(3)], name="search")
        print(run.wait().exit_code, run.results()[0].error.message)
        """,
        name="search.py",
    )
    assert "1 UsageError: a run is started while a worker imports this module" in said.out
    assert 'if __name__ == "__main__":' in said.out
    assert [row.name for row in world.runs()] == ["search"]


def test_a_function_may_start_a_run_of_its_own(world: World) -> None:
    world.write(
        "nested.py",
        """
        import budwood

        def inner():
            run = budwood.start([budwood.command("echo inner", id="a")], name="inner", directory="below")
            return int(run.wait().exit_code)
        """,
    )
    (world.root / "below").mkdir()
    run = budwood.start([budwood.call("nested:inner", id="outer")], name="outer")
    assert run.wait().exit_code == 0
    assert run.result("outer") == 0


@pytest.mark.parametrize("how", ["-c", "-"])
def test_a_function_at_a_prompt_is_refused_at_once(world: World, how: str) -> None:
    code = "import budwood\n@budwood.task\ndef square(n): return n\nsquare.task(3)\n"
    command = [sys.executable, how, *([code] if how == "-c" else [])]
    ran = subprocess.run(
        command, input=code, cwd=world.root, env=world.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert "square is defined in a notebook or at a prompt: a worker cannot import it" in ran.stderr
    assert "%%writefile" in ran.stderr


def test_a_script_that_no_worker_can_import_is_refused_by_start(world: World, tmp_path: Path) -> None:
    text = SEARCH.replace("slots=2", "slots=2, directory=sys.argv[1]")
    said = world.run_script(text, str(world.root), name="my-search.py", code=1)
    assert "a worker cannot import my-search.py: that is no module's name" in said.err
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    said = world.run_script(text, str(elsewhere), name="search.py", code=1)
    assert f"workers of this run import from {elsewhere}, and search.py is in {world.root}" in said.err
    assert f'hint: directory="{world.root}"' in said.err


def test_a_module_beside_a_script_that_workers_do_not_find_is_refused_by_start(world: World) -> None:
    world.write("tools/model.py", "def fit(x):\n    return x\n")
    text = """
        import sys
        import budwood
        import model

        if __name__ == "__main__":
            keys = {"directory": sys.argv[1]} if len(sys.argv) > 1 else {}
            print(budwood.start([budwood.call(model.fit, args=[1])], **keys).wait().counts["done"])
    """
    said = world.run_script(text, name="tools/fit.py", code=1)
    assert f"workers of this run import from {world.root}, and model is in {world.root}/tools" in said.err
    assert f'hint: directory="{world.root}/tools"' in said.err
    assert world.run_script(text, f"{world.root}/tools", name="tools/fit.py").out == "1\n"


def test_a_module_that_only_pythonpath_finds_is_refused_unless_that_is_handed_on(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "faraway.py").write_text("def here():\n    return 'here'\n")
    monkeypatch.syspath_prepend(library)
    monkeypatch.setenv("PYTHONPATH", str(library))
    import faraway  # type: ignore[import-not-found]

    with pytest.raises(UsageError, match="faraway is in") as caught:
        budwood.start([budwood.call(faraway.here)])
    assert "env_pass" in (caught.value.hint or "")
    run = budwood.start([budwood.call(faraway.here)], env_pass=["PYTHONPATH"])
    run.wait()
    assert run.result("here") == "here"


@pytest.mark.parametrize(("module", "way"), [("faraway", "directory="), ("pack.faraway", "env_pass=")])
def test_a_program_run_as_a_module_that_only_pythonpath_finds_is_refused_too(
    world: World, tmp_path: Path, module: str, way: str
) -> None:
    path = tmp_path / "library" / f"{module.replace('.', '/')}.py"
    path.parent.mkdir(parents=True)
    path.write_text("import budwood\n\ndef here():\n    return 1\n\nbudwood.start([budwood.call(here)]).wait()\n")
    command = [sys.executable, "-m", module]
    env = {**world.env, "PYTHONPATH": str(tmp_path / "library")}
    said = subprocess.run(command, cwd=world.root, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 1
    assert f"{module} is in {tmp_path / 'library'}" in said.stderr
    assert f"hint: {way}" in said.stderr


def test_modules_that_are_installed_or_unknown_here_are_left_to_the_worker(tmp_path: Path) -> None:
    complete = Importable(tmp_path).complete
    for name in ("json:dumps", "budwood.api.calls:task", "not_here:work", "sys:exit"):
        task = budwood.call(name, id="a")
        assert complete(task) is task
    command = budwood.command("true")
    assert complete(command) is command


def test_a_strategys_functions_are_those_of_its_script(world: World) -> None:
    said = world.run_script(
        """
        import budwood

        @budwood.task
        def double(number):
            return 2 * number

        class Doubling(budwood.Strategy):
            def __init__(self, steps):
                self.steps = steps
                self.value = 1

            def ask(self, number, random):
                return [double.options(id=f"step-{number}").task(self.value)] if number < self.steps else []

            def tell(self, told):
                self.value = told.result

        if __name__ == "__main__":
            run = budwood.start(strategy=Doubling(5), name="double")
            run.wait()
            print([result.value for result in run.results()])
        """,
        name="doubling.py",
    )
    assert said.out == "[2, 4, 8, 16, 32]\n"
    state = world.state("double")
    assert (state.strategy, state.options) == ("doubling:Doubling", {"steps": 5})
    assert world.call("resume", "double").code == 0


def test_the_interpreter_that_somebody_named_is_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(work.__file__).parents[2])
    monkeypatch.setenv("BUDWOOD_PYTHON", sys.executable + "-missing")
    with pytest.raises(SettingsError, match=r"there is no program .*-missing"):
        budwood.start([budwood.call("os:getpid", id="x")], directory=world.root)
    assert not world.has_store
    (world.root / "other-python").symlink_to(sys.executable)
    monkeypatch.setenv("BUDWOOD_PYTHON", "./other-python")
    budwood.start([budwood.call("os:getpid", id="x")], directory=world.root).wait()
    assert world.state("run").settings.python == str(world.root / "other-python")
    monkeypatch.delenv("BUDWOOD_PYTHON")
    run = budwood.start([budwood.call("os:getpid", id="x")], directory=world.root)
    assert run.wait().exit_code == 0
    assert run.result("x") != os.getpid()


def test_a_program_that_leaves_at_once_knows_what_goes_on_and_what_is_called_again(world: World) -> None:
    world.write(
        "held_work.py",
        """
        import os, time

        def wait():
            with open("began-a", "a") as file:
                file.write("began\\n")
            while not os.path.exists("go"):
                time.sleep(0.01)
        """,
    )
    run = budwood.start([budwood.call("held_work:wait", id="a"), held("b")], name="night", slots=2)
    world.wait_began("a", "b")
    run.stop(now=True)
    verdict = run.wait()
    assert (verdict.calls, verdict.running) == (("a",), ("b",))
    world.let_go()
    assert budwood.resume("night").wait().exit_code == 0
    assert (world.lines("began-a"), world.lines("began-b")) == (["began", "began"], ["1"])
