"""The real program in a directory of its own: called, started, or put on a terminal. Bounded, and nothing survives.

Tasks are held and let go by files, so that no test has to guess how long something takes.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from struct import pack
from typing import Self

from tests.support import warm

from budwood._core.events import Event, Recorded
from budwood._core.replay import fold
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.stores import open_store

WITHIN_S = 30.0
HELD = (
    "echo $BUDWOOD_ATTEMPT >> began-$BUDWOOD_TASK; until [ -e go ]; do sleep 0.02; done; echo did >> did-$BUDWOOD_TASK"
)
"""A command that waits until the test makes the file `go`."""
QUICK = "echo $BUDWOOD_ATTEMPT >> began-$BUDWOOD_TASK; echo did >> did-$BUDWOOD_TASK"


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


def wait_for(condition: Callable[[], object], *, what: str, within_s: float = WITHIN_S) -> None:
    """Wait until something is so; say what if it never is."""
    until_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until_s, f"waited {within_s:.0f} s for {what}"
        time.sleep(0.01)


def task(name: str, run: str = QUICK, **keys: object) -> str:
    """Write a [[task]] table; values are written as Python writes them, which TOML reads alike here."""
    lines = [f"[[task]]\nid = {name!r}\nrun = '''{run}'''"]
    lines += (f"{key} = {value!r}" for key, value in keys.items())
    return "\n".join(lines) + "\n"


class Terminal:
    """A command on a terminal of its own: what it draws, and the keys that are pressed."""

    def __init__(
        self, argv: list[str], *, cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (24, 100)
    ) -> None:
        self._master, slave = os.openpty()
        ioctl(slave, termios.TIOCSWINSZ, pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv],  # so that Ctrl-C and a hang-up reach it as they reach a user's
            cwd=cwd,
            env={**env, "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.text = ""

    def read(self, *, within_s: float = 0.1) -> bool:
        """Take what was drawn; False when the terminal's other end is closed."""
        ready, _, _ = select.select([self._master], [], [], within_s)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def wait_text(self, wanted: str) -> None:
        """Wait until something was drawn."""

        def seen() -> bool:
            self.read(within_s=0.05)
            return wanted in self.text

        wait_for(seen, what=f"{wanted!r} on the terminal")

    def press(self, keys: str) -> None:
        """Press keys; "\\x03" is Ctrl-C."""
        os.write(self._master, keys.encode())

    def hang_up(self) -> None:
        """Close the terminal, as a lost connection does."""
        os.close(self._master)
        self._master = -1

    def wait(self) -> int:
        """Wait for the command's end and read what is left."""
        until_s = time.monotonic() + WITHIN_S
        while self._master >= 0 and self.read() and self.process.poll() is None:
            assert time.monotonic() < until_s, f"the command did not end; it had drawn {self.text[-500:]!r}"
        code = self.process.wait(WITHIN_S)
        while self._master >= 0 and self.read(within_s=0.0) and select.select([self._master], [], [], 0.0)[0]:
            pass
        return code

    def close(self) -> None:
        """End the command if it is there."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1


class Budwood:
    """One project and the program."""

    within_s = WITHIN_S
    """How long a command may take that was started; one that is waited for, twice as long."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        (root / "budwood.toml").write_text("")
        hidden = ("BUDWOOD_", "NO_COLOR", "CI", "TERM", "COLUMNS", "LINES", "FORCE_COLOR")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        home = root.parent / "home"
        self.env |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")}
        self._started: list[subprocess.Popen[str]] = []
        self._terminals: list[Terminal] = []

    def plan(self, *tables: str, file: str = "plan.toml") -> str:
        """Write a plan; tables without a [run] get one that retries at once."""
        head = "" if tables and tables[0].lstrip().startswith("[run]") else "[run]\nslots = 4\n"
        (self.root / file).write_text(head + "\n".join(tables))
        return file

    def call(self, *words: str, env: Mapping[str, str] | None = None, code: int | None = 0) -> Said:
        """Give a command and wait for it; its exit code must be `code`, unless that is None."""
        given = {**self.env, **(env or {})}
        said = Said(*warm.run(words, cwd=self.root, env=given, timeout_s=self.within_s * 2))
        assert "Traceback" not in said.err, said.err
        assert code is None or said.code == code, said
        return said

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start a command; its output is read when it is waited for."""
        process = subprocess.Popen(
            self._argv(words),
            cwd=self.root,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def finish(self, process: subprocess.Popen[str]) -> Said:
        """Wait for a command that was started."""
        out, err = process.communicate(timeout=self.within_s)
        assert "Traceback" not in err, err
        return Said(process.returncode, out, err)

    def terminal(self, *words: str, env: Mapping[str, str] | None = None) -> Terminal:
        """Start a command on a terminal."""
        terminal = Terminal(self._argv(words), cwd=self.root, env={**self.env, **(env or {})})
        self._terminals.append(terminal)
        return terminal

    def _argv(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "budwood", *words]

    # --- what there is ---

    def wait_began(self, *tasks: str) -> None:
        """Wait until tasks have begun."""
        wait_for(lambda: all((self.root / f"began-{name}").exists() for name in tasks), what=f"{tasks} to begin")

    def let_go(self) -> None:
        """Let held tasks finish."""
        (self.root / "go").touch()

    def hold(self) -> None:
        """Hold tasks again."""
        (self.root / "go").unlink(missing_ok=True)

    def lines(self, file: str) -> list[str]:
        """Read a file's lines; none if it is not there."""
        path = self.root / file
        return path.read_text().split() if path.exists() else []

    @property
    def has_store(self) -> bool:
        """Say whether there is a store."""
        return (self.root / ".budwood" / "store.db").exists()

    @property
    def has_runs(self) -> bool:
        """Say whether there is a run; a store that another process is just making is still an empty file."""
        store = self.root / ".budwood" / "store.db"
        return store.exists() and store.stat().st_size > 0 and bool(self.runs())

    def runs(self) -> list[RunRow]:
        """List the runs."""
        with open_store(self.root / ".budwood" / "store.db", create=False) as store:
            return store.runs()

    def state(self, name: str = "plan") -> RunState:
        """Fold a run's events."""
        return fold(self._read(name))

    def events(self, name: str = "plan") -> list[Event]:
        """List a run's events."""
        return [recorded.event for recorded in self._read(name)]

    def _read(self, name: str) -> list[Recorded]:
        with open_store(self.root / ".budwood" / "store.db", create=False) as store:
            run = next(row for row in store.runs() if row.name == name)
            return list(store.read(run.id))

    def driver(self, name: str = "plan") -> str | None:
        """Name who drives a run."""
        with open_store(self.root / ".budwood" / "store.db", create=False) as store:
            return store.holder(next(row for row in store.runs() if row.name == name).id)

    # --- the end ---

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End everything, and see that nothing is left."""
        self.let_go()
        for terminal in self._terminals:
            terminal.close()
        for process in self._started:
            process.kill()
            process.communicate()
        if self.has_runs:
            for row in self.runs():
                if row.phase.value not in ("finished", "cancelled"):
                    subprocess.run(
                        self._argv(("cancel", row.id)),
                        cwd=self.root,
                        env=self.env,
                        capture_output=True,
                        timeout=60,
                        check=False,
                    )
        wait_for(lambda: not list(self._left()), what="every process to be gone", within_s=15.0)

    def _left(self) -> Iterator[str]:
        """Find processes that have this project in their command line, or the mark of one of its runs."""
        marks = [f"BUDWOOD_MARK={row.id}:".encode() for row in self.runs()] if self.has_runs else []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                command, environ = (path / "cmdline").read_bytes(), (path / "environ").read_bytes()
            except OSError:
                continue
            if str(self.root).encode() in command or any(mark in environ for mark in marks):
                yield path.name


def send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal."""
    process.send_signal(number)


def send_aside(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to a thread beside the main one, whose waiting it does not end."""
    others = [int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir() if int(each.name) != process.pid]
    assert ctypes.CDLL(None).tgkill(process.pid, others[0], int(number)) == 0
