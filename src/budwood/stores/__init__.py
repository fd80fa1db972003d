"""Where events live: the contract, the backends, and how a run moves from one to another.

Knows `_core`; must not know engine, executors or command line.
"""

from pathlib import Path

from budwood.errors import UsageError
from budwood.stores.base import Answer, Bell, Claim, Commit, Lease, LogEntry, Request, Store

__all__ = ["Answer", "Bell", "Claim", "Commit", "Lease", "LogEntry", "Request", "Store", "open_store"]


def open_store(where: str | Path, *, create: bool = True) -> Store:
    """Open the store at a path, at `memory:` or at a database's address; without `create`, one that is there."""
    address = str(where)
    if address == "memory:":
        from budwood.stores.memory import MemoryStore

        return MemoryStore()
    if address.startswith(("postgresql://", "postgres://")):
        raise UsageError(
            "this version of budwood has no PostgreSQL store yet", hint="use a file: --store .budwood/store.db"
        )
    if "://" in address:
        raise UsageError(f"{address} is no store that budwood knows", hint="give a path, or memory:")
    from budwood.stores.sqlite import SqliteStore

    return SqliteStore(Path(where), create=create)
