"""Events, errors and the store as the reference describes them are those of the program."""

import inspect
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.docs.pages import ROOT, samples
from tests.support.told import ended

from budwood import errors
from budwood._core.events import KINDS, AttemptQueued, Event, Recorded, as_json
from budwood._core.judge import ENVIRONMENT, SETUP
from budwood.errors import BudwoodError

EVENTS, ERRORS, STORE = (
    (ROOT / f"docs/reference/{name}.md").read_text(encoding="utf-8") for name in ("events", "errors", "store")
)
QUERIES = [sample.text for sample in samples(STORE) if sample.language == "sql"]


def default_of(field: msgspec.structs.FieldInfo) -> str:
    if field.default is not msgspec.NODEFAULT:
        value = field.default
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
    known = {"exit", "signal", "timeout", "memory", "cancelled", "abandoned", *SETUP, *ENVIRONMENT}
    _, _, table = ERRORS.partition("## Errors of attempts")
    told = {
        name for cell in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    }
    assert told == known


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    told = ended(tmp_path_factory.mktemp("project"))
    told.close()
    return told.root / ".budwood" / "store.db"


@pytest.mark.parametrize("kind", ["view", "table"])
def test_every_view_and_table_is_listed_with_its_columns(database: Path, kind: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))]
        there = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}
    _, _, rest = STORE.partition(f"## {kind.title()}s\n")
    rows = re.findall(r"^\| `(\w+)` \|(?: [^`|]+ \|)? (.*) \|$", rest.partition("\n## ")[0], re.MULTILINE)
    assert {name: re.findall(r"`(\w+)`", columns) for name, columns in rows} == there


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_runs(database: Path, query: str) -> None:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute(query).fetchall()
    if "external" not in query:  # nothing of that kind happened in the sample run
        assert rows


def test_the_first_query_finds_what_failed(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute(QUERIES[0]).fetchall() == [("test", "exit", "exit code 3")]
