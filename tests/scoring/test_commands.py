"""Commands that score, run as the scoring program runs them: what they print, and what is said where they fail."""

from pathlib import Path

import pytest

from budwood._core.scores import Scoring, Stage
from budwood.scoring.__main__ import Commands
from budwood.scoring.staged import Failed, score


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def swept(command: str) -> Stage:
    return Stage(name="full", run=command, sweep=("bull", "bear"))


def test_a_setting_for_which_nothing_is_printed_is_a_missing_row_and_no_failure() -> None:
    stage = swept('test "$BUDWOOD_SCORE_SETTING" = bear || echo 3')
    found = score(Scoring(stages=(stage,)), Commands(0))
    assert (found.valid, found.why) == (False, "there is no row for the setting bear")
    whole = score(Scoring(stages=(swept("echo 3"),)), Commands(0))
    assert (whole.valid, whole.value) == (True, 3.0)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('test "$BUDWOOD_SCORE_SETTING" = bull && echo 3', "score full with bear failed: exit code 1"),
        ('[ "$BUDWOOD_SCORE_SETTING" = bear ] && echo much || echo 3', "score full with bear: its last line is no"),
    ],
)
def test_a_failure_names_the_setting(command: str, said: str) -> None:
    with pytest.raises(Failed, match=said):
        score(Scoring(stages=(swept(command),)), Commands(0))


def test_without_a_sweep_nothing_is_no_score() -> None:
    with pytest.raises(Failed, match="score: it printed nothing"):
        score(Scoring(stages=(Stage(run="true"),)), Commands(0))
