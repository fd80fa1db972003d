"""The strategy `mcts`: a tree of candidates, grown where the scores promise most.

Answer 0 is the root, which changes nothing and is scored. Every other answer is one attempt, which grows from a
candidate, or from two that are merged. Which one is chosen by UCT with progressive widening; what was asked for and has
not ended counts as a visit that came to nothing, so that attempts at one time go to different places. What attempts
learnt is handed to later ones.

What it knows of a task that was asked for it reads off that task, so that a run goes on as it was recorded. Knows
scores, trees and lessons; must not know files, clocks or how tasks are done.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from budwood._core.choice import ROOT
from budwood._core.model import TaskSpec
from budwood._core.scores import Judgement, Scoring
from budwood.strategies.base import Strategy, Told
from budwood.strategies.branch import Branches
from budwood.strategies.branch_prompts import CHAIN
from budwood.strategies.mcts_tree import Node, Shape, Tree
from budwood.strategies.options import MCTS_ATTEMPTS, amount, scoring_of, text, whole
from budwood.strategies.root import root_task


class MctsStrategy(Strategy):
    """Grows candidates where scores promise most."""

    window = 4

    def __init__(  # noqa: PLR0913  # as many as there are options
        self,
        *,
        scoring: Scoring | Mapping[str, object],
        prompt: str,
        attempts: int = MCTS_ATTEMPTS,
        exploration: float = 0.05,
        greed: float = 1.0,
        widening: float = 0.25,
        max_children: int = 8,
        max_depth: int = 32,
        patience: int = 10,
        restarts: int = 3,
        synthesis: bool = True,
        lessons: bool = True,
        lessons_shown: int = 6,
    ) -> None:
        shown = whole("lessons_shown", lessons_shown, least=0)
        self._branches = Branches(
            text("prompt", prompt), scoring=scoring_of(scoring), lessons_shown=shown if lessons else 0
        )
        self._attempts = whole("attempts", attempts)
        self._tree = Tree(
            ROOT,
            Shape(
                exploration=amount("exploration", exploration),
                greed=amount("greed", greed, most=1),
                widening=amount("widening", widening),
                max_children=whole("max_children", max_children),
                max_depth=whole("max_depth", max_depth),
                patience=whole("patience", patience),
                restarts=whole("restarts", restarts, least=0),
                synthesis=synthesis,
            ),
        )
        self._asked = -1
        """How many attempts were asked for; none yet, and not the root either."""
        self._news: list[Judgement] = []
        """What was decided since the last answer."""

    @property
    def tree(self) -> Tree:
        """What has grown so far."""
        return self._tree

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        if self._asked < 0:
            return [root_task(self._branches.scoring)]
        if self.reason(number):
            return []
        parent, other = self._tree.select()
        joined = (other.id,) if other is not None else ()
        return [
            TaskSpec(
                id=f"m{self._asked + 1}",
                prompt=self._branches.prompt((parent.id, *joined), near=self._near(parent, other)),
                description=f"grown from {' and '.join((parent.id, *joined))}",
                after=(parent.id, *joined),
                allow_unchanged=bool(joined),  # what is merged may be better as it is
                score=self._branches.scoring,
            )
        ]

    def asked(self, number: int, tasks: Sequence[TaskSpec]) -> None:
        self._news = []
        for task in tasks:
            self._asked += 1
            self._branches.grow(task)
            if task.after:
                parent, *others = (self._tree.nodes[str(name)] for name in task.after)
                self._tree.grow(str(task.id), parent, others[0] if others else None)

    def tell(self, told: Told) -> None:
        name = str(told.task.id)
        node = self._tree.nodes.get(name)
        if node is None or node.ended:
            return
        self._news += (self._judge(each) for each in self._tree.settle(name, self._branches.take(told)))

    def judged(self, number: int) -> Sequence[Judgement]:
        return self._news

    def reason(self, number: int) -> str:
        if self._tree.root.ended and self._tree.root.rank is None:
            return "root_failed"
        if self._asked >= self._attempts:
            return "attempts"
        return "dead" if self._tree.is_dead else ""

    def _judge(self, node: Node) -> Judgement:
        if not node.closed:
            return Judgement(task=node.id, decision="promoted", rank=node.rank, why="its branch is open again")
        why = "all that grew from it is closed or came to nothing"
        if self._tree.is_barren(node):
            why = f"{node.barren} attempts in a row brought its branch no gain"
        elif not node.room:
            why = "its branch is as deep as it may be"
        return Judgement(task=node.id, decision="pruned", rank=node.rank, why=why)

    def _near(self, parent: Node, other: Node | None) -> Iterator[str]:
        """Name what has to do with an attempt, the closest first: what grew there, then what it stands on."""
        yield from (child.id for child in reversed(parent.children) if child.ended)
        if other is not None:
            yield other.id
        yield from islice(self._branches.path(parent.id), CHAIN)
