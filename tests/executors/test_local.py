"""The local executor, with real supervisors and processes, against the contract."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.support.scene import RUNTIME, Scene, survivors

from budwood.executors.base import Call, Executor, Step, Work
from budwood.executors.local import LocalExecutor, RunPaths, find_binary, make_runtime
from budwood.testing.executors import CallKind, ExecutorConformance, ExecutorWorld, Kind

_SAY = 'echo "$BUDWOOD_ATTEMPT" >> effects; '
_COMMANDS: dict[Kind, str] = {
    "succeeds": "true",
    "fails": "exit 3",
    "holds": 'read line < "gate-$BUDWOOD_ATTEMPT"',
    "prints": "echo hello",
    "reads": "cat",
}


_CALLS = """
import os, time

def _say():
    with open("effects", "a") as effects:
        effects.write(os.environ["BUDWOOD_ATTEMPT"] + "\\n")
    return [os.environ["BUDWOOD_ATTEMPT"], {"and": None}]

def returns():
    return _say()

def raises():
    _say()
    raise ValueError("not today")

def dies():
    _say()
    os._exit(3)

def holds():
    result = _say()
    with open("gate-" + result[0]) as gate:
        gate.readline()
    return result

def prints():
    print("hello")
    return _say()

def spends():
    _say()
    with open(os.environ["BUDWOOD_USAGE"], "w") as file:
        file.write('{"cost_usd": 0.5}')
    time.sleep(600)
"""


class LocalWorld(ExecutorWorld):
    """A run's directory, with gates that attempts wait at."""

    def __init__(self, root: Path) -> None:
        self.scene = Scene(root, ())
        self._root = root
        run_id = self.scene.run_id
        self._paths = RunPaths(root / ".budwood" / "runs" / run_id, runtime=make_runtime(RUNTIME, run_id))
        self._slots: dict[str, str] = {}
        (root / "calls.py").write_text(_CALLS)

    def executor(self) -> Executor:
        return LocalExecutor(self._paths, run_id=self.scene.run_id, binary=find_binary(), environ=os.environ)

    def work(self, work_id: str, kind: Kind, *, slot: int = 0, timeout_s: float | None = None) -> Work:
        step = Step(name="run", argv=("/bin/sh", "-c", _SAY + _COMMANDS[kind]))
        return msgspec.structs.replace(self._work(work_id, kind, slot=slot, timeout_s=timeout_s), steps=(step,))

    def call(self, work_id: str, kind: CallKind, *, slot: int = 0, timeout_s: float | None = None) -> Work:
        work = self._work(work_id, kind, slot=slot, timeout_s=timeout_s)
        self._slots[work_id] = f"w{slot}"
        return msgspec.structs.replace(work, call=Call(function=f"calls:{kind}", python=sys.executable))

    def _work(self, work_id: str, kind: Kind | CallKind, *, slot: int, timeout_s: float | None) -> Work:
        gate = self._root / f"gate-{work_id}"
        if kind == "holds" and not gate.exists():
            os.mkfifo(gate)
        self._slots[work_id] = str(slot)
        env = {"BUDWOOD_ATTEMPT": work_id}
        return Work(id=work_id, slot=slot, cwd=str(self._root), env=env, timeout_s=timeout_s, grace_s=1.0)

    def let_go(self, work_id: str) -> None:
        (self._root / f"gate-{work_id}").write_text("go\n")

    def transcript(self, work_id: str, name: str) -> bytes:
        return (self._paths.attempt(work_id) / name).read_bytes()

    def lose(self, work_id: str) -> None:
        info = json.loads((self._paths.slot(self._slots[work_id]) / "info.json").read_text())
        os.kill(info["pid"], signal.SIGKILL)

    def runs_of(self, work_id: str) -> int:
        effects = self._root / "effects"
        return effects.read_text().split().count(work_id) if effects.exists() else 0


class TestLocalExecutor(ExecutorConformance):
    @pytest.fixture
    def local(self, tmp_path: Path) -> Iterator[LocalWorld]:
        world = LocalWorld(tmp_path)
        yield world
        deadline = time.monotonic() + 5
        while survivors(world.scene) and time.monotonic() < deadline:
            time.sleep(0.01)
        left = survivors(world.scene)
        if left:  # a test that failed leaves an attempt at its gate
            mark = f"{world.scene.run_id}:*"
            subprocess.run([find_binary(), "sweep", "--mark", mark], check=False, stdout=subprocess.DEVNULL)
        assert left == []

    @pytest.fixture
    def world(self, local: LocalWorld) -> ExecutorWorld:
        return local
