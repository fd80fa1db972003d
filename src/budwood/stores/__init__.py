"""Where events live: the contract, the backends, and how a run moves from one to another.

Knows `_core`; must not know engine, executors or command line.
"""

from pathlib import Path

from budwood.errors import MissingExtra
from budwood.stores.address import is_postgres, refuse_misspelt, shown
from budwood.stores.base import Answer, Bell, Claim, Commit, Lease, LogEntry, Request, RequestBody, Store

__all__ = [
    "Answer",
    "Bell",
    "Claim",
    "Commit",
    "Lease",
    "LogEntry",
    "Request",
    "RequestBody",
    "Store",
    "is_there",
    "open_store",
]


def open_store(where: str | Path, *, create: bool = True) -> Store:
    """Open the store at a path, at `memory:` or at a database's address; without `create`, one that is there."""
    address = str(where)
    if address == "memory:":
        from budwood.stores.memory import MemoryStore

        return MemoryStore()
    if is_postgres(address):
        _need_psycopg(address)
        from budwood.stores.postgres import PostgresStore

        return PostgresStore(address, create=create)
    refuse_misspelt(address)
    from budwood.stores.sqlite import SqliteStore

    return SqliteStore(Path(where), create=create)


def is_there(where: str | Path) -> bool:
    """Look whether there is a store, without making one; a database that does not answer is an error."""
    address = str(where)
    if is_postgres(address):
        _need_psycopg(address)
        from budwood.stores.postgres import has_store

        return has_store(address)
    refuse_misspelt(address)
    return address == "memory:" or Path(where).exists()


def _need_psycopg(address: str) -> None:
    try:
        import psycopg  # noqa: F401  # looked for here, so that a fault of our own is not taken for its absence
    except ImportError as error:
        raise MissingExtra("postgres", needed_for=f"what reaches {shown(address)}, a PostgreSQL database,") from error
