"""Addresses as they may be shown: whoever has the password finds the database, and nobody learns the password."""

import pytest

from budwood.stores.address import is_postgres, shown


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
