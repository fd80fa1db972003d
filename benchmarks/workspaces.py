"""How long a workspace takes: handed out cold and warm, and kept; beside what git and cp do, in the same run.

    .venv/bin/python benchmarks/workspaces.py [--sizes 1000,10000,50000] [--rounds 3] [--places disk,tmpfs]
                                              [--seconds 1.1] [--json FILE]

Each size is a repository of so many files (12 in a directory, about 3 kB each, packed), and an attempt that thinks for
--seconds, changes 20 of them, adds 20 and leaves a fifth as many ignored files. `cold` makes a directory, `warm` resets
the one that the last attempt left, `after` is what goes on when that one has been handed out: ignored files of the last
attempt are removed. `keep` writes both trees, ignored files included, and syncs them. Beside them, in the same rounds:
`git worktree add --detach`, `git clone --shared` and `cp -r` of the checkout. Figures are medians of seconds: by the
clock, and of the processor, ours and of the programs that were started; the latter say more on a machine that is busy.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from budwood.workspaces import Clone, Pool, Repository, find_repository

FILES_IN_A_DIRECTORY = 12
TEXT = "a line of some length, as source code has them\n" * 60
PLACES = {"disk": "/var/tmp", "tmpfs": "/dev/shm"}
Timings = dict[str, list["Seconds"]]


class Seconds(NamedTuple):
    """What an action took."""

    clock: float
    processor: float


def git(where: Path, *words: str) -> None:
    """Run git as a user would."""
    subprocess.run(["git", *words], cwd=where, check=True, capture_output=True)


def make_repository(root: Path, files: int) -> None:
    """Make a packed repository."""
    root.mkdir()
    for number in range(files):
        folder = root / f"part{number // (FILES_IN_A_DIRECTORY * 100)}" / f"unit{number // FILES_IN_A_DIRECTORY}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}.txt").write_text(f"{number}\n{TEXT}")
    (root / ".gitignore").write_text("ignored/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "bench")
    git(root, "config", "user.email", "bench@localhost")
    git(root, "config", "gc.auto", "0")  # git would begin to pack by itself, and be in the way of the line below
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    git(root, "gc", "-q")


def work_in(tree: Path, files: int, name: str) -> None:
    """Do what an attempt does: change, add, and leave ignored files, with contents that nobody had before."""
    for number in range(20):
        changed = number * (files // 20)
        folder = tree / f"part{changed // (FILES_IN_A_DIRECTORY * 100)}" / f"unit{changed // FILES_IN_A_DIRECTORY}"
        (folder / f"file{changed}.txt").write_text(f"changed in {name}\n{TEXT}")
        (tree / f"new{number}.txt").write_text(f"new in {name}\n")
    (tree / "ignored").mkdir(exist_ok=True)
    for number in range(files // 5):
        (tree / "ignored" / f"cache{number}").write_text(f"{name} {number}\n")


def timed(found: Timings, name: str, action: Callable[[], object]) -> None:
    """Take the time of one action."""
    begin = Seconds(time.perf_counter(), _processor())
    action()
    took = Seconds(time.perf_counter() - begin.clock, _processor() - begin.processor)
    found.setdefault(name, []).append(took)


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _wait_for_removal() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()


def measure(where: Path, files: int, *, rounds: int, attempt_s: float) -> Timings:
    """Run everything in turn, round after round."""
    root = where / "repository"
    make_repository(root, files)
    repository = find_repository(root, os.environ)
    assert repository is not None
    found: Timings = {}
    for number in range(rounds):
        _ours(found, repository, where / f"pool{number}", files=files, attempt_s=attempt_s)
        _theirs(found, root, where / "theirs")
    return found


def _ours(found: Timings, repository: Repository, folder: Path, *, files: int, attempt_s: float) -> None:
    pool = Pool(folder, repository, Clone(repository))
    base = repository.resolve("HEAD")
    for number, name in enumerate(("cold", "warm", "warm")):
        holder, ref = f"bench/{number}", f"refs/budwood/bench/{number}"
        timed(found, name, partial(pool.hand_out, holder, base))
        if name == "warm":
            timed(found, "after", _wait_for_removal)
        made = pool.find(holder)
        assert made is not None
        # Git tells ages in seconds: an attempt that begins in the second of a cold hand-out has more files read again.
        time.sleep(attempt_s)
        work_in(made.path, files, f"{folder.name} {number}")
        kept = "keep, first" if number == 0 else "keep"
        timed(found, kept, partial(pool.keep, holder, ref, message="bench"))
        pool.hand_back(holder, ref)
    shutil.rmtree(folder)


def _theirs(found: Timings, root: Path, target: Path) -> None:
    timed(found, "git worktree add", lambda: git(root, "worktree", "add", "--detach", str(target)))
    git(root, "worktree", "remove", "--force", str(target))
    timed(found, "git clone --shared", lambda: git(root, "clone", "-q", "--shared", str(root), str(target)))
    shutil.rmtree(target)
    timed(found, "cp -r", lambda: subprocess.run(["cp", "-r", str(root), str(target)], check=True))
    shutil.rmtree(target)


def report(place: str, files: int, found: Timings) -> dict[str, Seconds]:
    """Print one table; return its medians."""
    medians = {
        name: Seconds(*(statistics.median(values) for values in zip(*taken, strict=True)))
        for name, taken in found.items()
    }
    print(f"\n{files:,} files on {place}: seconds, and times git worktree add", flush=True)
    print(f"  {'':20} {'clock':>8} {'':>6} {'processor':>10}")
    peer = medians["git worktree add"]
    for name, took in medians.items():
        ratios = took.clock / peer.clock, took.processor / peer.processor
        print(f"  {name:20} {took.clock:8.3f} {ratios[0]:6.2f} {took.processor:10.3f} {ratios[1]:6.2f}", flush=True)
    return medians


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,50000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--places", default="disk,tmpfs")
    parser.add_argument("--seconds", type=float, default=1.1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    figures: dict[str, dict[str, Seconds]] = {}
    for place in given.places.split(","):
        for files in map(int, given.sizes.split(",")):
            with tempfile.TemporaryDirectory(prefix="budwood-bench-", dir=PLACES[place]) as folder:
                taken = measure(Path(folder), files, rounds=given.rounds, attempt_s=given.seconds)
                figures[f"{place} {files}"] = report(place, files, taken)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
