"""What searches cost, what they find, and how well they keep slots busy.

    .venv/bin/python benchmarks/search.py [--only ask_tell,compare,slots,real] [--problem packing|rugged] [--seeds 20]
                                          [--first-seed 0] [--attempts 100] [--results 10000] [--slots 8] [--svg FILE]
                                          [--json FILE]

`ask_tell`: the time of the processor that `ask` and `tell` take among 1,000 results and among many: medians over the
3,000 that follow, of two searches that take turns, so that what else the machine does falls on both.
`compare`: the best score at equal attempts on one problem (`search_packing.py`, `search_rugged.py`), with lessons and
synthesis on and off, beside searches that are plain; --svg draws it. `slots`: slots simulated around the real strategy,
attempts of lognormal durations, `order = "task"` at several windows and `order = "completion"`. `real`: the same of
real runs, whose agents sleep, read from the store.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import search_plot, search_real  # found only now
from benchmarks.search_packing import Packing
from benchmarks.search_problems import Workbench
from benchmarks.search_rivals import beam, evolve, mcts, rivals
from benchmarks.search_rugged import Rugged
from benchmarks.search_slots import Order, Slots, mean

from budwood._core.model import TaskSpec
from budwood._core.scores import Score
from budwood.strategies import Strategy, Told
from budwood.testing.strategy_play import Play

SIGMAS = (0.5, 1.0)
WINDOWS: tuple[tuple[Order, int], ...] = (
    *(("task", window) for window in (1, 4, 6, 8, 12, 16, 24, 32)),
    ("completion", 1),
)
FIRST_LOOK = 1_000
SPAN = 3_000
"""So many further results are looked at."""


class Timed(Strategy):
    """A strategy with a clock at its side."""

    def __init__(self, inner: Strategy) -> None:
        self._inner = inner
        self.window = inner.window
        self.asks: list[tuple[int, float]] = []
        """How many tasks an answer had, and how long it took."""
        self.tells: list[float] = []

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        began = time.thread_time()
        answer = tuple(self._inner.ask(number, random))
        self.asks.append((len(answer), time.thread_time() - began))
        return answer

    def asked(self, number: int, tasks: Sequence[TaskSpec]) -> None:
        self._inner.asked(number, tasks)

    def tell(self, told: Told) -> None:
        began = time.thread_time()
        self._inner.tell(told)
        self.tells.append(time.thread_time() - began)


class Walk:
    """Attempts that cost nothing: a score is a random step from that of the parent."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def work(self, task: TaskSpec) -> object:
        """Take a step; one in ten fails."""
        random = Random(str(task.id))
        if task.after and random.random() < 0.1:
            raise RuntimeError("it failed")
        before = max((self.values[str(name)] for name in task.after), default=100.0)
        self.values[str(task.id)] = before + random.gauss(0.0, 1.0)
        return {"lesson.md": f"tried idea {random.randrange(1000)} in module {random.randrange(50)}"}

    def score(self, task: TaskSpec) -> Score:
        """Score a step."""
        value = self.values[str(task.id)]
        return Score(value=value, metrics={"score": value})


class Look:
    """One search of a kind whose answers are timed from some number of results on."""

    def __init__(self, strategy: Strategy, *, results: int) -> None:
        walk, self.timed = Walk(), Timed(strategy)
        self._play = Play(self.timed, walk.work, seed=1, score=walk.score)
        self.results = results
        while len(self.timed.tells) < results:
            self.step()
        self._asks, self._tells = len(self.timed.asks), len(self.timed.tells)

    @property
    def seen(self) -> int:
        """So many results have come since it is looked at."""
        return len(self.timed.tells) - self._tells

    def step(self) -> None:
        """Go on by an answer."""
        if not self._play.step():
            raise RuntimeError(f"the search was over after {len(self.timed.tells)} results")

    def medians(self) -> tuple[float, float, float]:
        """Return the milliseconds of an answer by the task, of an end, and of the longest answer."""
        asks = [took / tasks * 1e3 for tasks, took in self.timed.asks[self._asks :]]
        tell = statistics.median(self.timed.tells[self._tells :]) * 1e3
        return statistics.median(asks), tell, max(took * 1e3 for _, took in self.timed.asks)


def time_asks(results: int) -> dict[str, object]:
    """Measure what asking and telling cost among few results and among many, by the task, of two searches in turn."""
    most = 2 * (results + SPAN)
    makers: dict[str, Callable[[], Strategy]] = {
        "mcts": lambda: mcts(most, patience=most),
        "evolve": lambda: evolve(most),
        "beam": lambda: beam(most, width=3),
        "beam, no idea twice": lambda: beam(most, width=3, ideas=most),
    }
    found: dict[str, object] = {}
    print("| | results | ask, for a task | tell | longest ask |\n|---|---|---|---|---|")
    for name, make in makers.items():
        few, many = Look(make(), results=FIRST_LOOK), Look(make(), results=results)
        while few.seen < SPAN or many.seen < SPAN:
            few.step()
            many.step()
        for look in (few, many):
            row = found[f"{name} {look.results}"] = look.medians()
            print(f"| {name} | {look.results:,} | {row[0]:.4f} ms | {row[1]:.4f} ms | {row[2]:.1f} ms |", flush=True)
        ratios = [after / before for before, after in zip(few.medians(), many.medians(), strict=True)][:2]
        print(f"| {name} | ratio | {ratios[0]:.2f} | {ratios[1]:.2f} | |", flush=True)
    return found


PROBLEMS: dict[str, Callable[[int], Workbench[Any]]] = {"packing": Packing, "rugged": Rugged}


def compare(problem: str, seeds: Sequence[int], attempts: int, svg: Path | None) -> dict[str, object]:
    """Let every search have so many attempts at the same problem."""
    make_bench = PROBLEMS[problem]
    curves: dict[str, list[list[float]]] = {}
    for name, make in rivals(attempts).items():
        curves[name] = [_curve(make(), make_bench(seed), attempts) for seed in seeds]
    ends = {name: [curve[-1] for curve in found] for name, found in curves.items()}
    best = [max(scores[place] for scores in ends.values()) for place in range(len(seeds))]
    print(
        f"\n{problem}: {attempts} attempts, seeds {seeds[0]} to {seeds[-1]}\n\n"
        "| | mean | lowest | highest | best of all, seeds |\n|---|---|---|---|---|"
    )
    for name, scores in sorted(ends.items(), key=lambda each: -statistics.mean(each[1])):
        error = statistics.stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
        won = sum(score >= top for score, top in zip(scores, best, strict=True))
        cells = f"{statistics.mean(scores):.3f} ± {error:.3f} | {min(scores):.3f} | {max(scores):.3f} | {won}"
        print(f"| {name} | {cells} |", flush=True)
    if svg is not None:
        shown = {name: found for name, found in curves.items() if not name.startswith(("mcts, no ", "evolve, "))}
        title = f"Best so far, mean and quartiles of {len(seeds)} seeds"
        svg.write_text(search_plot.plot(shown, title=title, across="attempts", up=make_bench(0).unit), encoding="utf-8")
    return {**ends}


def _curve(strategy: Strategy, bench: Workbench[Any], attempts: int) -> list[float]:
    """Search; return the best after each attempt. A search that gave up stays where it was."""
    Play(strategy, bench.work, seed=bench.seed, score=bench.score).go(attempts + 1)
    scores = bench.scores[: attempts + 1]
    return [*scores, *[scores[-1]] * (attempts + 1 - len(scores))]


def fill_slots(slots: int, seeds: int, attempts: int) -> dict[str, object]:
    """Simulate slots at several windows."""
    found: dict[str, object] = {}
    for sigma in SIGMAS:
        print(f"\n{slots} slots, {attempts} attempts, {seeds} seeds, lognormal durations with sigma {sigma:g}\n")
        print("| order | window | slots busy | took | best score |\n|---|---|---|---|---|")
        for order, window in WINDOWS:
            ran = [
                Slots(mcts(attempts), Packing(seed), seed, slots, window, order, sigma).run() for seed in range(seeds)
            ]
            scores = [one.best for one in ran]
            error = statistics.stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
            busy, took = mean([one.busy for one in ran]), mean([one.took for one in ran])
            shown = f"{window} " if order == "task" else ""
            print(f"| {order} | {shown}| {busy:.0%} | {took:.1f} | {mean(scores):.3f} ± {error:.3f} |", flush=True)
            found[f"{order} {window} {sigma:g}"] = (busy, took, mean(scores))
    return found


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="ask_tell,compare,slots,real")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--problem", choices=PROBLEMS, default="packing")
    parser.add_argument("--attempts", type=int, default=100)
    parser.add_argument("--results", type=int, default=10_000)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    parts: dict[str, Callable[[], dict[str, object]]] = {
        "ask_tell": lambda: time_asks(asked.results),
        "compare": lambda: compare(
            asked.problem, range(asked.first_seed, asked.first_seed + asked.seeds), asked.attempts, asked.svg
        ),
        "slots": lambda: fill_slots(asked.slots, asked.seeds, asked.attempts),
        "real": search_real.measure,
    }
    wanted = asked.only.split(",")
    unknown = [part for part in wanted if part not in parts]
    if unknown:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(parts)}")
    found = {part: parts[part]() for part in wanted}
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
