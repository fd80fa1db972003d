"""How far a search has come: counted as it goes on, from its state alone, and said where somebody looks."""

import json

import pytest
from tests.search.conftest import SCORE, Halves
from tests.search.grove import FOUR, Grove
from tests.support.searched import attempt, search

from budwood._core.events import (
    AskingEnded,
    AttemptQueued,
    CandidatesJudged,
    Event,
    RunCreated,
    TasksAdded,
    TasksRetried,
    about,
)
from budwood._core.machine import handle
from budwood._core.model import RunSettings, TaskSpec
from budwood._core.scores import Judgement, Score, Scoring, Stage
from budwood._core.state import RunState
from budwood.strategies.progress import Tally, search_progress
from budwood.testing import samples

SCORING = Scoring(stages=(Stage(run="score"),), primary="sharpe")


def task(name: str, *after: str, scored: bool = True) -> TaskSpec:
    return TaskSpec(id=name, run=("true",), after=after, score=SCORING if scored else None)


def sharpe(value: float) -> Score:
    return Score(value=value, metrics={"sharpe": value})


def beam() -> list[Event]:
    """A beam whose first depth is judged, and whose second is under way."""
    return [
        RunCreated(run="r", name="night", settings=RunSettings(), strategy="beam", options={"max_depth": 4}),
        TasksAdded(tasks=(task("root"),)),
        *attempt("root", 1, sharpe(2.0)),
        TasksAdded(tasks=(task("root-ideas", "root", scored=False),), ask=1),
        *attempt("root-ideas", 1, None),
        TasksAdded(tasks=tuple(task(f"d1-e000{n}", "root") for n in (1, 2, 3)), ask=2),
        *attempt("d1-e0002", 1, sharpe(3.0)),
        *attempt("d1-e0001", 1, sharpe(2.5)),
        *attempt("d1-e0003", 1, sharpe(1.0)),
        CandidatesJudged(
            ask=3,
            judgements=(
                Judgement(task="d1-e0001", decision="promoted"),
                Judgement(task="d1-e0002", decision="promoted"),
                Judgement(task="d1-e0003", decision="rejected"),
            ),
        ),
        TasksAdded(tasks=(task("d2-e0004", "d1-e0001"), task("d2-e0005", "d1-e0002")), ask=3),
        AttemptQueued(task="d2-e0004", attempt=1, slot=0),
    ]


def said_on_the_way(events: list[Event]) -> list[str]:
    """Count event by event, as a view does, and compare with counting it all anew each time."""
    state, said, tally = RunState(), [], None
    for recorded in samples.recorded(0, events):
        handle(state, recorded)
        if tally is None:
            tally = Tally.of(state)
        else:
            tally.take(state, [state.task(name) for name in about(recorded.event)])
        assert tally is not None
        assert tally.progress() == search_progress(state)
        said.append(tally.progress().words)
    return list(dict.fromkeys(said))


def test_a_beam_says_its_depth_what_ended_there_what_was_promoted_and_what_is_best() -> None:
    assert said_on_the_way(beam()) == [
        "depth 0 of 4: nothing is asked for yet, 0 promoted so far",
        "depth 0 of 4: 0 of 1 ended, 0 promoted so far",
        "depth 0 of 4: 1 of 1 ended, 0 promoted so far",
        "depth 1 of 4: ideas are asked for, 0 promoted so far",
        "depth 1 of 4: 0 of 3 ended, 0 promoted so far",
        "depth 1 of 4: 1 of 3 ended, 0 promoted so far; best sharpe 3 (d1-e0002, +50 % against the root)",
        "depth 1 of 4: 2 of 3 ended, 0 promoted so far; best sharpe 3 (d1-e0002, +50 % against the root)",
        "depth 1 of 4: 3 of 3 ended, 0 promoted so far; best sharpe 3 (d1-e0002, +50 % against the root)",
        "depth 1 of 4: 3 of 3 ended, 2 promoted so far; best sharpe 3 (d1-e0002, +50 % against the root)",
        "depth 2 of 4: 0 of 2 ended, 2 promoted so far; best sharpe 3 (d1-e0002, +50 % against the root)",
    ]


def test_what_is_over_asks_for_nothing_and_says_why() -> None:
    best = "best sharpe 3 (d1-e0002, +50 % against the root)"
    (_, first), second = attempt("d2-e0004", 1, sharpe(2.75)), attempt("d2-e0005", 1, sharpe(1.0))
    musing = TasksAdded(tasks=(task("d2-e0004-ideas", "d2-e0004", scored=False),), ask=4)
    events = [
        *beam(),
        first,
        *second,
        musing,
        *attempt("d2-e0004-ideas", 1, None),
        AskingEnded(asks=5, reason="no_ideas"),
    ]
    assert said_on_the_way(events)[-3:] == [
        f"depth 2 of 4: 2 of 2 ended, 2 promoted so far; {best}",
        f"depth 3 of 4: ideas are asked for, 2 promoted so far; {best}",
        f"depth 3 of 4: nothing was tried, 2 promoted; {best}; over: no_ideas",
    ]
    last = list(attempt("d", 2, Score(value=7.0, metrics={"score": 7.0})))
    chosen = said_on_the_way([*search("min"), *last, AskingEnded(asks=1, reason="chosen")])
    assert chosen[-1] == "4 of 4 ended; best score 4 (b, +50 % against the root); over: chosen"
    asked_for_all = [*search("min"), AskingEnded(asks=1, reason="attempts"), *last]
    assert ["over" in said for said in said_on_the_way(asked_for_all)[-2:]] == [False, True]


def test_a_gain_of_many_times_is_written_out() -> None:
    assert said_on_the_way(search("max", root=0.5))[-1] == "3 of 4 ended; best score 6 (a, +1,100 % against the root)"


def test_best_of_counts_its_attempts_and_compares_when_the_root_is_known() -> None:
    assert said_on_the_way(search("min")) == [
        "nothing is asked for yet",
        "0 of 4 ended",
        "1 of 4 ended; best score 6 (a)",
        "1 of 4 ended; best score 6 (a, +25 % against the root)",
        "2 of 4 ended; best score 4 (b, +50 % against the root)",
        "3 of 4 ended; best score 4 (b, +50 % against the root)",
    ]
    assert said_on_the_way(search("max", root=0.0))[-1] == "3 of 4 ended; best score 6 (a, +6 against the root)"


def test_mcts_counts_of_its_budget() -> None:
    events = search("max", strategy="mcts")
    assert said_on_the_way(events)[-1] == "3 of 50 attempts ended; best score 6 (a, -25 % against the root)"
    events[0] = RunCreated(run="r", name="n", settings=RunSettings(), strategy="mcts", options={"attempts": 7})
    assert said_on_the_way(events)[-1].startswith("3 of 7 attempts ended")


def test_what_is_wanted_again_is_not_the_best_any_more() -> None:
    events = [*search("min"), TasksRetried(tasks=("b",)), *attempt("b", 3, None, fails=True)]
    assert said_on_the_way(events)[-2:] == [
        "3 of 4 ended; best score 4 (b, +50 % against the root)",
        "2 of 4 ended; best score 6 (a, +25 % against the root)",
    ]


def test_a_plan_has_none() -> None:
    state = RunState()
    assert search_progress(state) is None
    for recorded in samples.recorded(0, search(strategy="plan")):
        handle(state, recorded)
    assert search_progress(state) is None


@pytest.mark.slow
def test_status_and_bare_budwood_tell_it(grove: Grove) -> None:
    grove.ideas(**FOUR)
    grove.beam(options={"beam_width": 2, "max_depth": 2, "one_depth": True})
    grove.call("run", "plan.toml", code=4)
    words = "depth 1 of 2: 4 of 4 ended, 2 promoted so far; best score 13 (d1-e0003, +30 % against the root)"
    assert f"  search    {words}\n" in grove.call("status", "plan").out
    assert f"  plan: {words}\n" in grove.call().out
    found = json.loads(grove.call("status", "plan", "--json").out)["search"]
    assert (found["depth"], found["max_depth"], found["tasks"], found["ended"], found["promoted"]) == (1, 2, 4, 4, 2)
    assert (found["best"], found["score"], found["gain"], found["root"]) == ("d1-e0003", 13.0, 0.3, 10.0)
    grove.call("resume", "plan")
    said = grove.call("status", "plan").out
    assert (
        "depth 2 of 2: 6 of 6 ended, 4 promoted; best score 15 (d2-e0007, +50 % against the root); over: max_d" in said
    )
    found = json.loads(grove.call("status", "plan", "--json").out)["search"]
    assert (found["over"], found["reason"]) == (True, "max_depth")
    assert "plan: depth" not in grove.call().out  # over: `budwood best` tells


@pytest.mark.slow
def test_a_terminal_shows_it_while_it_is_driven(halves: Halves) -> None:
    halves.setter("lefty", "left", 5)
    terminal = halves.terminal("best-of", "Raise it.", "-n", "2", "--agent", "lefty", "--score", f"sleep 0.5; {SCORE}")
    terminal.wait_text("0 of 2 ended")
    terminal.wait_text("; best score 6 (try-1, +200 % against the root)")
    assert terminal.wait() == 0
