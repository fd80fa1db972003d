"""Calls of functions in real workers: what goes in, what comes back, what a call may do to its process."""

import os
import sys
import venv
from pathlib import Path

import msgspec
import pytest
from tests.executors.calling import Desk, Shop, at_desk

from budwood._core.model import AttemptPhase, Outcome, Usage
from budwood.testing.executor_calls import result_of

FUNCTIONS = '''
import asyncio, os, random, signal, subprocess, sys, threading, time

LOADED = time.time()

def give(*args, **kwargs):
    return [args, kwargs]

def pid():
    return os.getpid()

def variables():
    return {name: value for name, value in os.environ.items()}

def seen_by_programs(change):
    if change:
        os.environ["BUDWOOD_TASK"] = change
    return subprocess.run("echo $BUDWOOD_TASK", shell=True, capture_output=True, text=True).stdout.strip()

def place():
    return [os.getcwd(), sys.path[0], sys.argv, sys.stdin.read(), __import__("__main__").__dict__.get("__file__")]

class Tools:
    """Functions in a class."""

    @staticmethod
    def double(x):
        return 2 * x

    class Inner:
        @classmethod
        def name(cls):
            return cls.__name__

class Callable:
    def __call__(self, x):
        return x + 1

class Wrapper:
    def __init__(self, function):
        self.__wrapped__ = function

increment = Callable()
wrapped = Wrapper(lambda x: x * 10)
NUMBER = 7

async def later(x):
    await asyncio.sleep(0.001)
    return [x, await deeper(x)]

async def deeper(x):
    if x == "raise":
        raise KeyError("deep")
    return x * 2

def move():
    os.chdir("/")
    os.environ["ADDED"] = "1"
    os.environ["BUDWOOD_TASK"] = "other"
    os.environ.pop("BUDWOOD_RUN")
    os.umask(0o077)
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))

def replace_environment():
    os.environ = {"ONLY": "this"}

def state():
    mask = os.umask(0)
    os.umask(mask)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    variables = [os.environ.get(name) for name in ("ADDED", "BUDWOOD_TASK", "BUDWOOD_RUN")]
    return [os.getcwd(), mask, len(blocked), *variables]

def vanish():
    os.mkdir("inner")
    os.chdir("inner")
    os.rmdir(os.getcwd())

def spend(cost):
    with open(os.environ["BUDWOOD_USAGE"], "w") as file:
        file.write(cost)

def odd_usage():
    os.mkfifo(os.environ["BUDWOOD_USAGE"])

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

def burn_in_child():
    subprocess.run([sys.executable, "-c", "for _ in range(3_000_000): pass"], check=True)

def leave_a_thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
'''


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((1, -2.5, None, True, "ü ∞ \U0001f333 \0 \n"), {}),
        (([1, [2, {"a": []}]],), {"key": {"x": 10**30}, "ключ": ""}),
        (("x" * 3_000_000,), {"y": list(range(100))}),
    ],
    ids=["nothing", "plain", "nested", "large"],
)
def test_arguments_arrive_and_come_back(desk: Desk, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    assert desk.result("give", *args, **kwargs) == [list(args), kwargs]


def test_a_worker_serves_call_after_call(desk: Desk) -> None:
    pids = {desk.result("pid") for _ in range(20)}
    assert len(pids) == 1
    assert pids != {os.getpid()}


def test_what_is_measured_of_a_call_is_the_calls(desk: Desk) -> None:
    first, second = desk.call("burn", 0.2), desk.call("give")
    assert (first.pid, first.exit_code) == (second.pid, None)
    assert first.began_at_ms is not None
    assert second.began_at_ms is not None
    assert 150 <= second.began_at_ms - first.began_at_ms < 20_000
    assert 0.2 <= first.measure.wall_s < 10
    assert 0.2 <= first.measure.cpu_s <= first.measure.wall_s + 0.01
    assert second.measure.wall_s < 0.1
    assert first.measure.peak_memory_bytes > 4_000_000
    assert desk.call("burn_in_child").measure.cpu_s > 0.02
    assert desk.call("give").measure.cpu_s < 0.02


def _names(outcome: Outcome) -> list[str]:
    variables = result_of(outcome)
    assert isinstance(variables, dict)
    return list(variables)


def test_each_call_has_its_own_variables(desk: Desk) -> None:
    for number in (1, 2):
        variables = desk.result("variables")
        assert isinstance(variables, dict)
        assert (variables["BUDWOOD_TASK"], variables["BUDWOOD_RUN"]) == (f"t{number}", "shop")
        assert variables["BUDWOOD_MARK"].startswith(desk.shop.run_id)
        assert len(variables["TMPDIR"]) < 100
    work = desk.shop.work("variables")
    env = {**work.env, "BUDWOOD_NEW": "x"}
    assert "BUDWOOD_NEW" in _names(desk.changed(work, env=env))
    assert "BUDWOOD_NEW" not in _names(desk.call("variables"))


def test_programs_that_a_call_starts_see_its_variables(desk: Desk) -> None:
    for number, change in ((1, ""), (2, ""), (3, "changed"), (4, "")):
        assert desk.result("seen_by_programs", change) == (change or f"t{number}")
    for task in ("long" * 1000, "short", "longer" * 2000):
        work = desk.shop.work("seen_by_programs", "")
        assert result_of(desk.changed(work, env={**work.env, "BUDWOOD_TASK": task})) == task


def test_a_secret_does_not_arrive_and_what_is_named_does(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cret")
    with at_desk(Shop(desk.shop.root), 2) as other:
        other.shop.made = 100
        plain = other.call("variables")
        named = other.changed(other.shop.work("variables"), env_pass=("MY_*",))
    assert "MY_SECRET" not in _names(plain)
    assert "MY_SECRET" in _names(named)


def test_a_call_begins_in_the_project_with_nothing_to_read(desk: Desk) -> None:
    root = str(desk.shop.root)
    assert desk.result("place") == [root, root, [""], "", None]


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("work:Tools.double", (21,), 42),
        ("work:Tools.Inner.name", (), "Inner"),
        ("work:increment", (1,), 2),
        ("work:wrapped", (4,), 40),
        ("os.path:basename", ("/a/b",), "b"),
        ("json:loads", ("[1]",), [1]),
        ("work:later", (3,), [3, 6]),
    ],
)
def test_whatever_can_be_called_by_name_is(desk: Desk, name: str, args: tuple[object, ...], expected: object) -> None:
    assert desk.result(name, *args) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("work:missing", "AttributeError: module 'work' has no attribute 'missing'"),
        ("work:Tools.missing", "AttributeError: type object 'Tools' has no attribute 'missing'"),
        ("work:NUMBER", "TypeError: work:NUMBER cannot be called: it is a value of type int"),
        ("broken:f", "ZeroDivisionError: division by zero"),
        ("wrong:f", "SyntaxError: "),
        ("leaving:f", "it called sys.exit(4); a function returns"),
    ],
)
def test_what_cannot_be_imported_is_a_fault_of_set_up(desk: Desk, name: str, message: str) -> None:
    desk.shop.write("def f():\n    pass\n\nprint('so far')\n1 / 0\n", module="broken")
    desk.shop.write("def f(:\n", module="wrong")
    desk.shop.write("import sys\nsys.exit(4)\n", module="leaving")
    outcome = desk.call(name)
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "import")
    assert outcome.message.startswith(message)
    assert isinstance(outcome.traceback, str)
    assert "main.py" not in outcome.traceback
    assert "importlib" not in outcome.traceback
    if name == "broken:f":
        assert 'broken.py", line 5, in <module>\n    1 / 0\n' in outcome.traceback
        assert desk.last_log == b"so far\n" + outcome.traceback.encode()
    assert desk.result("give") == [[], {}]


def test_wrong_arguments_are_an_exception_of_the_call(desk: Desk) -> None:
    outcome = desk.call("work:Tools.double", 1, 2, 3)
    assert (outcome.error_type, outcome.message[:10]) == ("exception", "TypeError:")
    assert isinstance(outcome.traceback, str)
    assert "main.py" not in outcome.traceback


def test_an_asynchronous_function_shows_its_own_frames_only(desk: Desk) -> None:
    outcome = desk.call("later", "raise")
    assert (outcome.error_type, outcome.message) == ("exception", "KeyError: 'deep'")
    assert isinstance(outcome.traceback, str)
    assert "in later" in outcome.traceback
    assert "in deeper" in outcome.traceback
    assert "asyncio" not in outcome.traceback.replace("await asyncio", "")


@pytest.mark.parametrize("change", ["move", "vanish", "replace_environment", "leave_a_thread"])
def test_what_a_call_changed_is_put_back_for_the_next(desk: Desk, change: str) -> None:
    before = desk.result("state")
    pid = desk.result("pid")
    desk.call(change)
    after = desk.result("state")
    assert isinstance(before, list)
    assert isinstance(after, list)
    assert (before.pop(4), after.pop(4)) == ("t1", "t4")
    assert after == before
    assert desk.result("pid") == pid


def test_what_a_call_says_that_it_cost_is_the_calls(desk: Desk) -> None:
    assert desk.call("spend", '{"cost_usd": 0.5, "tokens": 7}').usage == Usage(cost_usd=0.5, tokens=7)
    assert desk.call("give").usage == Usage()
    assert "not JSON" in desk.call("spend", "nonsense").usage.problem
    assert desk.call("spend", "x" * 100_000).usage == Usage()
    assert desk.call("odd_usage").usage == Usage()
    assert desk.call("spend", '{"tokens": 1}').usage == Usage(tokens=1)


def test_a_worker_keeps_a_module_and_the_next_drive_sees_its_edit(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.write("def version():\n    return 1\n")
    with at_desk(shop) as desk:
        assert desk.result("version") == 1
        shop.write("def version():\n    return 2  # longer, so that no cached byte code is taken for it\n")
        assert desk.result("version") == 1
    with at_desk(shop, 2) as desk:
        assert desk.result("version") == 2


def test_a_module_that_prints_while_it_is_imported_prints_into_its_first_call(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.write("print('loaded')\ndef f():\n    print('called')\n")
    with at_desk(shop) as desk:
        logs = [(desk.call("f"), desk.last_log)[1] for _ in range(2)]
    assert logs == [b"loaded\ncalled\n", b"called\n"]


def test_a_call_that_needs_another_process_gets_one(desk: Desk) -> None:
    def pid_with(**changes: object) -> object:
        return result_of(desk.changed(desk.shop.work("pid"), **changes))

    plain = pid_with()
    env = {**desk.shop.work("pid").env, "SOME": "thing"}
    assert pid_with(env=env) != plain
    other = pid_with(memory_bytes=10**9)
    assert other != plain
    assert pid_with(memory_bytes=10**9) == other
    elsewhere = desk.shop.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "work.py").write_text("def pid():\n    return 'elsewhere'\n")
    assert pid_with(cwd=str(elsewhere)) == "elsewhere"


def test_an_interpreter_without_budwood_serves(desk: Desk, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    look = (
        "import sys\ndef look():\n    try:\n        import budwood\n    except ImportError:\n        return sys.prefix"
    )
    desk.shop.write(look, module="look")
    outcome = desk.python(desk.shop.work("look:look"), str(tmp_path / "bare/bin/python"))
    assert result_of(outcome) == str(tmp_path / "bare")


@pytest.mark.parametrize(
    ("python", "kind", "said"),
    [
        ("/nowhere/python", "not_found", "/nowhere/python"),
        ("no-such-python-7", "not_found", "no-such-python-7"),
        ("./plain.txt", "denied", "./plain.txt"),
        ("./leaves", "spawn", "no worker starts: exit code 9; it said: this is no Python"),
    ],
)
def test_an_interpreter_that_does_not_start_fails_the_call(desk: Desk, python: str, kind: str, said: str) -> None:
    (desk.shop.root / "plain.txt").write_text("")
    (desk.shop.root / "leaves").write_text("#!/bin/sh\necho this is no Python\nexit 9\n")
    (desk.shop.root / "leaves").chmod(0o755)
    outcome = desk.python(desk.shop.work("give"), python)
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, kind)
    assert said in outcome.message
    assert desk.result("give") == [[], {}]


def test_a_directory_that_is_gone_fails_the_call(desk: Desk) -> None:
    outcome = desk.changed(desk.shop.work("give"), cwd=str(desk.shop.root / "gone"))
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "no_directory")


def test_the_interpreter_is_looked_for_on_the_path(desk: Desk) -> None:
    env = {**desk.shop.work("give").env, "PATH": str(Path(sys.executable).parent)}
    work = desk.shop.work("pid")
    assert work.call is not None
    call = msgspec.structs.replace(work.call, python=Path(sys.executable).name)
    assert desk.changed(work, call=call, env=env).phase is AttemptPhase.SUCCEEDED
