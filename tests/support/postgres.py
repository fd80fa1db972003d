"""The PostgreSQL server that tests share, and places in it that are a test's own.

One server for each process of tests, started when the first test asks for it. Knows pytest; the server itself is in
`server`.
"""

from collections.abc import Callable, Iterator

import pytest
from tests.support.server import NUMBERS, Server, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server that a process of tests shares; who stops it starts it again."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The address of a database of the test's own."""
    name = postgres.create()
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture(scope="session")
def _shared(postgres: Server) -> str:
    return postgres.create()


@pytest.fixture
def new_schema(postgres: Server, _shared: str) -> Iterator[Callable[[], str]]:
    """Give addresses of schemas of the test's own, in a database that tests share; quicker than a database."""
    names: list[str] = []

    def new() -> str:
        names.append(f"schema{next(NUMBERS)}")
        return postgres.url(_shared, query=f"&options=-csearch_path%3D{names[-1]}")

    yield new
    for name in names:
        postgres.ask(f"DROP SCHEMA IF EXISTS {name} CASCADE", database=_shared)


@pytest.fixture
def schema(new_schema: Callable[[], str]) -> str:
    """The address of a schema of the test's own."""
    return new_schema()
