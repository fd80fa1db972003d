"""Opens connections: to the right schema, in UTF-8, with limits on how long a lost one can go unnoticed.

Knows libpq's parameters and the server's settings; must not know tables.
"""

import re
from dataclasses import dataclass, field

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from budwood.errors import StoreError, UsageError
from budwood.stores.address import shown
from budwood.stores.postgres.faults import not_understood

Connection = psycopg.Connection[TupleRow]

SCHEMA = "budwood"
OLDEST = 14
BUSY_S = 30
_SEARCH_PATH = re.compile(r"search_path(?:\s|\\ )*=(?:\s|\\ )*([^\s,]+)")
# What an address does not say itself. A host that vanished is noticed within half a minute, on both sides.
_DEFAULTS = {
    "application_name": "budwood",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
_SETTINGS = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "lock_timeout": f"{BUSY_S}s",
    "idle_session_timeout": "0",
    # One that vanished in the middle of a transaction must not keep its locks.
    "idle_in_transaction_session_timeout": f"{BUSY_S}s",
}
_PREPARE = "SELECT current_setting('server_encoding'), " + ", ".join(
    "set_config(%s, %s, false)" for _ in range(len(_SETTINGS) + 1)
)


@dataclass(frozen=True, slots=True)
class Address:
    """A database and the schema in it; `shown` is for people, `conninfo` is for libpq and may hold a password."""

    conninfo: str = field(repr=False)
    shown: str
    schema: str


def read_address(text: str) -> Address:
    """Understand an address; the schema is the first of `search_path` in its options, else `budwood`."""
    try:
        given = conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        raise not_understood() from None
    chosen = _SEARCH_PATH.search(str(given.get("options", "")))
    schema = SCHEMA if chosen is None else chosen[1].strip('"')
    more = {name: value for name, value in _DEFAULTS.items() if name not in given}
    return Address(conninfo=make_conninfo(text, client_encoding="UTF8", **more), shown=shown(text), schema=schema)


def connect(address: Address) -> Connection:
    """Open one connection; psycopg's own errors come through, so that who waits for a server can tell them apart."""
    connection = psycopg.connect(address.conninfo, autocommit=True, prepare_threshold=0)
    try:
        path = '"' + address.schema.replace('"', '""') + '"'
        values = [text for setting in (*_SETTINGS.items(), ("search_path", path)) for text in setting]
        found = connection.execute(_PREPARE, values).fetchone()
        assert found is not None
        _refuse_others(address, encoding=found[0], version=connection.info.server_version)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_others(address: Address, *, encoding: str, version: int) -> None:
    if version < OLDEST * 10_000:
        raise StoreError(
            f"{address.shown} is PostgreSQL {version // 10_000}; budwood needs {OLDEST} or newer",
            hint="use a newer server",
        )
    if encoding != "UTF8":
        raise UsageError(
            f"the database at {address.shown} keeps text as {encoding}, in which not everything can be written",
            hint="make one that keeps UTF-8: createdb --encoding=UTF8 --template=template0 NAME",
        )
