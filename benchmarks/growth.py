"""Whether a task costs the same among a thousand and among a hundred thousand: time, memory, disk, resume, plans.

    .venv/bin/python benchmarks/growth.py [--sizes 1000,10000,100000] [--rounds 3] [--store sqlite|postgresql]
                                          [--only tasks,asks,resume,plan,wishes] [--plan-tasks 1000000] [--json FILE]

`tasks`: independent `true` at 2 slots through the installed command, beside ninja; start-up (a run of one task) is
measured in the same rounds and taken off. `asks`: the same tasks, each asked for by itself by a strategy. `resume`: the
driver of the largest size is killed with -9 when half is done; the time is that of the next driver from its start to
the first task that it starts. `plan`: `budwood plan check` on a JSON plan whose tasks come in no order. `wishes`: the
same on plans of tasks that each prefer to come after three others, any others.
With --store postgresql, the first three run on a server that is started for them, with full durability.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import growth_plans  # noqa: E402  # found only now
from benchmarks.growth_stores import PostgresStores, SqliteStores, Stores  # noqa: E402  # found only now

BIN = Path(sys.executable).parent
SLOTS = 2
REPEATS = ((1_000, 5), (10_000, 2))
"""Short runs are repeated in each round: what start-up varies by is much of them."""
STRATEGY = """
import budwood


class OneByOne(budwood.Strategy):
    window = 4

    def __init__(self, count):
        self.count = count

    def ask(self, number, random):
        return [budwood.TaskSpec(id=number, run="true")] if number < self.count else []

    def tell(self, told):
        pass
"""


@dataclass(frozen=True)
class Ran:
    """One run of one tool."""

    seconds: float
    cpu_s: float
    peak_mb: float
    disk_bytes: int = 0
    files: int = 0


@contextmanager
def folder() -> Iterator[Path]:
    """Give a directory of its own."""
    path = Path(tempfile.mkdtemp(prefix="budwood-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def write_plan(path: Path, tasks: int, *, asked: bool = False) -> None:
    """Write a plan of independent tasks, or of a strategy that asks for them."""
    (path / "budwood.toml").touch()
    run: dict[str, object] = {"slots": SLOTS}
    if asked:
        (path / "one_by_one.py").write_text(STRATEGY)
        run |= {"strategy": "one_by_one:OneByOne", "options": {"count": tasks}, "max_tasks": tasks + 1}
    wanted = [] if asked else [{"id": number, "run": "true"} for number in range(tasks)]
    (path / "plan.json").write_text(json.dumps({"run": run, "task": wanted}))


def write_ninja(path: Path, tasks: int) -> None:
    """Write the same for ninja."""
    lines = ["rule run", "  command = true", *(f"build t{number}: run" for number in range(tasks))]
    (path / "build.ninja").write_text("\n".join(lines) + "\n")


def watched(command: list[str], where: Path) -> Ran:
    """Run a command to its end; what its own process and those that it waited for took."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed:\n{told.decode()[-2000:]}")
    return Ran(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_budwood(tasks: int, stores: Stores, *, asked: bool = False) -> Ran:
    """Run so many tasks; return what that took and what it left."""
    with folder() as path, stores.fresh() as store:
        write_plan(path, tasks, asked=asked)
        ran = watched([str(BIN / "budwood"), "run", "plan.json", *store.flags], path)
        disk, files = left_behind(path / ".budwood")
        return Ran(ran.seconds, ran.cpu_s, ran.peak_mb, disk + store.size(), files)


def run_ninja(tasks: int) -> Ran:
    """Run so many tasks with ninja."""
    with folder() as path:
        write_ninja(path, tasks)
        return watched([shutil.which("ninja", path=str(BIN)) or "ninja", "-j", str(SLOTS)], path)


def left_behind(path: Path) -> tuple[int, int]:
    """Count bytes, as the disk does, and files and directories."""
    found = [path, *path.rglob("*")]
    return sum(each.lstat().st_blocks * 512 for each in found), len(found)


def measure(sizes: list[int], rounds: int, stores: Stores, *, asked: bool) -> dict[str, dict[int, list[Ran]]]:
    """Run all sizes in turn, round after round, and start-up beside them."""
    found: dict[str, dict[int, list[Ran]]] = {"budwood": {}, "ninja": {}}
    for _ in range(rounds):
        for size in (1, *sizes):
            for _ in range(next((times for most, times in REPEATS if size <= most), 1)):
                found["budwood"].setdefault(size, []).append(run_budwood(size, stores, asked=asked))
                if not asked:
                    found["ninja"].setdefault(size, []).append(run_ninja(size))
    return found


def per_task_ms(runs: dict[int, list[Ran]], size: int, what: str = "seconds") -> float:
    """Return what a task takes beyond start-up: the median."""
    start, whole = (statistics.median(float(getattr(ran, what)) for ran in runs[count]) for count in (1, size))
    return (whole - start) / size * 1000


def report(title: str, sizes: list[int], found: dict[str, dict[int, list[Ran]]]) -> dict[str, object]:
    """Print one table; return its figures."""
    print(f"\n{title}")
    print("     tasks   ms per task   driver's cpu   ninja ms   times ninja   driver MB   disk bytes per task   files")
    rows: dict[str, object] = {}
    for size in sizes:
        ours, runs = per_task_ms(found["budwood"], size), found["budwood"][size]
        cpu = per_task_ms(found["budwood"], size, "cpu_s")
        ninja = per_task_ms(found["ninja"], size) if found["ninja"] else None
        beside = f"{ninja:8.3f}   {ours / ninja:11.2f}" if ninja else f"{'':8}   {'':11}"
        memory, disk, files = max(r.peak_mb for r in runs), runs[-1].disk_bytes / size, runs[-1].files
        print(f"{size:10,}   {ours:11.3f}   {cpu:12.3f}   {beside}   {memory:9.0f}   {disk:19.0f}   {files:5}")
        rows[str(size)] = {"ms": ours, "cpu_ms": cpu, "ninja_ms": ninja, "mb": memory, "disk": disk, "files": files}
    first, last = sizes[0], sizes[-1]
    print(f"  a task among {last:,} beside one among {first:,}:", end="")
    for name, what in (("time", "seconds"), ("driver's cpu", "cpu_s"), ("ninja", "seconds")):
        tool = "ninja" if name == "ninja" else "budwood"
        if found[tool]:
            slope = per_task_ms(found[tool], last, what) / per_task_ms(found[tool], first, what)
            print(f"  {name} {slope:.2f}", end="")
            rows[f"{name}_slope"] = slope
    print()
    return rows


def resume(tasks: int, stores: Stores) -> dict[str, float]:
    """Kill a driver in the middle, start the next one, and see when its first task starts."""
    with folder() as path, stores.fresh() as store:
        write_plan(path, tasks)
        first = subprocess.Popen(
            [str(BIN / "budwood"), "run", "plan.json", "--jsonl", *store.flags],
            cwd=path,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert first.stdout is not None
        ended = 0
        while ended < tasks // 2:
            ended += b'"attempt_ended"' in first.stdout.readline()
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stdout.close()
        begin = time.perf_counter()
        command = [str(BIN / "budwood"), "resume", "plan", "--jsonl", *store.flags]
        second = subprocess.Popen(command, cwd=path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        until_s = first_start(second, begin)
        memory = int(Path(f"/proc/{second.pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
        second.terminate()
        second.communicate()
        print(f"\nresume of {tasks:,} tasks, half of them done ({stores.title})")
        print(f"  from its start to the first task that the new driver starts: {until_s:.2f} s, at {memory:.0f} MB")
        return {"seconds": until_s, "mb": memory}


def first_start(driver: "subprocess.Popen[bytes]", begin: float) -> float:
    """Return when the first attempt that this driver queued was seen to run."""
    assert driver.stdout is not None
    queued: set[tuple[object, object]] = set()
    for line in driver.stdout:
        event = json.loads(line)
        name = event.get("task"), event.get("attempt")
        if event["event"] == "attempt_queued":
            queued.add(name)
        elif event["event"] == "attempt_started" and name in queued:
            return time.perf_counter() - begin
    raise SystemExit("the driver ended before it started anything")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--only", default="tasks,asks,resume,plan,wishes")
    parser.add_argument("--plan-tasks", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    parts, sizes = given.only.split(","), [int(size) for size in given.sizes.split(",")]
    found: dict[str, object] = {}
    with PostgresStores() if given.store == "postgresql" else SqliteStores() as stores:
        for part, asked in (("tasks", False), ("asks", True)):
            if part in parts:
                title = f"`true` at {SLOTS} slots, {stores.title}{', each asked for by itself' if asked else ''}"
                found[part] = report(title, sizes, measure(sizes, given.rounds, stores, asked=asked))
        if "resume" in parts:
            found["resume"] = [resume(sizes[-1], stores) for _ in range(given.rounds)]
    if "plan" in parts:
        found["plan"] = growth_plans.plan(given.plan_tasks, given.rounds)
    if "wishes" in parts:
        found["wishes"] = growth_plans.wishes([10_000, 100_000], given.rounds)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
