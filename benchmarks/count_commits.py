"""The command `budwood`, which at its end tells how many commits it made; `functions.py` starts it."""

import sys

from budwood.cli import main
from budwood.stores.base import Commit, Lease
from budwood.stores.sqlite import SqliteStore

commits = 0
append = SqliteStore.append


def count(store: SqliteStore, lease: Lease, commit: Commit) -> None:
    """Append, and take note."""
    global commits  # noqa: PLW0603  # a program of one page
    commits += 1
    append(store, lease, commit)


SqliteStore.append = count  # type: ignore[method-assign,assignment]  # to count is what this is for
try:
    main()
finally:
    sys.stdout.write(f"{commits}\n")
