"""The one place where the machine meets store and executor. Must not print or read the environment."""

from budwood.engine.driver import Driver, Listener, Opening
from budwood.engine.verdict import Exit, Verdict, reach_verdict

__all__ = ["Driver", "Exit", "Listener", "Opening", "Verdict", "reach_verdict"]
