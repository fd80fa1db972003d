"""Events, errors and the store as the reference describes them are those of the program."""

import inspect
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TypeGuard

import msgspec
import psycopg
import pytest
from tests.docs.pages import ROOT, samples
from tests.support.server import Server
from tests.support.told import ended

from budwood import errors
from budwood._core.events import KINDS, AttemptQueued, Event, Recorded, as_json
from budwood._core.judge import LIMIT, OUTSIDE, REVIEW, REVIEWER, SETUP
from budwood._core.replay import fold_rows
from budwood.engine.workshop.reading import TYPES
from budwood.engine.workshop.scoring import SCORE
from budwood.errors import BudwoodError
from budwood.stores import open_store
from budwood.stores.parts import encoded, parts_of
from budwood.stores.transfer import import_run

EVENTS, ERRORS, STORE = (
    (ROOT / f"docs/reference/{name}.md").read_text(encoding="utf-8") for name in ("events", "errors", "store")
)
QUERIES = [sample.text for sample in samples(STORE) if sample.language == "sql"]


def default_of(field: msgspec.structs.FieldInfo) -> str:
    if field.default is not msgspec.NODEFAULT:
        value = field.default
        if value is msgspec.UNSET:
            return "absent"
    elif field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    else:
        return "required"
    return f"`{msgspec.json.encode(value).decode()}`"


@pytest.mark.parametrize(("kind", "event"), KINDS.items())
def test_every_kind_of_event_is_described_with_its_fields_and_defaults(kind: str, event: type[Event]) -> None:
    _, found, rest = EVENTS.partition(f"\n### `{kind}`\n")
    assert found
    text = rest.partition("\n### ")[0]
    assert " ".join((inspect.getdoc(event) or "").split()) in text
    told = re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", text, re.MULTILINE)
    assert told == [(field.encode_name, default_of(field)) for field in msgspec.structs.fields(event)]


def test_no_kind_is_described_that_is_none() -> None:
    assert re.findall(r"^### `(.*)`$", EVENTS, re.MULTILINE) == list(KINDS)


def test_the_sample_of_an_event_is_one() -> None:
    sample = next(sample for sample in samples(EVENTS) if sample.language == "json")
    event = Recorded(4, 1_790_000_004_000, AttemptQueued(task="build", attempt=1, slot=0))
    assert msgspec.json.decode(sample.text) == as_json(event)


def every_error() -> list[type[BudwoodError]]:
    return [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, BudwoodError)]


def test_every_error_is_in_the_table_with_code_and_exit_code() -> None:
    told = re.findall(r"^\| `(\w+)` \| `([\w-]+)` \| (\d+) \|", ERRORS, re.MULTILINE)
    assert told == [(each.__name__, each.code, str(each.exit_code)) for each in every_error()]


def test_the_tree_of_errors_is_that_of_the_classes() -> None:
    tree = next(sample.text for sample in samples(ERRORS) if "├──" in sample.text)
    depths: list[tuple[int, str]] = []
    for line in tree.splitlines():
        match = re.match(r"([│├└─ ]*)(\w+)", line)
        assert match is not None
        depths.append((len(match[1]) // 4, match[2]))
    assert depths == [(len(each.__mro__) - len(BudwoodError.__mro__), each.__name__) for each in every_error()]


def test_every_type_of_an_attempts_error_is_explained() -> None:
    known = {
        "exit",
        "signal",
        "exception",
        "result",
        "timeout",
        "memory",
        "cancelled",
        "abandoned",
        "check",
        "marks",
        "unchanged",
        "conflict",
        "gone",
        LIMIT,
        REVIEW,
        REVIEWER,
        SCORE,
        *OUTSIDE,
        *SETUP,
        *TYPES.values(),
    }
    _, _, table = ERRORS.partition("## Errors of attempts")
    told = {
        name for cell in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    }
    assert told == known


Ask = Callable[[str], list[tuple[object, ...]]]
"""Asks a store in SQL, as its users do."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    told = ended(tmp_path_factory.mktemp("project"))
    told.close()
    return told.root / ".budwood" / "store.db"


@pytest.fixture(scope="module")
def in_sqlite(file: Path) -> Ask:
    def ask(question: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(question).fetchall()

    return ask


@pytest.fixture(scope="module")
def in_postgres(file: Path, postgres: Server) -> Ask:
    url = postgres.url(postgres.create())
    with open_store(file) as source, open_store(url) as target:
        for row in source.runs():
            import_run(target, encoded(parts_of(source, row.id)), fold=fold_rows)

    def ask(question: str) -> list[tuple[object, ...]]:
        with psycopg.connect(url, options="-c search_path=budwood") as connection:
            return connection.execute(question).fetchall()

    return ask


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ask(request: pytest.FixtureRequest) -> Ask:
    found: Ask = request.getfixturevalue(f"in_{request.param}")
    return found


def listed(heading: str) -> dict[str, list[str]]:
    """Read names and columns from the table under a heading, or behind a sentence."""
    _, found, rest = STORE.partition(heading)
    assert found
    table = re.search(r"(?:^\|.*\n)+", rest, re.MULTILINE)
    assert table is not None
    rows = re.findall(r"^\| `(\w+)` \|(?: [^`|]+ \|)? (.*) \|$", table[0], re.MULTILINE)
    return {name: re.findall(r"`(\w+)`", columns) for name, columns in rows}


@pytest.mark.parametrize("kind", ["view", "table"])
def test_every_view_and_table_is_listed_with_its_columns(in_sqlite: Ask, kind: str) -> None:
    names = [str(name) for (name,) in in_sqlite(f"SELECT name FROM sqlite_master WHERE type = '{kind}'")]
    there = {name: [row[1] for row in in_sqlite(f"PRAGMA table_info({name})")] for name in names}
    assert listed(f"## {kind.title()}s\n") == there


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["view", "table"])
def test_postgresql_has_the_same_views_and_tables_and_what_is_listed_besides(in_postgres: Ask, kind: str) -> None:
    told = listed(f"## {kind.title()}s\n")
    if kind == "table":
        for name, more in listed("PostgreSQL has these besides:").items():
            told[name] += more
    question = (
        "SELECT relname, array_agg(attname::text ORDER BY attnum) "
        "FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
        f"WHERE relnamespace = 'budwood'::regnamespace AND relkind = '{'v' if kind == 'view' else 'r'}' AND attnum > 0 "
        "GROUP BY relname"
    )
    there = {str(name): columns for name, columns in in_postgres(question)}
    if kind == "view":
        assert there == told
    else:  # of tables, the order is the backend's own
        assert {name: sorted(columns) for name, columns in there.items()} == {  # type: ignore[call-overload]
            name: sorted(columns) for name, columns in told.items()
        }


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_runs(ask: Ask, query: str) -> None:
    rows = ask(query)
    # Nothing of these kinds happened in the sample run; tests/stores/test_scores.py has one with scores.
    if "external" not in query and "gain" not in query:
        assert rows


@pytest.mark.postgres
@pytest.mark.parametrize("query", QUERIES)
def test_every_query_gives_the_same_on_both(in_sqlite: Ask, in_postgres: Ask, query: str) -> None:
    def plain(rows: list[tuple[object, ...]]) -> list[list[str]]:
        """Write ids alike: a number is text in PostgreSQL; and numbers, which may be decimal there."""
        return [[f"{float(each):.6f}" if _is_number(each) else str(each) for each in row] for row in rows]

    assert plain(in_sqlite(query)) == plain(in_postgres(query))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | Decimal) or (isinstance(value, str) and value.isdecimal())


def test_the_first_query_finds_what_failed(ask: Ask) -> None:
    assert ask(QUERIES[0]) == [("test", "exit", "exit code 3")]
