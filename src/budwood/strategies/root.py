"""Where every search starts: a task that changes nothing and is scored, so that there is something to compare with."""

from budwood._core.choice import ROOT
from budwood._core.model import TaskSpec
from budwood._core.scores import Scoring


def root_task(scoring: Scoring) -> TaskSpec:
    """Make the task; the project's own check is about what was made, and nothing is."""
    return TaskSpec(id=ROOT, run="true", description="what there is already", score=scoring, check="true")
