"""Addresses as they may be shown: whoever has the password finds the database, and nobody learns the password."""

from contextlib import chdir
from pathlib import Path

import pytest

from budwood.errors import UsageError
from budwood.stores import is_there, open_store
from budwood.stores.address import is_postgres, refuse_misspelt, shown


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("postgresql://me:s3cret@host:5432/db", "postgresql://me@host:5432/db"),
        ("postgres://me:s3cret@host/db", "postgresql://me@host/db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://host/db?user=me&password=s3cret", "postgresql://host/db?user=me"),
        ("postgresql://host/db?password=s3cret", "postgresql://host/db"),
        ("postgresql://host/db?PASSWORD=s3cret&sslmode=require", "postgresql://host/db?sslmode=require"),
        ("postgresql://me:s3cret@/db?host=%2Frun&sslpassword=s3cret", "postgresql://me@/db?host=%2Frun"),
        (
            "postgresql://me:s3cret@a:1,b:2/db?target_session_attrs=any",
            "postgresql://me@a:1,b:2/db?target_session_attrs=any",
        ),
        ("postgresql://me:s3%40cret@host/db", "postgresql://me@host/db"),
        # Not encoded as they should be: they do not work, and are not shown either.
        ("postgresql://me:s3@cret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:s3/cret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:s3?cret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:s3#cret:x@host/db", "postgresql://me@host/db"),
        ("/a/path:with@signs", "/a/path:with@signs"),
        ("memory:", "memory:"),
    ],
)
def test_no_password_is_shown(address: str, seen: str) -> None:
    assert shown(address) == seen
    assert shown(seen) == seen


def test_only_addresses_of_databases_are_such() -> None:
    assert is_postgres("postgresql://x")
    assert is_postgres("postgres://x")
    assert not any(map(is_postgres, ("", "postgresql", "store.db", "mysql://x", "sqlite:///x", " postgresql://x")))


MISSPELT = (
    "postgresql+asyncpg://pw:s3cret@h/db",
    "mysql://u:s3cret@h/db",
    "POSTGRESQL://u:s3cret@h/db",
    " postgresql://u:s3cret@h/db",
    "://u:s3cret@h/db",
    "postgresql//pw:s3cret@h/db",
    "postgres//pw:s3cret@h/db",
    "postgresql:/pw:s3cret@h/db",
    "postgresql:pw:s3cret@h/db",
    "host=h password=s3cret dbname=d",
    "password = s3cret",
    "Host=h;Password=s3cret",
    "h/db?password=s3cret",
)


@pytest.mark.parametrize("address", MISSPELT)
def test_what_is_nearly_an_address_is_refused_and_not_quoted(address: str, tmp_path: Path) -> None:
    with chdir(tmp_path):
        for use in (refuse_misspelt, open_store, is_there):
            with pytest.raises(UsageError) as caught:
                use(address)
            assert "s3cret" not in str(caught.value)
            assert "postgresql://USER@HOST/DATABASE" in (caught.value.hint or "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "path", ["store.db", "a:b.db", "me@home.db", "postgres/store.db", "postgresql.db", "/a=b/password.db", "memory:"]
)
def test_a_path_is_no_address(path: str) -> None:
    refuse_misspelt(path)
