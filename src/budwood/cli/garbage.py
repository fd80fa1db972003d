"""When Python looks for garbage: not while something large is built that stays, and never again in what was built.

Looking takes time in proportion to all that there is; while a plan of a million tasks is read, more of it than reading
does. Only the command line may decide this, because the process is its own.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

Built = TypeVar("Built")


def hold_off() -> None:
    """Do not look for garbage until `settle`."""
    gc.disable()


def settle() -> None:
    """Look for it again, in what is made from now on."""
    gc.freeze()
    gc.enable()


def keep(built: Built) -> Built:
    """Leave what is built to the end of the process, which takes it apart at once: Python would, piece by piece.

    It is held by a list that holds itself, which only looking for garbage could find; `settle` sets that aside.
    """
    holder: list[object] = [built]
    holder.append(holder)
    return built


@contextmanager
def building() -> Iterator[None]:
    """Build something large that stays."""
    hold_off()
    try:
        yield
    finally:
        settle()
