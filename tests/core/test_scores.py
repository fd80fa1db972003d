"""How candidates are compared."""

import pytest

from budwood._core.scores import Metric, Score, Scoring, Stage, best_of, gain, gate, rank_of

ONE = Scoring(stages=(Stage(run="a"),))
LESS = Scoring(stages=(Stage(run="a"),), direction="min")
MANY = Scoring(
    stages=(Stage(run="a"),),
    primary="sharpe",
    metrics={"sharpe": Metric(weight=3.0), "drawdown": Metric(direction="min", clamp=0.5, worst=0.1)},
)


def scored(value: float, **metrics: float) -> Score:
    return Score(value=value, metrics=metrics or {"score": value})


def of_many(sharpe: float, drawdown: float) -> Score:
    return Score(value=sharpe, metrics={"sharpe": sharpe, "drawdown": drawdown})


def test_a_gain_is_relative_and_knows_its_direction() -> None:
    assert gain(12.0, 10.0, "max") == pytest.approx(0.2)
    assert gain(12.0, 10.0, "min") == pytest.approx(-0.2)
    assert gain(-5.0, -10.0, "max") == pytest.approx(0.5)
    assert gain(3.0, 0.0, "max") == 3.0


def test_the_gate_wants_a_valid_score_that_is_not_worse_than_the_parents() -> None:
    assert gate(ONE, scored(1.0), scored(1.0)) == ""
    assert gate(ONE, scored(0.5), scored(1.0)) == "score is 0.5, its parent's 1"
    assert gate(LESS, scored(0.5), scored(1.0)) == ""
    assert gate(ONE, None, scored(1.0)) == "it has no score"
    assert gate(ONE, Score(value=9.0, valid=False, why="NaN"), scored(1.0)) == "NaN"
    assert gate(ONE, scored(0.5), None) == ""


def test_one_metric_much_worse_does_not_pass() -> None:
    assert gate(MANY, of_many(1.0, 1.05), of_many(1.0, 1.0)) == ""
    assert gate(MANY, of_many(2.0, 1.2), of_many(1.0, 1.0)) == "drawdown is 1.2, its parent's 1"
    assert gate(MANY, scored(2.0, sharpe=2.0), of_many(1.0, 1.0)) == "it has no drawdown"


def test_a_rank_weighs_and_clamps() -> None:
    assert rank_of(MANY, of_many(1.5, 0.2), of_many(1.0, 1.0)) == pytest.approx((3 * 0.5 + 0.5) / 4)
    assert rank_of(MANY, scored(1.5, sharpe=1.5), of_many(1.0, 1.0)) is None
    assert rank_of(ONE, scored(30.0), scored(1.0)) == 29.0
    assert rank_of(LESS, scored(3.0), None) == -3.0


def test_ties_go_to_the_primary_metric_then_to_the_first() -> None:
    root = of_many(1.0, 1.0)
    flat = Scoring(stages=(), primary="sharpe", metrics={"drawdown": Metric(direction="min")})
    assert best_of(flat, [(1, of_many(1.0, 0.5)), (2, of_many(2.0, 0.5)), (3, of_many(2.0, 0.5))], root) == 2
    assert best_of(flat, [(1, Score(valid=False))], root) is None
