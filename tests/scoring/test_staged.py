"""Stages, sweeps and repeats: what is measured, and what is not any more."""

import math

import pytest

from budwood._core.scores import Score, Scoring, Stage
from budwood.scoring import score
from budwood.scoring.estimate import interval

Rows = list[dict[str, float]]


class Bench:
    """Measures by a table, and remembers what it was asked."""

    def __init__(self, *values: float | Rows) -> None:
        self.values = list(values)
        self.asked: list[tuple[str, str | None, int]] = []

    def __call__(self, stage: Stage, *, setting: str | None, repeat: int) -> Rows:
        self.asked.append((stage.run, setting, repeat))
        value = self.values.pop(0)
        return value if isinstance(value, list) else [{"score": value}]


def test_one_command_one_score() -> None:
    assert score(Scoring(stages=(Stage(run="a"),)), Bench(0.0)) == Score(value=0.0, metrics={"score": 0.0})


def test_what_is_too_low_is_measured_no_further() -> None:
    stages = (Stage(run="quick", name="quick", at_least=0.5), Stage(run="full"))
    bench = Bench(0.4)
    found = score(Scoring(stages=stages), bench)
    assert (found.valid, found.value, found.stage) == (False, 0.4, "quick")
    assert found.why == "score is 0.4, and at least 0.5 is wanted"
    assert bench.asked == [("quick", None, 0)]


def test_each_stage_adds_its_metrics_and_the_last_one_decides() -> None:
    stages = (Stage(run="quick", at_most=2.0), Stage(run="full"))
    found = score(Scoring(stages=stages), Bench([{"score": 1.0, "size": 3.0}], [{"score": 9.0}]))
    assert (found.valid, found.value, found.stage) == (True, 9.0, "2")
    assert found.metrics == {"score": 9.0, "size": 3.0}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_not_valid(bad: float) -> None:
    found = score(Scoring(stages=(Stage(run="a"),)), Bench(bad))
    assert (found.valid, found.value, found.metrics) == (False, None, {})
    assert found.why == f"score is {bad}"


def test_a_score_without_its_primary_metric_is_not_valid() -> None:
    found = score(Scoring(stages=(Stage(run="a"),), primary="sharpe"), Bench([{"calmar": 1.0}]))
    assert (found.valid, found.why) == (False, "there is no sharpe in what it said: calmar")


def test_a_sweep_takes_the_mean_over_its_settings() -> None:
    bench = Bench(1.0, 3.0)
    assert score(Scoring(stages=(Stage(run="a", sweep=("x", "y")),)), bench).value == 2.0
    assert bench.asked == [("a", "x", 0), ("a", "y", 0)]


def test_a_missing_row_makes_a_candidate_invalid() -> None:
    found = score(Scoring(stages=(Stage(run="a", sweep=("x", "y"), results="r.csv"),)), Bench(1.0, []))
    assert (found.valid, found.why) == (False, "there is no row for the setting y")


def test_too_few_rows_make_a_candidate_invalid() -> None:
    found = score(Scoring(stages=(Stage(run="a", results="r.csv", rows=3),)), Bench([{"score": 9.0}, {"score": 9.0}]))
    assert (found.valid, found.why) == (False, "2 of 3 rows are there")


def test_a_cell_that_is_missing_makes_a_candidate_invalid() -> None:
    found = score(Scoring(stages=(Stage(run="a", results="r.csv"),)), Bench([{"score": 1.0, "b": 1.0}, {"score": 1.0}]))
    assert (found.valid, found.why) == (False, "b is not in every row")


def test_repeats_give_a_mean_and_how_sure_it_is() -> None:
    found = score(Scoring(stages=(Stage(run="a", repeats=3),)), Bench(1.0, 2.0, 3.0))
    assert (found.value, found.samples) == (2.0, (1.0, 2.0, 3.0))
    assert found.low == pytest.approx(2.0 - 4.303 / math.sqrt(3), abs=1e-3)
    assert found.high == pytest.approx(2.0 + 4.303 / math.sqrt(3), abs=1e-3)


BAR = Score(value=10.0, samples=(9.0, 10.0, 11.0, 10.0, 9.0, 11.0))


def test_a_hopeless_one_is_given_up() -> None:
    bench = Bench(7.0, 8.1, 9.0)
    found = score(Scoring(stages=(Stage(run="a", repeats=6),)), bench, bar=BAR)
    assert (found.valid, found.why) == (False, "worse than its parent after 3 of 6 repeats")
    assert len(bench.asked) == 3


def test_equal_seeds_tell_sooner_than_means_do() -> None:
    wide = Score(value=10.0, samples=(0.0, 10.0, 20.0, 5.0))
    assert not score(Scoring(stages=(Stage(run="a", repeats=4),)), Bench(-1.0, 9.0, 18.9, 4.0), bar=wide).valid
    assert score(Scoring(stages=(Stage(run="a", repeats=4),)), Bench(-1.0, 9.0, 18.9, 4.0), bar=Score(value=10.0)).valid


def test_one_that_may_be_better_is_measured_to_the_end() -> None:
    bench = Bench(9.0, 11.0, 9.0, 11.0, 9.0, 11.0)
    assert score(Scoring(stages=(Stage(run="a", repeats=6),)), bench, bar=BAR).valid
    assert len(bench.asked) == 6


def test_less_can_be_better() -> None:
    bench = Bench(13.0, 14.0, 15.0)
    assert not score(Scoring(stages=(Stage(run="a", repeats=6),), direction="min"), bench, bar=BAR).valid
    assert len(bench.asked) == 3


def test_a_single_measurement_is_not_sure_at_all() -> None:
    assert interval([1.0]) is None
