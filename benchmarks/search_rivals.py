"""The searches that are compared: those that come with budwood, and two plain ones that only this benchmark has."""

from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from random import Random
from typing import Literal

from benchmarks.search_problems import SCORING, WORDS

from budwood._core.model import TaskSpec
from budwood._core.scores import rank_of
from budwood.strategies import BUILT_IN, Strategy, Told

WINDOW = 8
"""So many attempts at one time, for all but beam, which has those of a depth."""
PROMPT = "Make it better."


class Plain(Strategy):
    """Grows from any candidate, or always from the best."""

    window = WINDOW

    def __init__(self, attempts: int, grows_from: Literal["any", "best"]) -> None:
        self._attempts = attempts
        self._grows_from = grows_from
        self._candidates: list[str] = []
        self._best = ("", float("-inf"))

    def ask(self, number: int, random: Random) -> list[TaskSpec]:
        if number == 0:
            return [TaskSpec(id="root", run="true", score=SCORING)]
        if number > self._attempts:
            return []
        parent = "root"
        if self._candidates:
            parent = random.choice(self._candidates) if self._grows_from == "any" else self._best[0]
        return [TaskSpec(id=f"p{number}", prompt=PROMPT, after=(parent,), score=SCORING)]

    def tell(self, told: Told) -> None:
        rank = rank_of(SCORING, told.score, None) if told.done and told.score is not None else None
        if rank is not None:
            self._candidates.append(str(told.task.id))
            if rank > self._best[1]:
                self._best = (str(told.task.id), rank)


def rivals(attempts: int) -> dict[str, Callable[[], Strategy]]:
    """Say how each is made for so many attempts; what is not part of this version is left out."""
    found: dict[str, Callable[[], Strategy]] = {
        "mcts": lambda: mcts(attempts),
        "mcts, no lessons": lambda: mcts(attempts, lessons=False),
        "mcts, no synthesis": lambda: mcts(attempts, synthesis=False),
        "mcts, neither": lambda: mcts(attempts, lessons=False, synthesis=False),
    }
    if "beam" in BUILT_IN:
        found["beam"] = lambda: beam(attempts, width=3)
    if "evolve" in BUILT_IN:
        found["evolve"] = lambda: evolve(attempts)
        found["evolve, generations"] = lambda: evolve(attempts, offspring=WINDOW)
    found["greedy"] = lambda: Plain(attempts, "best")
    found["random"] = lambda: Plain(attempts, "any")
    return found


def mcts(attempts: int, **options: object) -> Strategy:
    """Make an mcts."""
    made = built_in("mcts", scoring=SCORING, prompt=PROMPT, attempts=attempts, **options)
    made.window = WINDOW
    return made


def evolve(attempts: int, **options: object) -> Strategy:
    """Make an evolve, with as many attempts at one time as the others."""
    made = built_in("evolve", scoring=SCORING, prompt=PROMPT, attempts=attempts, **options)
    made.window = made.window if made.barrier else WINDOW
    return made


def beam(attempts: int, *, width: int, ideas: int = 0) -> Strategy:
    """Make a beam whose ideas are what a prompt can say here; each may be tried again further down.

    With a number of `ideas` there are so many, and none is tried twice.
    """
    texts = {f"{word}-{n}.md": f"{PROMPT} Work {word}, place {n}." for word in WORDS for n in range(3)}
    per_node = len(texts)
    if ideas:
        texts = {f"{n}.md": f"{PROMPT} Begin with {n}." for n in range(ideas)}
    given = [{"path": path, "text": text, "sha256": sha256(text.encode()).hexdigest()} for path, text in texts.items()]
    limits = {"ideas_per_node": per_node, "beam_width": width, "max_depth": attempts, "max_evals": attempts}
    return built_in("beam", scoring=SCORING, ideas=given, dedupe="global" if ideas else "node", **limits)


def built_in(name: str, **options: object) -> Strategy:
    """Make a strategy that comes with budwood."""
    module, _, kind = BUILT_IN[name].partition(":")
    made: Strategy = getattr(import_module(module), kind)(**options)
    return made
