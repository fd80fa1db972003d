"""Dumps of PostgreSQL that are broken, or that nobody would write: read, or refused with the line."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood.errors import PlanError
from budwood.formats.pg_dump import read_dump

COPY = "COPY public.tasks (id, action) FROM stdin;\n1\ta\n2\t\\N\n\\.\n"


def rows(text: str) -> list[dict[str, object]]:
    return [dict(row.cells) for row in read_dump(text, path="dump.sql", tables=("tasks",)).get("tasks", [])]


def test_a_block_of_copy_is_read_with_its_lines() -> None:
    found = read_dump(f"--\n-- tasks\n--\n\n{COPY}\nSELECT 1;\n", path="dump.sql", tables=("tasks",))["tasks"]
    assert [(row.where, row.cells) for row in found] == [
        ("dump.sql:6", {"id": "1", "action": "a"}),
        ("dump.sql:7", {"id": "2", "action": None}),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COPY tasks (id) FROM stdin;\n\\.\n", []),
        ("COPY logs (a) FROM stdin;\n'; COPY tasks\n\\.\nINSERT INTO tasks (id) VALUES (1);", [{"id": "1"}]),
        ("\\restrict x'y\nINSERT INTO tasks (id) VALUES (1);\n\\unrestrict x'y\n", [{"id": "1"}]),
        (
            "INSERT INTO tasks (id, a) VALUES (-1, 'it''s'), (2, NULL::text) ON CONFLICT DO NOTHING;",
            [{"id": "-1", "a": "it's"}, {"id": "2", "a": None}],
        ),
        (
            "INSERT INTO tasks (id, a) OVERRIDING SYSTEM VALUE VALUES (1, E'a\\tb\\'\\x41\\101');",
            [{"id": "1", "a": "a\tb'AA"}],
        ),
        (
            'CREATE TABLE "public"."tasks" (id int, "a ""b""" numeric(1,2));INSERT INTO tasks VALUES (1, true);',
            [{"id": "1", 'a "b"': "t"}],
        ),
        (
            'CREATE TABLE IF NOT EXISTS tasks ("check" text, CHECK (id > 0));INSERT INTO tasks VALUES (FALSE);',
            [{"check": "f"}],
        ),
        (
            "CREATE FUNCTION f() AS $$ ; ' $$;DO $a$ $$ ; $a$;/* ; ' */ INSERT INTO tasks (id) VALUES ('1');",
            [{"id": "1"}],
        ),
        (";;\n;", []),
        ("", []),
    ],
)
def test_what_is_odd_is_read(text: str, expected: list[dict[str, object]]) -> None:
    assert rows(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "COPY tasks (id, action) FROM stdin;\n1\ta\n2\n\\.\n",
            "dump.sql:3: a row of tasks has 1 values for 2 columns",
        ),
        ("\nCOPY tasks (id) FROM stdin;\n1\n2\n", "dump.sql:2: rows of tasks that never end"),
        ("SELECT 1;\nINSERT INTO tasks (id) VALUES (1", "dump.sql:2: INSERT that never ends"),
        ("SELECT 1;\n\nINSERT INTO tasks (id) VALUES ('1);\n", "dump.sql:3: a text that is never closed"),
        ("INSERT INTO tasks VALUES (1);", "dump.sql:1: rows of tasks without the names of its columns"),
        ("INSERT INTO tasks (id) SELECT 1;", "dump.sql:1: INSERT INTO tasks without VALUES"),
        ("INSERT INTO tasks (id) VALUES\n (1),\n (now());", "dump.sql:3: now() in a row of tasks is no value"),
        ("INSERT INTO tasks (id) VALUES ();", "dump.sql:1: a row of tasks has 0 values for 1 columns"),
        ("INSERT INTO tasks (id, a) VALUES (1, );", "dump.sql:1: nothing in a row of tasks is no value"),
    ],
)
def test_what_is_broken_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        rows(text)
    assert caught.value.message == message
    assert caught.value.hint


WRITTEN = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"}


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_any_text_comes_back_from_both_forms(texts: list[str]) -> None:
    copied = "".join("".join(WRITTEN.get(char, char) for char in text) + "\n" for text in texts)
    inserted = ",\n".join("('" + text.replace("'", "''") + "')" for text in texts)
    expected = [{"a": text} for text in texts]
    assert rows(f"COPY tasks (a) FROM stdin;\n{copied}\\.\n") == expected
    assert rows(f"INSERT INTO tasks (a) VALUES\n{inserted};\n") == expected


@given(st.text(st.sampled_from("COPY tasks(id)FROM stdin;\n\\.'\"$E-/*,1VALUES INSERT INTO"), max_size=80))
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(PlanError):
        rows(text)
