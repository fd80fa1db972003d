"""The worker's script: alone with the standard library, on every Python from 3.8 on, and never growing."""

import ast
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from tests.executors.calling import GRACE_S, SURVIVES_TERM, Desk
from tests.support.mounts import mounted
from tests.support.scene import REPOSITORY

from budwood._core.model import AttemptPhase
from budwood.executors.base import Work
from budwood.executors.local.leftovers import INLINE_LOG_BYTES
from budwood.executors.local.workers import main as worker
from budwood.executors.local.workers.identity import SCRIPT
from budwood.executors.local.workers.wire import Asked, Told, decode
from budwood.testing.executor_calls import result_of

FUNCTIONS = (
    SURVIVES_TERM
    + """
import os, signal, subprocess, sys, time

def version():
    print("hello")
    return list(sys.version_info[:2])

def nothing():
    pass

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

def raises():
    raise ValueError("text")

def leaves():
    subprocess.Popen(["sleep", "300"])
    return os.getpid()

def dies():
    os._exit(3)

def hold_at_first():
    with open("counted", "a") as file:
        file.write("x")
    if os.path.getsize("counted") == 1:
        time.sleep(600)

def say(count):
    print("x" * count)

def used(text):
    return [len(text), time.process_time()]
"""
)
OLDEST = (3, 8)


def test_the_script_imports_nothing_but_the_standard_library_of_old_pythons() -> None:
    tree = ast.parse(SCRIPT.read_text(), feature_version=OLDEST)
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).partition(".")[0])
    assert names <= sys.stdlib_module_names


def test_both_sides_agree_on_what_travels_as_text() -> None:
    assert worker.INLINE_BYTES == INLINE_LOG_BYTES


@pytest.mark.parametrize(("heading", "struct"), [("asked", Asked), ("told", Told)])
def test_the_reference_lists_every_field(heading: str, struct: type[msgspec.Struct]) -> None:
    page = (REPOSITORY / "docs/reference/functions.md").read_text()
    _, _, table = page.partition(f"\n| {heading} | meaning |\n|---|---|\n")
    listed = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n")[0], re.MULTILINE)
    assert listed == list(struct.__struct_fields__)


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b'{"id": "1.1", "result": ' + b"[" * 100_000, b'{"id": "\xff"}', b'{"id": 7}', b""]
)
def test_a_line_that_is_no_answer_is_none(line: bytes) -> None:
    assert decode(line) is None


def test_long_arguments_take_no_more_than_their_share_of_time(desk: Desk) -> None:
    before, after = (desk.result("used", "x" * size) for size in (1, 40_000_000))
    assert isinstance(before, list)
    assert isinstance(after, list)
    assert after[0] == 40_000_000
    assert after[1] - before[1] < 3.0  # seconds of the processor: it is slow only if the line is copied again and again


def interpreters() -> dict[str, str]:
    """Find the Pythons of this machine by their versions."""
    found: dict[str, str] = {}
    beside = [str(path) for path in Path(sys.base_prefix).parent.glob("3.*/bin/python3")]
    for minor in range(OLDEST[1], 30):
        named = shutil.which(f"python3.{minor}")
        for path in [*([named] if named else []), *beside]:
            command = [path, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
            ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
            if ran.returncode == 0 and ran.stdout.strip() == f"3.{minor}":
                found.setdefault(f"3.{minor}", path)
    return found


@pytest.mark.long
def test_every_python_of_this_machine_serves(desk: Desk) -> None:
    found = interpreters()
    assert found
    for version, path in found.items():
        outcome = desk.python(desk.shop.work("version"), path)
        assert result_of(outcome) == [int(part) for part in version.split(".")]
        assert desk.last_log == b"hello\n"
        for name in ("raises", "leaves", "dies"):
            ended = desk.python(desk.shop.work(name), path)
            assert (ended.error_type or "") in ("exception", "", "exit")
            assert ended.measure.ended_processes == (1 if name == "leaves" else 0)


def test_a_namespace_contains_a_worker_too(desk: Desk) -> None:
    def contained(name: str) -> Work:
        return msgspec.structs.replace(desk.shop.work(name), contain="namespace")

    first = desk.outcome(contained("version"))
    if first.error_type == "spawn":
        pytest.skip(f"namespaces are not allowed here: {first.message}")
    assert first.phase is AttemptPhase.SUCCEEDED
    left = desk.outcome(contained("leaves"))
    assert result_of(left) != left.pid  # each is a number of its own namespace
    assert left.measure.ended_processes >= 1
    died = desk.outcome(contained("dies"))
    assert (died.exit_code, died.message) == (3, "the worker ended in this call: exit code 3")


def test_a_call_that_is_hit_by_the_limit_of_the_one_before_is_made_again(desk: Desk) -> None:
    desk.outlast_limit()
    outcome = desk.changed(desk.shop.work("hold_at_first"), grace_s=GRACE_S)
    assert outcome.phase is AttemptPhase.SUCCEEDED
    assert (desk.shop.root / "counted").read_text() == "xx"


def test_a_disk_that_fills_while_a_call_prints_is_the_machines_fault(desk: Desk) -> None:
    with mounted(desk.shop.paths.attempts, size="300k"):
        outcome = desk.call("say", 1_000_000)
        assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "disk_full")
        desk.executor.forget("1.1")
        assert desk.call("say", 10).phase is AttemptPhase.SUCCEEDED
        assert desk.last_log == b"x" * 10 + b"\n"
        desk.executor.close()


def test_a_disk_that_is_full_before_a_worker_starts_is_the_machines_fault(desk: Desk) -> None:
    with mounted(desk.shop.paths.attempts, size="300k") as attempts:
        _fill(attempts / "filler")
        assert desk.call("nothing").error_type == "disk_full"
        (attempts / "filler").unlink()
        assert desk.call("nothing").phase is AttemptPhase.SUCCEEDED
        desk.executor.close()


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_neither_driver_nor_worker_grows_from_call_to_call(desk: Desk, torture: bool) -> None:
    resident = Path("/proc/self/statm")

    def many(count: int) -> None:
        for _ in range(count):
            work = desk.shop.work("nothing")
            desk.executor.start(work)
            while not desk.endings:
                desk.loop.turn(1.0)
            assert desk.endings.pop()[1].phase is AttemptPhase.SUCCEEDED
            desk.executor.forget(work.id)

    def sizes() -> tuple[int, int]:
        own = int(resident.read_text().split()[1]) * 4096
        of_worker = desk.result("resident")
        assert isinstance(of_worker, int)
        desk.endings.clear()
        return own, of_worker

    many(2000)
    before = sizes()
    many(100_000 if torture else 10_000)
    after = sizes()
    assert [b - a < 2_000_000 for a, b in zip(before, after, strict=True)] == [True, True], (before, after)
