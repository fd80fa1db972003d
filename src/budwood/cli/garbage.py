"""When Python looks for garbage: not while something large is built that stays, and never again in what was built.

Looking takes time in proportion to all that there is; while a plan of a million tasks is read, more of it than reading
does. Only the command line may decide this, because the process is its own.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def hold_off() -> None:
    """Do not look for garbage until `settle`."""
    gc.disable()


def settle() -> None:
    """Look for it again, in what is made from now on."""
    gc.freeze()
    gc.enable()


@contextmanager
def building() -> Iterator[None]:
    """Build something large that stays."""
    hold_off()
    try:
        yield
    finally:
        settle()
