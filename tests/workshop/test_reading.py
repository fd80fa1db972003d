"""What is believed of an agent whose steps have ended: evidence first, its own word where there is none."""

from datetime import UTC
from pathlib import Path

import pytest

from budwood._core.model import AgentTerms, AttemptPhase, Left, Outcome, StepEnd
from budwood.agents.registry import agent_named
from budwood.engine.workshop.orders import Order
from budwood.engine.workshop.reading import Ear, read_agent

FAILED = b'{"type":"result","subtype":"success","is_error":true,"result":"Something went wrong","session_id":"s"}\n'
EAR = Ear("claude", agent_named("claude"), AgentTerms(account="a"), {}, None, 0, UTC)


def left(files: int) -> Left:
    return Left(base="b", tree="t", candidate="c", commit="c", ref="r", files=files)


@pytest.mark.parametrize(
    ("files", "steps", "phase"),
    [
        (1, ("agent", "check"), AttemptPhase.SUCCEEDED),  # a check that passes on changes says more than it
        (0, ("agent", "check"), AttemptPhase.FAILED),  # it passes where nothing was done, too
        (0, ("agent",), AttemptPhase.FAILED),
        (1, ("agent",), AttemptPhase.FAILED),
    ],
)
def test_who_ends_with_0_and_says_that_it_failed(
    tmp_path: Path, files: int, steps: tuple[str, ...], phase: AttemptPhase
) -> None:
    (tmp_path / "transcript").write_bytes(FAILED)
    ends = tuple(StepEnd(name=name, exit_code=0) for name in steps)
    outcome = Outcome(phase=AttemptPhase.SUCCEEDED, exit_code=0, steps=ends, left=left(files))
    order = Order(id="1.1", slot=0, task="a", number=0, attempt=1, starts=("b",), agent="claude")
    assert read_agent(outcome, order, EAR, transcript=tmp_path / "transcript").phase is phase
