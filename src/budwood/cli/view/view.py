"""What every view can do.

Knows news and their sum. Must not know the driver.
"""

from abc import ABC, abstractmethod

from budwood.project.feed import News
from budwood.project.summary import Summary


class View(ABC):
    """Shows a run while it is driven."""

    tick_s: float | None = None
    """How often `draw` wants to be called while nothing happens; None is not at all."""
    lost: OSError | None = None
    """Why nothing more can be shown; a run goes on all the same."""

    @abstractmethod
    def take(self, news: News, summary: Summary) -> None:
        """Show one commit; the summary has it already."""

    def draw(self, summary: Summary) -> None:
        """Show what is pending, and how time passes."""
        return

    @abstractmethod
    def say(self, text: str) -> None:
        """Tell something that is no event, such as what a stop waits for."""

    def close(self) -> None:
        """Leave the screen in order; what follows is the verdict."""
        return
