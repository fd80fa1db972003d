"""The strategy `evolve`: populations of candidates, varied by agents, of which the best live on.

Answer 0 is the root, which changes nothing, is scored, and is the first member of every island. An attempt grows from a
member that won a tournament, or from two that git merges, and is shown others that did well. Without `offspring` each
candidate joins its island as it ends, in the place of the worst; with it a generation is asked for at once, and takes
the place of the last when all of it has ended. With `features` every island is a grid, which keeps the best of each
cell. Islands send their best to the next from time to time.

What it knows of a task that was asked for it reads off that task, so that a run goes on as it was recorded. Knows
scores, populations and lessons; must not know files, clocks or how tasks are done.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from budwood._core.choice import ROOT
from budwood._core.model import TaskSpec
from budwood._core.scores import Judgement, Scoring
from budwood.errors import UsageError
from budwood.strategies.base import Strategy, Told
from budwood.strategies.branch import Branches
from budwood.strategies.branch_prompts import CHAIN
from budwood.strategies.options import (
    EVOLVE_ATTEMPTS,
    amount,
    features_of,
    scoring_of,
    text,
    whole,
    whole_or_none,
)
from budwood.strategies.population import Archipelago, Changes, Island, Member, cell_of
from budwood.strategies.root import root_task

ISLAND = "BUDWOOD_ISLAND"
"""The variable that says in which island an attempt is made, from 1 on."""


class EvolveStrategy(Strategy):
    """Lets candidates compete for being grown from."""

    window = 4

    def __init__(  # noqa: PLR0913  # as many as there are options
        self,
        *,
        scoring: Scoring | Mapping[str, object],
        prompt: str,
        attempts: int = EVOLVE_ATTEMPTS,
        islands: int = 1,
        population: int | None = None,
        features: Mapping[str, object] | None = None,
        offspring: int | None = None,
        elites: int | None = None,
        tournament: int = 3,
        crossover: float = 0.2,
        inspirations: int = 1,
        migrate_every: int = 20,
        patience: int | None = None,
        lessons_shown: int = 4,
    ) -> None:
        self._branches = Branches(
            text("prompt", prompt),
            scoring=scoring_of(scoring),
            lessons_shown=whole("lessons_shown", lessons_shown, least=0),
        )
        self._attempts = whole("attempts", attempts)
        self._features = features_of(features)
        self._offspring = whole_or_none("offspring", offspring)
        self._tournament = whole("tournament", tournament)
        self._crossover = amount("crossover", crossover, most=1)
        self._inspirations = whole("inspirations", inspirations, least=0)
        self._migrate_every = whole("migrate_every", migrate_every, least=0)
        self._patience = whole_or_none("patience", patience)
        capacity = whole("population", 10 if population is None else population)
        kept = whole("elites", 1 if elites is None else elites, least=0)
        _refuse_unfit(
            features=bool(self._features), population=population, offspring=offspring, elites=elites, capacity=capacity
        )
        self._all = Archipelago(
            whole("islands", islands), capacity=None if self._features else capacity, elites=min(kept, capacity - 1)
        )
        if self._offspring is not None:
            self.window, self.barrier = 1, True
        self._asked = -1
        """How many attempts were asked for; none yet, and not the root either."""
        self._ended = self._migrated = 0
        """How many attempts have ended, and how often members have gone to other islands."""
        self._barren = 0
        """How many attempts in a row were no gain."""
        self._best: Member | None = None
        self._homes: dict[str, int] = {}
        """The island of every attempt that has not ended."""
        self._clashes: set[frozenset[str]] = set()
        """Parents that git could not merge: another try would find the same."""
        self._born: list[tuple[int, Member]] = []
        """What the generation under way has come to so far, by island."""
        self._news: list[Judgement] = []
        """What was decided since the last answer."""

    @property
    def islands(self) -> Sequence[Island]:
        """The populations as they are."""
        return self._all.islands

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        if self._asked < 0:
            return [root_task(self._branches.scoring)]
        if self.reason(number):
            return []
        wanted = 1 if self._offspring is None else self._offspring * len(self.islands)
        return [self._attempt(place, random) for place in range(min(wanted, self._attempts - self._asked))]

    def asked(self, number: int, tasks: Sequence[TaskSpec]) -> None:
        self._news = []
        for task in tasks:
            self._asked += 1
            self._branches.grow(task)
            self._homes[str(task.id)] = int(task.env.get(ISLAND, "1")) - 1

    def tell(self, told: Told) -> None:
        name = str(told.task.id)
        home = self._homes.pop(name, None)
        if home is None:
            return
        rank = self._branches.take(told)
        if told.error == "conflict":
            self._clashes.add(frozenset(map(str, told.task.after)))
        if name == ROOT:
            self._begin(told, rank)
            return
        self._ended += 1
        self._settle(home, self._member(told, rank))
        if self._offspring is None or not self._homes:
            self._turn_over()

    def judged(self, number: int) -> Sequence[Judgement]:
        return self._news

    def reason(self, number: int) -> str:
        if self._best is None and ROOT not in self._homes:
            return "root_failed"
        if self._asked >= self._attempts:
            return "attempts"
        return "patience" if self._patience is not None and self._barren >= self._patience else ""

    # --- what is asked for ---

    def _attempt(self, place: int, random: Random) -> TaskSpec:
        number = self._asked + place
        home = number % len(self.islands)
        parents = self._parents(self.islands[home], random)
        shown = self._inspiring(self.islands[home], parents, random)
        where = f"island {home + 1}, " if len(self.islands) > 1 else ""
        return TaskSpec(
            id=f"e{number + 1}",
            prompt=self._branches.prompt(parents, near=self._near(parents), shown=shown),
            description=f"{where}grown from {' and '.join(parents)}",
            after=parents,
            reads=shown,
            env={ISLAND: str(home + 1)},
            allow_unchanged=len(parents) > 1,  # what is merged may be better as it is
            score=self._branches.scoring,
        )

    def _parents(self, island: Island, random: Random) -> tuple[str, ...]:
        """Choose whom to grow from: one, where two stand on each other or are known not to fit together."""
        first = island.parent(random, tournament=self._tournament)
        if first is None:  # the root, which is the first member, has not ended
            return (ROOT,)
        if random.random() >= self._crossover:
            return (first.name,)
        other = island.parent(random, tournament=self._tournament, but=first)
        if other is None or {first.name, other.name} in self._clashes:
            return (first.name,)
        if self._branches.stands_on(first.name, other.name):
            return (first.name,)
        if self._branches.stands_on(other.name, first.name):
            return (other.name,)
        return first.name, other.name

    def _inspiring(self, island: Island, parents: Sequence[str], random: Random) -> tuple[str, ...]:
        """Choose whose changes an attempt is shown: the best of all, then members of its island, as they are drawn."""
        drawn = random.sample(island.members, len(island.members))
        best = [] if self._best is None else [self._best]
        names = dict.fromkeys(member.name for member in (*best, *drawn) if member.name != ROOT)
        new = (name for name in names if not any(self._branches.stands_on(parent, name) for parent in parents))
        return tuple(islice(new, self._inspirations))

    def _near(self, parents: Sequence[str]) -> Iterator[str]:
        """Name whose lessons have to do with an attempt, the closest first."""
        yield from parents
        yield from islice(self._branches.path(parents[0]), 1, CHAIN)

    # --- what becomes of it ---

    def _begin(self, told: Told, rank: float | None) -> None:
        self._best = self._member(told, rank)
        if self._best is not None:
            for island in self.islands:
                island.admit(self._best)

    def _member(self, told: Told, rank: float | None) -> Member | None:
        """Make a member of what an attempt made; None if it can be none."""
        if not told.done:
            return None
        score = told.score
        if rank is None or score is None:
            self._reject(told, (score.why if score is not None else "") or "it has no score to compare")
            return None
        cell = cell_of(self._features, score.metrics)
        if isinstance(cell, str):
            self._reject(told, f"its score has no {cell}, which features names")
            return None
        return Member(str(told.task.id), told.number, rank, told.tree, cell)

    def _settle(self, home: int, member: Member | None) -> None:
        """Count a gain, and let a candidate into its island, or into the generation that is to be."""
        is_gain = member is not None and self._best is not None and member.rank > self._best.rank
        self._barren = 0 if is_gain else self._barren + 1
        if is_gain:
            self._best = member
        if member is None:
            return
        if self._offspring is None:
            self._note(self.islands[home].admit(member))
        else:
            self._born.append((home, member))

    def _turn_over(self) -> None:
        """Let a whole generation in, and let the best of each island go to the next when it is time."""
        born, self._born = self._born, []
        if self._offspring is not None:
            for place, island in enumerate(self.islands):
                self._note(island.turn_over(member for home, member in born if home == place))
        if self._migrate_every and self._ended // self._migrate_every > self._migrated:
            self._migrated = self._ended // self._migrate_every
            self._note(self._all.migrate())

    def _note(self, changes: Changes) -> None:
        gone = [(member, why) for member, why in changes.left if not self._all.has(member.name)]
        for member, why in (*gone, *changes.refused):
            self._news.append(Judgement(task=member.name, decision="pruned", rank=member.rank, why=why))

    def _reject(self, told: Told, why: str) -> None:
        self._news.append(Judgement(task=told.task.id, decision="rejected", why=why))


def _refuse_unfit(
    *, features: bool, population: int | None, offspring: int | None, elites: int | None, capacity: int
) -> None:
    if features and population is not None:
        raise UsageError(f"population is {population}, and with features an island keeps the best of every cell")
    if elites is None:
        return
    if features or offspring is None:
        why = "with features the best of every cell stays" if features else "without offspring the best always stay"
        raise UsageError(f"elites is {elites}, and {why}", hint="leave elites out")
    if elites >= capacity:
        raise UsageError(f"elites is {elites} and population {capacity}: no child would ever be let in")
