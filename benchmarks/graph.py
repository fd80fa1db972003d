"""What batching a large graph costs, beside Python's own graphlib, in the same run.

    .venv/bin/python benchmarks/graph.py [--tasks 100000,1000000]

Layers of 1,000 tasks, each needing 2 of the layer before. Both get the same edges; reading and checking a plan file is
not part of it.
"""

import argparse
import random
import time
from collections.abc import Iterator
from graphlib import TopologicalSorter

from budwood._core.edges import pack
from budwood._core.graph import Graph, batches


def layered(tasks: int) -> list[list[int]]:
    """Return what each task needs."""
    chance = random.Random(3)
    return [
        [] if task < 1000 else [task // 1000 * 1000 - 1000 + chance.randrange(1000) for _ in range(2)]
        for task in range(tasks)
    ]


def by_graphlib(edges: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """Give the same batches with the standard library."""
    sorter = TopologicalSorter(dict(enumerate(edges)))
    sorter.prepare()
    while sorter.is_active():
        ready = sorter.get_ready()
        yield ready
        sorter.done(*ready)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="100000,1000000")
    for tasks in map(int, parser.parse_args().tasks.split(",")):
        edges = layered(tasks)
        graph = Graph(ids=list(range(tasks)), hard=pack(edges), soft=[[] for _ in range(tasks)], dropped=[])
        begin = time.perf_counter()
        ours = batches(graph)
        middle = time.perf_counter()
        theirs = list(by_graphlib(edges))
        end = time.perf_counter()
        assert [sorted(batch) for batch in theirs] == ours
        print(f"{tasks:9,} tasks  budwood {middle - begin:.2f} s  graphlib {end - middle:.2f} s  ", end="")
        print(f"{(end - middle) / (middle - begin):.1f} times as long")


if __name__ == "__main__":
    main()
