"""An agent that is a program: what it printed is told by its adapter, and weighed in one place.

Knows how telling and weighing meet; must not know any program.
"""

from abc import abstractmethod
from datetime import tzinfo

from budwood.agents.base import NO_TOKENS, Agent, Reading, Tokens
from budwood.agents.judging import Ending, Told, judge


class Program(Agent):
    """What the adapters of programs have in common."""

    @abstractmethod
    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Say what the output says, believed or not."""

    def read(
        self,
        output: bytes,
        *,
        exit_code: int | None,
        signal: int | None,
        now_ms: int,
        zone: tzinfo,
        timed_out: bool = False,
        tokens_before: Tokens = NO_TOKENS,
    ) -> Reading:
        """Weigh what the output says and how the process ended."""
        told = self.tell(output, exit_code=exit_code, tokens_before=tokens_before)
        ending = Ending(exit_code=exit_code, signal=signal, now_ms=now_ms, zone=zone, timed_out=timed_out)
        return judge(told, ending)
