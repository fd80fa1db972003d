"""What is left when calls go wrong: of budwood, and of those that `functions.py` measures it beside.

    .venv/bin/python -m benchmarks.function_faults [--only budwood,pool,pebble,dask,optuna]

hangs     a call starts a process and never comes back; its limit is 2 s, where the tool has limits. What does the
          caller see, and is anything of the call still alive 3 s later?
leaves    the 20th of 100 calls ends its own process. What do the callers of all of them see?
killed    the program that makes 5,000 calls gets kill -9 on its way. How many results can be read afterwards?
"""

import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
from benchmarks.fault_peers import CALLS, LEAVES, LIMIT_S

ROOT = Path(__file__).parent.parent
MANY, ENOUGH = 5000, 1000
PEERS = ("pool", "pebble", "dask", "optuna")
_WITHIN_S = 120.0


@contextmanager
def stage() -> Iterator[Path]:
    """Make a directory with the functions in it; nothing that names it is left alive."""
    folder = Path(tempfile.mkdtemp(prefix="budwood-bench-"))
    shutil.copy(ROOT / "benchmarks/bench_target.py", folder)
    (folder / "budwood.toml").touch()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def program(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a session of its own; end whatever is left of it."""
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def peer_command(fault: str, peer: str, pids: Path) -> list[str]:
    """Return how a peer takes a fault."""
    return [sys.executable, "-m", "benchmarks.fault_peers", fault, peer, str(pids)]


def plan_command(folder: Path, tasks: list[dict[str, object]]) -> list[str]:
    """Write a plan; return how budwood runs it."""
    (folder / "plan.json").write_text(json.dumps({"run": {"slots": 2}, "task": tasks}))
    return [str(Path(sys.executable).parent / "budwood"), "run", "plan.json", "--quiet"]


def ask_store(folder: Path, query: str) -> list[tuple[object, ...]]:
    """Read budwood's store."""
    with closing(sqlite3.connect(f"file:{folder / '.budwood/store.db'}?mode=ro", uri=True)) as store:
        return list(store.execute(query))


# --- a call that hangs ---


def hangs(tool: str) -> str:
    """Say what the caller sees and what of the call still lives."""
    with stage() as folder:
        pids = folder / "pids"
        task = {"id": 0, "function": "bench_target:hang", "args": [str(pids)], "timeout": LIMIT_S}
        command = plan_command(folder, [task]) if tool == "budwood" else peer_command("hangs", tool, pids)
        with program(command, folder) as process:
            assert process.stdout is not None
            if tool == "budwood":
                process.wait(_WITHIN_S)
                [(seen,)] = ask_store(folder, "SELECT state FROM attempts")
            else:
                seen = json.loads(process.stdout.readline())
            time.sleep(3)
            worker, child = (_is_alive(int(pid)) for pid in pids.read_text().split())
            _end(int(pid) for pid in pids.read_text().split())
    left = [name for name, alive in (("the call", worker), ("its process", child)) if alive]
    return f"{seen}; still alive: {' and '.join(left) or 'nothing'}"


def _is_alive(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def _end(pids: Iterator[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# --- a call that ends its process ---


def leaves(tool: str) -> str:
    """Say how all calls ended."""
    with stage() as folder:
        tasks: list[dict[str, object]] = [
            {"id": number, "function": "bench_target:leave_if", "args": [number, LEAVES]} for number in range(CALLS)
        ]
        command = plan_command(folder, tasks) if tool == "budwood" else peer_command("leaves", tool, folder)
        with program(command, folder) as process:
            assert process.stdout is not None
            if tool == "budwood":
                process.wait(_WITHIN_S)
                seen = Counter(str(state) for (state,) in ask_store(folder, "SELECT state FROM tasks"))
            else:
                seen = json.loads(process.stdout.readline())
    return ", ".join(f"{count} {state}" for state, count in seen.items())


# --- a program that is killed ---


def killed(tool: str) -> str:
    """Say what can be read after kill -9 in the middle; budwood is then started again."""
    if tool == "budwood":
        return _killed_budwood()
    with stage() as folder:
        staged = set(folder.iterdir())
        command = [sys.executable, "-m", "benchmarks.function_peers", tool, str(MANY)]
        with program(command, folder) as process:
            journal, begin = folder / "journal.log", time.monotonic()
            _wait(lambda: _lines(journal) > 2 * ENOUGH or time.monotonic() > begin + 3, process)
        if set(folder.iterdir()) == staged:
            return "nothing is on disk"
        states = _states_of(folder)
    return ", ".join(f"{count} {state}" for state, count in sorted(states.items()))


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def _states_of(folder: Path) -> Counter[str]:
    code = "from benchmarks.function_peers import open_study\nfor t in open_study().trials: print(t.state.name)"
    with program([sys.executable, "-c", code], folder) as process:
        assert process.stdout is not None
        return Counter(process.stdout.read().split())


def _killed_budwood() -> str:
    with stage() as folder:
        tasks: list[dict[str, object]] = [
            {"id": number, "function": "bench_target:noop", "args": [number]} for number in range(MANY)
        ]
        command = plan_command(folder, tasks)
        with program(command, folder) as process:
            _wait(lambda: _results(folder) >= ENOUGH, process)
        readable = _results(folder)
        with program(command, folder) as process:
            process.wait(_WITHIN_S)
        results = _results(folder)
    return f"{readable} results; started again, {results} of {MANY}"


def _results(folder: Path) -> int:
    try:
        [(count,)] = ask_store(folder, "SELECT count(*) FROM results")
    except sqlite3.OperationalError:  # it is not there yet
        return 0
    return int(str(count))


def _wait(until: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so; a program that has ended by then has nothing more to lose."""
    while not until():
        if process.poll() is not None:
            return
        time.sleep(0.01)


def main() -> None:
    """Try everything with everybody."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(["budwood", *PEERS]))
    for tool in parser.parse_args().only.split(","):
        print(tool)
        for fault in (hangs, leaves, killed):
            print(f"  {fault.__name__:8} {fault(tool)}", flush=True)


if __name__ == "__main__":
    main()
