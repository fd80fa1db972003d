"""How long merging lanes takes, in objects alone; beside `git merge` in a checkout, in the same run.

    .venv/bin/python benchmarks/merge.py [--files 50000] [--lanes 50] [--rounds 3] [--place tmpfs] [--json FILE]

A repository of so many files, and so many lanes from its one commit, each with 20 files changed, 20 added and 5 deleted
that no other lane touches. `join` merges all lanes into one chain of commits, as the merge queue does; `matrix` merges
every pair. `git merge` merges one lane after the other into a checkout, as a person or a script does. Verifying is no
part of it. Figures are medians of seconds.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from workspaces import PLACES, git, make_repository

from budwood.workspaces import find_repository
from budwood.workspaces.joining import Joiner, Tip, conflicts_among

CHANGED, ADDED, DELETED = 20, 20, 5


def make_lanes(root: Path, *, files: int, lanes: int) -> list[str]:
    """Make lanes that touch different files; return their commits."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    each = files // lanes
    stream = []
    for lane in range(lanes):
        own = [path for path in listed[lane * each : (lane + 1) * each] if path.endswith(".txt")]
        stream.append(f"commit refs/heads/lane{lane}\ncommitter b <b@h> {1700000000 + lane} +0000\ndata 1\nx\n")
        stream.append("from refs/heads/main^0\n")
        text = f"lane {lane}"
        stream += (f"M 100644 inline {path}\ndata {len(text)}\n{text}\n" for path in own[:CHANGED])
        stream += (f"D {path}\n" for path in own[CHANGED : CHANGED + DELETED])
        new = (f"added/lane{lane}/{number}.txt" for number in range(ADDED))
        stream += (f"M 100644 inline {path}\ndata {len(text)}\n{text}\n" for path in new)
        stream.append("\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, check=True, input="".join(stream), text=True)
    names = [f"refs/heads/lane{lane}" for lane in range(lanes)]
    said = subprocess.run(["git", "rev-parse", *names], cwd=root, check=True, capture_output=True, text=True)
    return said.stdout.split()


def timed(found: dict[str, list[float]], name: str, action: Callable[[], object]) -> None:
    """Take the time of one action."""
    begin = time.perf_counter()
    action()
    found.setdefault(name, []).append(time.perf_counter() - begin)


def merge_in_checkout(root: Path, heads: list[str]) -> None:
    """Merge as a person does."""
    for head in heads:
        git(root, "merge", "-q", "--no-ff", "-m", "x", head)


def measure(root: Path, *, files: int, lanes: int, rounds: int) -> dict[str, list[float]]:
    """Merge the same lanes in every way."""
    make_repository(root, files)
    heads = make_lanes(root, files=files, lanes=lanes)
    repository = find_repository(root, os.environ)
    assert repository is not None
    base = repository.resolve("main")
    tips = [[Tip(f"lane {number}", head, f"Merge lane {number}\n")] for number, head in enumerate(heads)]
    names = {f"lane {number}": head for number, head in enumerate(heads)}
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        timed(found, "join", lambda: Joiner(repository.git, squash=False).join(base, tips))
        timed(found, "matrix", lambda: conflicts_among(repository.git, names))
        git(root, "checkout", "-q", "--force", "--detach", base)
        timed(found, "git merge", lambda: merge_in_checkout(root, heads))
        made = Joiner(repository.git, squash=False).join(base, tips).links[-1].commit
        assert repository.git.ask("diff", "--name-only", made, "HEAD") == "", "both make the same files"
    return found


def main() -> None:
    """Measure, print, and write."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=50_000)
    options.add_argument("--lanes", type=int, default=50)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--place", choices=tuple(PLACES), default="tmpfs")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="budwood-merge-", dir=PLACES[given.place]))
    try:
        found = measure(folder / "repository", files=given.files, lanes=given.lanes, rounds=given.rounds)
    finally:
        shutil.rmtree(folder)
    medians = {name: statistics.median(times) for name, times in found.items()}
    pairs = given.lanes * (given.lanes - 1) // 2
    print(f"\n{given.lanes} lanes, {given.files:,} files on {given.place}")
    for name, text in (("join", "all into one chain"), ("matrix", f"{pairs:,} pairs"), ("git merge", "in a checkout")):
        ratio = medians[name] / medians["git merge"]
        print(f"  {name:<10} {medians[name]:8.2f} s  {ratio:6.3f} x git merge   {text}")
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
