"""The strategy `best-of`: several attempts at one task; the best is chosen, or made of the parts of several.

First come the attempts, each with its own hint, agent and model. Then, where they are wanted: a judge, who reads what
was made and chooses; and synthesis, by an agent who is given what the others made, or without one by merging what they
made (`unions`). What came of synthesis is chosen only where it is better than all the others. At the end one event says
what is chosen; nothing that was made is lost. Knows scores and tasks; must not know git or prompts' templates.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal

from budwood._core.choice import PERSON, UNDECIDED
from budwood._core.model import TaskSpec
from budwood._core.scores import Judgement, Scoring
from budwood.errors import UsageError
from budwood.strategies import unions, writing
from budwood.strategies.base import Strategy, Told
from budwood.strategies.field import Field
from budwood.strategies.options import dealt, scoring_of, text, whole

Choose = Literal["score", "judge", "person"]
Synthesise = Literal["none", "agent", "union"]
JUDGE, AGAIN, SYNTHESIS = "judge", "judge-again", "synthesis"
CHOICE = "choice.json"
"""The note that a judge leaves."""


class BestOfStrategy(Strategy):
    """Makes `n` attempts at what `prompt` says, and chooses among them."""

    barrier = True

    def __init__(  # noqa: PLR0913 - each is an option that a user may write
        self,
        *,
        prompt: str,
        n: int = 4,
        scoring: Scoring | Mapping[str, object] | None = None,
        hints: Sequence[str] = (),
        agents: Sequence[str] = (),
        models: Sequence[str] = (),
        choose: Choose | None = None,
        judge: str | None = None,
        synthesise: Synthesise = "none",
        synthesiser: str | None = None,
        unions: int = 12,
    ) -> None:
        self._prompt = text("prompt", prompt)
        self._n = whole("n", n)
        self._unions = whole("unions", unions)
        self._dealt = {"hints": dealt("hints", hints, n), "models": dealt("models", models, n)}
        self._agents = dealt("agents", agents, n)
        scored = None if scoring is None else scoring_of(scoring)
        self._judge = None if judge is None else text("judge", judge)
        self._synthesiser = None if synthesiser is None else text("synthesiser", synthesiser)
        self._choose: Choose = choose or ("judge" if judge else "person" if scored is None else "score")
        self._synthesise = synthesise
        _refuse_unfit(self._choose, synthesise, scored=scored is not None, judge=judge, synthesiser=synthesiser)
        self._field = Field(scored)

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        if number == 0:
            return [*self._field.root(), *(self._try(place) for place in range(self._n))]
        return self._next()

    def tell(self, told: Told) -> None:
        self._field.take(told)

    def judged(self, number: int) -> Sequence[Judgement]:
        if number == 0 or self._next():
            return ()
        chosen, why = self._choice()
        return self._field.judgements(chosen, why, first=self._first, later=self._later)

    def reason(self, number: int) -> str:
        if self._choice()[0] is not None:
            return "chosen"
        if not self._field.candidates(self._first):
            return "no_candidate"
        return UNDECIDED if self._choose == "judge" else PERSON

    # --- what comes next ---

    @property
    def _first(self) -> list[str]:
        return [f"try-{place + 1}" for place in range(self._n)]

    @property
    def _later(self) -> list[str]:
        """What came of synthesis."""
        return [name for name in self._field.told if name == SYNTHESIS or name.startswith(unions.PREFIX)]

    def _next(self) -> Sequence[TaskSpec]:
        """Say what is still to be done, from what has been told alone."""
        told, first = self._field.told, self._field.candidates(self._first)
        if self._choose == "judge" and len(first) > 1 and JUDGE not in told:
            return [self._judging(JUDGE, first)]
        if self._synthesise == "union":
            return unions.ask(self._field, self._first, most=self._unions)
        if self._synthesise == "agent" and len(first) > 1:
            if SYNTHESIS not in told:
                return [self._synthesis()]
            if self._is_judged_again(first) and AGAIN not in told:
                return [self._judging(AGAIN, [self._first_choice()[0] or first[0], SYNTHESIS])]
        return ()

    def _is_judged_again(self, first: Sequence[str]) -> bool:
        """Say whether the judge compares what was chosen with what came of synthesis, for want of scores."""
        wanted = self._choose == "judge" and self._field.scoring is None and len(first) > 1
        return wanted and bool(self._field.candidates([SYNTHESIS]))

    def _try(self, place: int) -> TaskSpec:
        hints, models = self._dealt["hints"], self._dealt["models"]
        hint = hints[place % len(hints)] if hints else ""
        return TaskSpec(
            id=f"try-{place + 1}",
            prompt=writing.attempt(self._prompt, hint),
            description=hint.strip().partition("\n")[0],
            agent=(self._agents[place % len(self._agents)],) if self._agents else (),
            model=models[place % len(models)] if models else None,
            score=self._field.scoring,
        )

    def _judging(self, name: str, candidates: Sequence[str]) -> TaskSpec:
        shown = [self._field.told[each] for each in candidates]
        return TaskSpec(
            id=name,
            prompt=writing.judging(self._prompt, shown, scoring=self._field.scoring, note=CHOICE),
            description=f"choose between {', '.join(candidates)}",
            agent=self._asks(self._judge),
            reads=tuple(candidates),
            check="true",  # the project's own check is about what was made, and nothing is
            reviewer="true",
            allow_unchanged=True,
            helps=True,
        )

    def _synthesis(self) -> TaskSpec:
        made = [told for name in self._first if (told := self._field.told[name]).done]
        chosen, why = self._first_choice()
        return TaskSpec(
            id=SYNTHESIS,
            prompt=writing.synthesis(
                self._prompt, made, scoring=self._field.scoring, choice="" if chosen is None else f"{chosen} ({why})"
            ),
            description=f"put together the best of {', '.join(str(told.task.id) for told in made)}",
            agent=self._asks(self._synthesiser),
            reads=tuple(told.task.id for told in made),
            score=self._field.scoring,
        )

    def _asks(self, named: str | None) -> tuple[str, ...]:
        """Say who judges or puts together: who is named, else the first who attempts it, else the run's own."""
        return (named,) if named is not None else tuple(self._agents[:1])

    # --- what is chosen ---

    def _choice(self) -> tuple[str | None, str]:
        """Say what is chosen, if anything, and why."""
        chosen, why = self._first_choice()
        later = self._field.candidates(self._later)
        if self._choose == "person" or not later:
            return chosen, why
        if self._field.scoring is not None:
            best = self._field.best([*self._first, *self._later])
            return (best, self._field.why_best(best, self._first)) if best in later else (chosen, why)
        again = self._field.told.get(AGAIN)
        name, said = (None, "") if again is None else writing.choice_in(again, CHOICE, [str(chosen), SYNTHESIS])
        return (SYNTHESIS, said) if name == SYNTHESIS else (chosen, why)

    def _first_choice(self) -> tuple[str | None, str]:
        """Choose among the attempts."""
        first = self._field.candidates(self._first)
        if self._choose == "person" or not first:
            return None, ""
        if self._choose == "score":
            best = self._field.best(first)
            return best, "" if best is None else self._field.why_best(best, first)
        if len(first) == 1:
            return first[0], "there was no other to choose from"
        told = self._field.told.get(JUDGE)
        if told is None:
            return None, ""
        name, said = writing.choice_in(told, CHOICE, first)
        if name is not None or self._field.scoring is None:
            return name, said
        best = self._field.best(first)
        return best, f"{said}; by score"


def _refuse_unfit(choose: str, synthesise: str, *, scored: bool, judge: str | None, synthesiser: str | None) -> None:
    if choose not in ("score", "judge", "person"):
        raise UsageError(f"choose is {choose!r}; it takes score, judge or person")
    if synthesise not in ("none", "agent", "union"):
        raise UsageError(f"synthesise is {synthesise!r}; it takes none, agent or union")
    if not scored and "score" in (choose, "score" if synthesise == "union" else ""):
        what = "choose = score" if choose == "score" else "synthesise = union"
        raise UsageError(f"{what} needs a score", hint='score = "COMMAND" in [run] measures what attempts make')
    if judge is not None and choose != "judge":
        raise UsageError(f"there is a judge, {judge}, and choose is {choose}", hint='choose = "judge", or no judge')
    if synthesiser is not None and synthesise != "agent":
        raise UsageError(
            f"there is a synthesiser, {synthesiser}, and synthesise is {synthesise}", hint='synthesise = "agent"'
        )
