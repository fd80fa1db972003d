"""Brings a schema to this version, by the numbered files in `migrations/`.

Knows the schema's number; must not know what the tables mean.
"""

from pathlib import Path

from psycopg import errors, sql

from budwood.errors import StoreUnwritable, UsageError
from budwood.stores.postgres.connect import Address, Connection
from budwood.stores.steps import refuse_newer, steps_in

_FOLDER = Path(__file__).parent / "migrations"
# From the tables themselves: functions such as to_regclass may still know what was so before we waited for the lock.
_LOOK = (
    "SELECT has_schema_privilege(schema.oid, 'USAGE'), count(class.oid), "
    "count(class.oid) FILTER (WHERE class.relname = 'meta') FROM pg_namespace AS schema "
    "LEFT JOIN pg_class AS class ON class.relnamespace = schema.oid WHERE schema.nspname = %s GROUP BY schema.oid"
)
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_META = "CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)"
_NOTE = "INSERT INTO meta VALUES ('schema', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def migrations(folder: Path = _FOLDER) -> dict[int, Path]:
    """List the files by the version that each leads to."""
    return steps_in(folder)


def version_of(connection: Connection, address: Address) -> int | None:
    """Return the version of the schema; 0 for an empty one, None where there is none."""
    found = connection.execute(_LOOK, (address.schema,)).fetchone()
    if found is None:
        return None
    may_look, tables, has_meta = found
    if not may_look:  # tables that may not be seen would seem not to be there
        user = connection.info.user
        raise StoreUnwritable(
            f"{address.shown} does not let user {user} into schema {address.schema}",
            hint=f"as its owner: GRANT USAGE ON SCHEMA {address.schema} TO {user}, and rights on its tables",
        )
    row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() if has_meta else None
    if row is not None:
        return int(row[0])
    if tables:
        raise UsageError(
            f"schema {address.schema} at {address.shown} is another program's, not a budwood store",
            hint="choose another with ?options=-csearch_path%3DNAME behind the address",
        )
    return 0


def prepare(connection: Connection, address: Address, *, create: bool) -> None:
    """Look at the version, and bring an older one, or an empty place if `create`, up to date."""
    newest = max(migrations())
    version = version_of(connection, address)
    if not version and not create:
        raise UsageError(
            f"there is no store at {address.shown} (no schema {address.schema})",
            hint="budwood run FILE makes one, and so does budwood init",
        )
    refuse_newer(version or 0, address.shown, newest=newest)
    if version != newest:
        migrate(connection, address)


def migrate(connection: Connection, address: Address, *, folder: Path = _FOLDER) -> None:
    """Run what is missing, each file in one transaction; one process does it, the others wait."""
    steps = migrations(folder)
    while True:
        with connection.transaction():
            connection.execute(_LOCK, (f"budwood schema {address.schema}",))
            version = version_of(connection, address)
            refuse_newer(version or 0, address.shown, newest=max(steps))
            if version == max(steps):
                return
            if version is None:
                _make_schema(connection, address)
            _step(connection, steps, (version or 0) + 1)


def _make_schema(connection: Connection, address: Address) -> None:
    try:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(address.schema)))
    except errors.InsufficientPrivilege as error:
        user, database = connection.info.user, connection.info.dbname
        raise StoreUnwritable(
            f"{address.shown}: user {user} may not make schema {address.schema} there",
            hint=f"as its owner: GRANT CREATE ON DATABASE {database} TO {user}, "
            f"or CREATE SCHEMA {address.schema} AUTHORIZATION {user}",
        ) from error


def _step(connection: Connection, steps: dict[int, Path], number: int) -> None:
    connection.execute(_META)
    # A file is several statements, which cannot be prepared as one.
    connection.execute(steps[number].read_bytes(), prepare=False)
    connection.execute(_NOTE, (str(number),))
