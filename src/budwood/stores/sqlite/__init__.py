"""The embedded store: one SQLite file, a directory of locks and one of bells beside it.

Knows the contract and `_core`; must not know machine, engine or command line.
"""

from budwood.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
