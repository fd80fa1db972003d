"""How far a long piece of work has come: a bar with the time left, on a terminal; elsewhere nothing.

Knows click. Must not know what is being done.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_EVERY = 200
"""The bar is drawn at most so often in the whole work."""


@contextmanager
def progress(length: int, what: str) -> Iterator[Callable[[], None]]:
    """Give what is to be called after each step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    steps = max(1, length // _EVERY)
    with click.progressbar(length=length, label=what, file=sys.stderr, show_pos=True, update_min_steps=steps) as bar:
        yield lambda: bar.update(1)
