"""A search without workspaces: an idea says by how much it changes its parent's score, or how it fails."""

from collections.abc import Callable
from math import nan

from budwood._core.model import TaskSpec
from budwood._core.scores import Judgement, Score, Scoring, Stage
from budwood.strategies.beam import BeamStrategy
from budwood.strategies.ideas import Idea, idea
from budwood.testing.strategy_play import Play

SCORING = Scoring(stages=(Stage(run="./score"),))


def ideas(**texts: str) -> list[Idea]:
    return [idea(f"ideas/{name}.md", text) for name, text in texts.items()]


def beam(given: list[Idea], **options: object) -> BeamStrategy:
    return BeamStrategy(**({"scoring": SCORING, "ideas": given} | options))  # type: ignore[arg-type]


class Values:
    """Scores by task: `+1`, `-2`, `=5`, `nan`, `invalid` and `none` are what ideas say; `fail` fails."""

    def __init__(self, root: float = 10.0) -> None:
        self.known: dict[str, float] = {"root": root}

    def work(self, task: TaskSpec) -> object:
        if task.prompt.startswith("fail"):
            raise ValueError("it fails")
        return None

    def score(self, task: TaskSpec) -> Score | None:
        if task.score is None:
            return None
        name, said = str(task.id), task.prompt.strip().split("\n")[0]
        if said == "none":
            return None
        if said == "nan":
            return Score(value=nan, metrics={"score": nan})
        if said.startswith("="):
            value = float(said[1:])
        elif said.startswith(("+", "-")):
            value = self.known[str(task.after[0])] + float(said)
        else:
            value = self.known[name] if name in self.known else self.known[str(task.after[0])]
        self.known[name] = value
        return Score(
            value=value,
            metrics={"score": value},
            valid=said != "invalid",
            why="it says so" if said == "invalid" else "",
        )


def play(
    strategy: BeamStrategy, *, values: Values | None = None, work: Callable[[TaskSpec], object] | None = None
) -> Play:
    field = values or Values()
    return Play(strategy, work or field.work, seed=0, score=field.score).go(30)


def judged(played: Play, ask: int) -> list[Judgement]:
    """What was judged with an answer, but for the choice in the end."""
    return [judgement for judgement in played.judgements[ask] if judgement.decision != "chosen"]


def decisions(played: Play) -> list[dict[str, str]]:
    """What was decided with each answer, by task."""
    asks = range(len(played.judgements))
    return [{str(judgement.task): judgement.decision for judgement in judged(played, ask)} for ask in asks]


def tried(played: Play, ask: int) -> list[tuple[str, str, str]]:
    """The id, parent and idea of each evaluation of an answer."""
    return [(str(t.id), str(t.after[0]), t.env["BUDWOOD_IDEA"].removeprefix("ideas/")) for t in played.answers[ask]]
