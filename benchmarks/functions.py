"""How many calls of a Python function a second, each with rows of its own, beside what others do, in the same run.

    .venv/bin/python -m pip install -c constraints.txt -e '.[bench]'
    .venv/bin/python benchmarks/functions.py [--calls 20000] [--slow-calls 2000] [--rounds 5] [--memory-calls 100000]
                                             [--only run,terminal,api,pool,pebble,dask,optuna,commits,memory]
                                             [--json FILE]

The function gives back its argument; each tool calls it so often in two processes. Every tool runs in turn, round after
round, so that a noisy minute hits all of them; the figures are medians, and ratios of medians. Start-up (a run of two
calls) is measured in the same rounds and taken off. The slow ones make fewer calls, which is in their favour: a call of
theirs becomes dearer when there are more. budwood runs as shipped, with a fresh SQLite store and full durability; after
each run its store is read by SQL: for every call a task that is done, an attempt that succeeded, and its result.

`commits` counts the transactions of one run. `memory` is one run of many calls: what its processes hold after the first
10,000 and after the last, while a call that does nothing but wait keeps them there.
"""

import argparse
import json
import os
import pty
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
SLOTS = 2
START_UP_CALLS = 2
FIRST_LOOK = 10_000
REST_S = 3.0


@dataclass(frozen=True)
class Tool:
    """One way to make calls."""

    title: str
    command: Callable[[int, Path], list[str]]
    """Prepare a directory; return what to run in it."""
    slow: bool = False
    stores: bool = False
    """Whether it leaves a store of ours behind."""
    terminal: bool = False


@dataclass
class Timings:
    """Seconds by tool, of whole runs and of start-up."""

    whole: dict[str, list[float]] = field(default_factory=dict)
    start: dict[str, list[float]] = field(default_factory=dict)

    def net_s(self, tool: str) -> float:
        """Return the middle run without the middle start-up."""
        return statistics.median(self.whole[tool]) - statistics.median(self.start[tool])


# --- budwood ---


def write_plan(calls: int, folder: Path, *, rests: bool = False) -> list[str]:
    """Write a plan of calls; return the command. What `rests` comes last, because of its priority."""
    tasks: list[dict[str, object]] = [
        {"id": number, "function": "bench_target:noop", "args": [number]} for number in range(calls)
    ]
    if rests:
        tasks.append({"id": "rest", "function": "bench_target:rest", "args": [REST_S], "priority": -1})
    (folder / "plan.json").write_text(json.dumps({"run": {"slots": SLOTS}, "task": tasks}))
    _bring_target(folder)
    return [str(BIN / "budwood"), "run", "plan.json"]


def use_api(calls: int, folder: Path) -> list[str]:
    """Return a program that makes the calls through the Python interface."""
    _bring_target(folder)
    shutil.copy(HERE / "function_api.py", folder)
    return [sys.executable, "function_api.py", str(calls), str(SLOTS)]


def _bring_target(folder: Path) -> None:
    shutil.copy(HERE / "bench_target.py", folder)
    (folder / "budwood.toml").touch()


def check_store(calls: int, folder: Path) -> None:
    """Read the store as anybody may: for each call a done task, a succeeded attempt and the right result."""
    with _open_store(folder) as store:
        done = store.execute("SELECT count(*) FROM tasks WHERE state = 'done'").fetchone()[0]
        succeeded = store.execute("SELECT count(*) FROM attempts WHERE state = 'succeeded'").fetchone()[0]
        results = store.execute("SELECT count(*), sum(CAST(result AS INTEGER)) FROM results").fetchone()
    if (done, succeeded, *results) != (calls, calls, calls, sum(range(calls))):
        raise SystemExit(f"{calls} calls left {done} done tasks, {succeeded} succeeded attempts, results {results}")


@contextmanager
def _open_store(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{folder / '.budwood/store.db'}?mode=ro", uri=True)) as store:
        yield store


# --- the others ---


def peer(name: str) -> Callable[[int, Path], list[str]]:
    """Return how one of `function_peers.py` is run."""
    python = ["env", f"PYTHONPATH={HERE.parent}", sys.executable, "-m", "benchmarks.function_peers"]
    return lambda calls, _folder: [*python, name, str(calls)]


TOOLS = {
    "run": Tool("budwood run plan.json", write_plan, stores=True),
    "terminal": Tool("the same, on a terminal", write_plan, stores=True, terminal=True),
    "api": Tool("budwood.start(…) in Python", use_api, stores=True),
    "pool": Tool("ProcessPoolExecutor", peer("pool")),
    "pebble": Tool("pebble", peer("pebble")),
    "dask": Tool("dask distributed", peer("dask"), slow=True),
    "optuna": Tool("Optuna, journal storage", peer("optuna"), slow=True),
}
BASE = "pool"


# --- rates ---


def time_once(tool: Tool, calls: int) -> float:
    """Make the calls in a fresh directory; return seconds. What went wrong is an error."""
    with _folder() as folder:
        command = tool.command(calls, folder)
        begin = time.perf_counter()
        code, told = (_run_on_terminal if tool.terminal else _run_in_pipe)(command, folder)
        seconds = time.perf_counter() - begin
        if code:
            raise SystemExit(f"{tool.title} failed:\n{told.decode(errors='replace')[-2000:]}")
        if tool.stores:
            check_store(calls, folder)
        return seconds


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="budwood-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _run_in_pipe(command: list[str], folder: Path) -> tuple[int, bytes]:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr


def _run_on_terminal(command: list[str], folder: Path) -> tuple[int, bytes]:
    """Give the command a terminal that somebody reads."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(ours, seen))
    environ = {name: value for name, value in os.environ.items() if name != "CI"} | {"TERM": "xterm-256color"}
    process = subprocess.Popen(command, cwd=folder, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    reader.start()
    code = process.wait()
    reader.join()
    os.close(ours)
    return code, b"".join(seen)


def _read_all(fd: int, into: list[bytes]) -> None:
    try:
        while data := os.read(fd, 65536):
            into.append(data)
    except OSError:  # how Linux says that the other side is closed
        return


def measure(tools: list[str], *, calls: Callable[[Tool], int], rounds: int) -> Timings:
    """Run all tools in turn, and their start-up beside them."""
    found = Timings()
    for _ in range(rounds):
        for name in tools:
            tool = TOOLS[name]
            found.start.setdefault(name, []).append(time_once(tool, START_UP_CALLS))
            found.whole.setdefault(name, []).append(time_once(tool, calls(tool)))
    return found


def report(tools: list[str], found: Timings, *, calls: Callable[[Tool], int]) -> dict[str, object]:
    """Print one table; return its figures."""
    print(f"\n{'':28} {'calls':>8} {'start-up':>9} {'whole':>9} {'calls per second':>17}")
    rows: dict[str, object] = {}
    rates = {name: (calls(TOOLS[name]) - START_UP_CALLS) / found.net_s(name) for name in tools}
    for name, rate in rates.items():
        start_s, whole_s = statistics.median(found.start[name]), statistics.median(found.whole[name])
        ratio = f"{rate / rates[BASE]:6.2f} x {TOOLS[BASE].title}" if BASE in rates else ""
        print(
            f"{TOOLS[name].title:28} {calls(TOOLS[name]):8,} {start_s:7.2f} s {whole_s:7.2f} s {rate:17,.0f}   {ratio}"
        )
        rows[name] = {"calls_per_s": rate, "start_up_s": found.start[name], "whole_s": found.whole[name]}
    return rows


# --- commits and memory ---


def count_commits(calls: int) -> int:
    """Print and return in how many commits the events and rows of one run are written."""
    with _folder() as folder:
        _, *arguments = write_plan(calls, folder)
        command = [sys.executable, str(HERE / "count_commits.py"), *arguments, "--quiet"]
        commits = int(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)
        check_store(calls, folder)
    print(f"\n{calls:,} calls are written in {commits:,} commits")
    return commits


def measure_memory(calls: int) -> dict[str, object]:
    """Make many calls in one run; print what each of its processes holds early and late, in MB."""
    with _folder() as folder:
        process = subprocess.Popen(
            write_plan(calls, folder, rests=True),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        early = _look_at(process, folder, done=FIRST_LOOK)
        late = _look_at(process, folder, done=calls)
        if process.wait():
            raise SystemExit(f"the run of {calls} calls failed")
    print(f"\nresident memory in MB after {FIRST_LOOK:,} calls and after {calls:,}")
    for name in early:
        print(f"  {name:12} {early[name]:7.1f} {late[name]:7.1f}   {late[name] - early[name]:+.1f}")
    return {"early_mb": early, "late_mb": late}


def _look_at(process: subprocess.Popen[bytes], folder: Path, *, done: int) -> dict[str, float]:
    """Wait until so many calls are in the store; return what each process of the run holds."""
    while process.poll() is None:
        try:
            with _open_store(folder) as store:
                found = store.execute("SELECT done FROM runs").fetchone()
        except sqlite3.OperationalError:  # it is not there yet
            found = None
        if found is not None and found[0] >= done:
            return _resident_mb(psutil.Process(process.pid))
        time.sleep(0.05)
    raise SystemExit(f"the run ended before {done} of its calls were seen")


def _resident_mb(driver: psutil.Process) -> dict[str, float]:
    found = {"driver": driver.memory_info().rss / 1e6}
    for child in sorted(driver.children(recursive=True), key=lambda each: each.pid):
        kind = "supervisor" if "supervisor" in child.name() else "worker"
        number = sum(name.startswith(kind) for name in found)
        found[f"{kind} {number}"] = child.memory_info().rss / 1e6
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--slow-calls", type=int, default=2_000)
    parser.add_argument("--memory-calls", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join([*TOOLS, "commits", "memory"]))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    wanted = given.only.split(",")
    tools = [name for name in TOOLS if name in wanted]

    def calls(tool: Tool) -> int:
        return int(given.slow_calls if tool.slow else given.calls)

    figures: dict[str, object] = {}
    if tools:
        figures = report(tools, measure(tools, calls=calls, rounds=given.rounds), calls=calls)
    if "commits" in wanted:
        figures["commits"] = count_commits(given.calls)
    if "memory" in wanted:
        figures["memory"] = measure_memory(given.memory_calls)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
