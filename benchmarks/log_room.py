"""What room in SQLite's write-ahead log is worth: the time of one durable commit, with and without it, in turn.

.venv/bin/python benchmarks/log_room.py [--rounds 7]
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from budwood.stores.sqlite.wal import make_room

COMMITS = 300
"""Few enough that the log without room grows all the time."""


def commit_us(path: Path, *, room: bool) -> float:
    """Return the mean time of a commit of about one driver's turn, in microseconds."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE event (number INTEGER PRIMARY KEY, body TEXT)")
    if room:
        make_room(path)
    begin = time.perf_counter()
    for number in range(COMMITS):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO event VALUES (?, ?)", (number, "x" * 600))
        connection.execute("COMMIT")
    spent = time.perf_counter() - begin
    connection.close()
    return spent / COMMITS * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    found: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory(prefix="budwood-bench-") as folder:
        for number in range(parser.parse_args().rounds):
            for room, times in found.items():
                times.append(commit_us(Path(folder) / f"{number}-{room}.db", room=room))
    without, with_room = (statistics.median(found[room]) for room in (False, True))
    print(
        f"a commit without room {without:.0f} us, with room {with_room:.0f} us: {without / with_room:.1f} times as long"
    )


if __name__ == "__main__":
    main()
