"""Coming from the tree runner: every row of that page has a trial of what it promises, and every trial a row."""

from collections.abc import Callable, Iterator

import pytest
from tests.docs.tree_runner import carried, flags, looking, resuming
from tests.docs.tree_runner.yard import PAGE, Yard
from tests.docs.trials import named

CHAPTERS = (carried, flags, looking, resuming)
"""In this order: the last one changes what the others look at."""
TRIALS = [trial for chapter in CHAPTERS for trial in PAGE.all if trial.__module__ == chapter.__name__]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    made = Yard(tmp_path_factory.mktemp("yard") / "project")
    yield made
    made.grove.end()


def test_every_row_has_a_trial_and_every_trial_a_row() -> None:
    PAGE.check_whole()
    assert len(TRIALS) == len(PAGE.all)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trial", TRIALS, ids=named)
def test_what_a_row_promises_is_so(trial: Callable[[Yard], None], yard: Yard) -> None:
    trial(yard)
