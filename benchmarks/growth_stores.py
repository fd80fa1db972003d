"""Where the runs of `growth.py` are kept: a fresh SQLite file each, or a fresh database each on a server of our own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self


@dataclass(frozen=True)
class Place:
    """One fresh store."""

    flags: tuple[str, ...]
    size: Callable[[], int]
    """How many bytes the run takes up that are not in the project's own directory."""


class Stores(Protocol):
    """Makes fresh stores."""

    title: str

    def fresh(self) -> AbstractContextManager[Place]:
        """Make one for a run."""


class SqliteStores:
    """A file in the project's own directory, as shipped."""

    title = "SQLite"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    @contextmanager
    def fresh(self) -> Iterator[Place]:
        """Make one for a run."""
        yield Place((), lambda: 0)


class PostgresStores:
    """A database each, on a server that syncs every commit."""

    title = "PostgreSQL"

    def __enter__(self) -> Self:
        from tests.support.server import running

        self._stack = ExitStack()
        self._server = self._stack.enter_context(running(settings={"fsync": "on"}))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @contextmanager
    def fresh(self) -> Iterator[Place]:
        """Make one for a run."""
        name = self._server.create()
        empty = self._size(name)
        try:
            yield Place(("--store", self._server.url(name)), lambda: self._size(name) - empty)
        finally:
            self._server.drop(name)

    def _size(self, database: str) -> int:
        return int(str(self._server.ask(f"SELECT pg_database_size('{database}')")[0][0]))
