"""What budwood costs per task, beside ninja, GNU make and a bare loop, in the same run.

    .venv/bin/python benchmarks/overhead.py [--rounds 7] [--only noop,layers,sleeps,chains] [--json FILE]
                                            [--store sqlite|postgresql]

Every tool runs every workload in turn, round after round, so that a noisy minute hits all of them; the figures are
medians, and ratios of medians. Start-up (a run of one task) is measured in the same rounds and taken off where it
says so. budwood runs as shipped: its installed command, SQLite with full durability, one supervisor per slot, a fresh
store each time. With --store postgresql, it runs on a server that is started for this, which syncs every commit, and
beside two task queues on the same server where the work has no dependencies, which they do not know.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.growth_stores import Place, PostgresStores, SqliteStores, Stores  # noqa: E402  # found only now

BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Workload:
    """Commands and what each needs, in task order."""

    name: str
    slots: int
    commands: list[str]
    after: list[list[int]]
    ideal_s: float = 0.0
    """What no tool can be faster than: the critical path of the sleeps, or their sum over the slots."""


@dataclass
class Timings:
    """Seconds by tool."""

    by_tool: dict[str, list[float]] = field(default_factory=dict)

    def add(self, tool: str, seconds: float) -> None:
        """Note one round."""
        self.by_tool.setdefault(tool, []).append(seconds)

    def median(self, tool: str) -> float:
        """Return the middle one."""
        return statistics.median(self.by_tool[tool])


def one_task() -> Workload:
    """The smallest run: its time is start-up."""
    return Workload("start-up", 2, ["true"], [[]])


def no_ops() -> Workload:
    """1,000 independent `true` at 2 slots."""
    return Workload("1,000 independent true, 2 slots", 2, ["true"] * 1000, [[] for _ in range(1000)])


def layers() -> Workload:
    """20 layers of 50, each task needing 2 or 3 of the layer before."""
    chance = random.Random(1)
    after: list[list[int]] = []
    for layer in range(20):
        for _ in range(50):
            below = range((layer - 1) * 50, layer * 50)
            after.append(sorted(chance.sample(below, chance.choice((2, 3)))) if layer else [])
    return Workload("20 layers of 50 true, 2 slots", 2, ["true"] * 1000, after)


def sleeps() -> Workload:
    """100 sleeps of 0.1 s at 10 slots."""
    return Workload("100 sleep 0.1, 10 slots", 10, ["sleep 0.1"] * 100, [[] for _ in range(100)], ideal_s=1.0)


def chains() -> Workload:
    """10 chains of 10 sleeps of 0.02 to 0.2 s at 10 slots."""
    chance = random.Random(2)
    lengths = [[chance.uniform(0.02, 0.2) for _ in range(10)] for _ in range(10)]
    commands = [f"sleep {length:.3f}" for chain in lengths for length in chain]
    after = [[] if n % 10 == 0 else [n - 1] for n in range(100)]
    return Workload(
        "10 chains of 10 sleeps, 10 slots", 10, commands, after, ideal_s=max(sum(chain) for chain in lengths)
    )


def run_budwood(work: Workload, folder: Path, place: Place) -> list[str]:
    """Write a plan; return the command."""
    tasks = [{"id": n, "run": command, "after": work.after[n]} for n, command in enumerate(work.commands)]
    (folder / "plan.json").write_text(json.dumps({"run": {"slots": work.slots}, "task": tasks}))
    (folder / "budwood.toml").touch()
    return [str(BIN / "budwood"), "run", "plan.json", *place.flags]


def run_ninja(work: Workload, folder: Path, _: Place) -> list[str]:
    """Write build.ninja; return the command."""
    lines = ["rule run", "  command = $cmd"]
    for n, command in enumerate(work.commands):
        lines += [f"build t{n}: run {' '.join(f't{m}' for m in work.after[n])}", f"  cmd = {command}"]
    (folder / "build.ninja").write_text("\n".join(lines) + "\n")
    return [shutil.which("ninja", path=str(BIN)) or "ninja", "-j", str(work.slots)]


def run_make(work: Workload, folder: Path, _: Place) -> list[str]:
    """Write a Makefile; return the command. The colon makes make use a shell for each command, as the others do."""
    names = [f"t{n}" for n in range(len(work.commands))]
    lines = [f".PHONY: all {' '.join(names)}", f"all: {' '.join(names)}"]
    for n, command in enumerate(work.commands):
        lines += [f"t{n}: {' '.join(f't{m}' for m in work.after[n])}", f"\t@:; {command}"]
    (folder / "Makefile").write_text("\n".join(lines) + "\n")
    return ["make", "-s", f"-j{work.slots}"]


def run_loop(work: Workload, folder: Path, _: Place) -> list[str]:
    """Return a bare posix_spawn loop in Python: no graph file, no durability, no isolation."""
    (folder / "loop.json").write_text(json.dumps([work.slots, work.commands, work.after]))
    return [sys.executable, str(Path(__file__).with_name("bare_loop.py")), "loop.json"]


def run_queue(name: str) -> Callable[[Workload, Path, Place], list[str]]:
    """Return what runs a task queue on the same server."""

    def run(work: Workload, folder: Path, place: Place) -> list[str]:
        (folder / "commands.json").write_text(json.dumps(work.commands))
        _, url = place.flags
        return [sys.executable, str(ROOT / "benchmarks/queue_peers.py"), name, url, str(work.slots), "commands.json"]

    return run


TOOLS: dict[str, Callable[[Workload, Path, Place], list[str]]] = {
    "budwood": run_budwood,
    "ninja": run_ninja,
    "make": run_make,
    "bare loop": run_loop,
    "procrastinate": run_queue("procrastinate"),
    "dbos": run_queue("dbos"),
}
QUEUES = ("procrastinate", "dbos")


def tools_for(work: Workload, stores: Stores) -> list[str]:
    """List who can do this work: queues need a database, and tasks that wait for nothing, not even for time.

    (The start-up of one of them varies by more than a second, which the cost of a thousand tasks stands out from.)
    """
    with_queues = isinstance(stores, PostgresStores) and not any(work.after) and not work.ideal_s
    return [tool for tool in TOOLS if with_queues or tool not in QUEUES]


def time_once(tool: str, work: Workload, stores: Stores) -> tuple[float, int]:
    """Run one tool on one workload in a fresh directory; return seconds and the peak memory of its processes in KiB."""
    with stores.fresh() as place:
        return _time_once(tool, work, place)


def _time_once(tool: str, work: Workload, place: Place) -> tuple[float, int]:
    folder = Path(tempfile.mkdtemp(prefix="budwood-bench-"))
    try:
        command = TOOLS[tool](work, folder, place)
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{tool} failed on {work.name}:\n{told.decode()[-2000:]}")
        return seconds, usage.ru_maxrss
    finally:
        shutil.rmtree(folder)


def time_to_first_task(stores: Stores) -> float:
    """Return how long after its start `budwood run` has its first task running."""
    folder = Path(tempfile.mkdtemp(prefix="budwood-bench-"))
    try:
        work = Workload("first task", 2, ["date +%s.%N > first"], [[]])
        with stores.fresh() as place:
            command = run_budwood(work, folder, place)
            begin = time.time()
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return float((folder / "first").read_text()) - begin
    finally:
        shutil.rmtree(folder)


def measure(work: Workload, rounds: int, stores: Stores) -> tuple[Timings, Timings, int]:
    """Run all tools in turn, and their start-up beside them; return both and budwood's peak memory."""
    whole, start, memory = Timings(), Timings(), 0
    for _ in range(rounds):
        for tool in tools_for(work, stores):
            start.add(tool, time_once(tool, one_task(), stores)[0])
            seconds, peak = time_once(tool, work, stores)
            whole.add(tool, seconds)
            memory = max(memory, peak) if tool == "budwood" else memory
    return whole, start, memory


def report(work: Workload, whole: Timings, start: Timings) -> dict[str, object]:
    """Print one table; return its figures."""
    print(f"\n{work.name}")
    rows: dict[str, object] = {}
    tasks = len(work.commands)
    base = whole.median("ninja") - start.median("ninja")
    for tool in whole.by_tool:
        net = whole.median(tool) - start.median(tool)
        if work.ideal_s:
            over = (net / work.ideal_s - 1) * 100
            print(f"  {tool:13} {net:7.3f} s   {over:+5.1f} % of the ideal {work.ideal_s:.3f} s")
            rows[tool] = {"seconds": net, "over_ideal_percent": over}
        else:
            print(f"  {tool:13} {net / tasks * 1000:7.3f} ms per task   {net / base:5.2f} x ninja")
            rows[tool] = {"ms_per_task": net / tasks * 1000, "times_ninja": net / base}
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="noop,layers,sleeps,chains")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    given = parser.parse_args()
    with SqliteStores() if given.store == "sqlite" else PostgresStores() as stores:
        found = measure_all(given.only.split(","), given.rounds, stores)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


def measure_all(names: list[str], rounds: int, stores: Stores) -> dict[str, object]:
    """Measure and print; return every figure."""
    makers = {"noop": no_ops, "layers": layers, "sleeps": sleeps, "chains": chains}
    found: dict[str, object] = {}
    print(f"budwood on {stores.title}")
    for name in names:
        work = makers[name]()
        whole, start, memory = measure(work, rounds, stores)
        found[name] = report(work, whole, start)
        if name == "noop":
            print(f"  peak memory of the driver: {memory / 1024:.0f} MB")
            found["driver_mb"] = memory / 1024
    first = statistics.median(time_to_first_task(stores) for _ in range(rounds))
    print(f"\nfrom the start of `budwood run` to its first task: {first:.3f} s")
    found["first_task_s"] = first
    return found


if __name__ == "__main__":
    main()
