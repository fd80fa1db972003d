"""Keeping attempts in: what a step sees of this machine, as the words that bubblewrap takes.

Nothing here mounts or starts a sandbox: the words go into a step's command, and `budwood-supervisor sandbox` runs it.
"""

from budwood.sandbox.bwrap import Bwrap, find_bwrap
from budwood.sandbox.machine import Machine
from budwood.sandbox.view import View, bwrap_words, places

__all__ = ["Bwrap", "Machine", "View", "bwrap_words", "find_bwrap", "places"]
