"""What PostgreSQL and libpq say, in budwood's words.

Knows error codes, and the wording of what is refused before there are codes; must not know tables.
"""

import psycopg

from budwood.errors import BudwoodError, StoreDamaged, StoreError, StoreUnwritable, UsageError

_GOING_DOWN = ("57P01", "57P02", "57P03", "57P05", "25P03")
_DAMAGED = ("XX001", "XX002")
_GONE = ("42P01", "42703", "42883", "3F000")


def is_lost(error: psycopg.Error) -> bool:
    """Tell whether the connection is gone, so that the same may work on a new one."""
    code = error.sqlstate or ""
    if code.startswith("08") or code in _GOING_DOWN:
        return True
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not code


def explain(error: psycopg.Error, where: str, *, run: str | None = None) -> BudwoodError:
    """Make the error that a person can act on."""
    code = error.sqlstate or ""
    if code in _DAMAGED:
        return damaged(where, _said(error), run=run)
    if code in _GONE:
        return damaged(where, f"a part of its schema is gone ({_said(error)})", run=run)
    known = _KNOWN.get(code)
    if known is not None:
        kind, what, hint = known
        return kind(f"{where} {what}; nothing of this was written, what was there is safe", hint=hint)
    if is_lost(error):
        return unreachable(error, where)
    return StoreError(f"{where}: {_said(error)}; nothing was written")


_KNOWN: dict[str, tuple[type[StoreError], str, str]] = {
    "25006": (
        *(StoreUnwritable, "can only be read: it is a standby, or its transactions are read-only"),
        "give the address of the primary, or look at default_transaction_read_only",
    ),
    "53100": (
        *(StoreUnwritable, "cannot be written: the disk of its server is full"),
        "make room on the server's disk, then resume",
    ),
    "42501": (
        *(StoreUnwritable, "does not let this user do that"),
        "have its owner grant rights: GRANT USAGE ON SCHEMA and ALL ON ALL TABLES IN SCHEMA",
    ),
    "53300": (
        *(StoreError, "has no connection left"),
        "raise max_connections of the server, or end what holds connections; a driver needs 2, every other command 1",
    ),
    "55P03": (
        *(StoreError, "stayed locked by another connection"),
        "see who holds it: SELECT * FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'",
    ),
    "57014": (
        *(StoreError, "took longer than the server allows"),
        "raise statement_timeout for this user: ALTER ROLE NAME SET statement_timeout = '5min'",
    ),
}
# A connection that is refused has no code, only words; a server that speaks another language is quoted as it is.
_WORDS = (
    (("too many clients", "remaining connection slots", "too many connections"), "53300"),
    (("authentication failed", "no password supplied", "pg_hba.conf"), "login"),
    (("role", "does not exist"), "login"),
    (("database", "does not exist"), "database"),
    (("could not translate host name", "failed to resolve host"), "host"),
    (("invalid port", "invalid integer value"), "address"),
)


def refused(error: psycopg.Error, where: str) -> BudwoodError:
    """Say why a connection could not be opened."""
    said = _said(error)
    code = error.sqlstate or _coded(said)
    if code == "53300":
        kind, what, hint = _KNOWN[code]
        return kind(f"{where} {what}", hint=hint)
    if code in ("28P01", "28000", "login"):
        return StoreError(
            f"{where} refuses the login: {said}", hint="check user and password; a password may also stand in ~/.pgpass"
        )
    if code in ("3D000", "database"):
        return UsageError(f"{where}: {said}", hint="createdb NAME makes a database; budwood makes its tables in it")
    # Where host or port are wrong, libpq quotes what it took for them, which may be a part of the password.
    if code == "host":
        return StoreError(f"{where}: its host is not known", hint="check the address and the network")
    if code == "address":
        return not_understood()
    return unreachable(error, where)


def not_understood() -> UsageError:
    """Refuse an address without quoting it."""
    return UsageError(
        "the address of the database cannot be understood; it is postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
        hint="write special characters of the password as %XX, or leave it out and put it into ~/.pgpass",
    )


def _coded(said: str) -> str:
    for words, code in _WORDS:
        whole = code == "database" or words[0] == "role"
        if (all if whole else any)(word in said for word in words):
            return code
    return ""


def unreachable(error: psycopg.Error, where: str) -> StoreError:
    """Say that the server does not answer."""
    return StoreError(
        f"{where} does not answer: {_said(error)}; what was recorded is safe",
        hint="start the database, or check address and network; then give the command again",
    )


def damaged(where: str, what: str, *, run: str | None = None) -> StoreDamaged:
    """Name the database and the run that was being read; nothing is changed."""
    reading = f" while reading run {run}" if run else ""
    return StoreDamaged(
        f"{where} is damaged, or its schema is no budwood store: {what}{reading}; it is left as it is",
        hint="bring it back from a dump, or try budwood store export to save the other runs",
    )


def _said(error: psycopg.Error) -> str:
    """Return what was said, without the advice behind it."""
    text = error.diag.message_primary or str(error).partition("\n")[0] or type(error).__name__
    return " ".join(text.split()).removeprefix("connection failed: ").removeprefix("connection is bad: ")
