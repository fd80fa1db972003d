"""The project that a command is about: where it is, what its settings are, which store it has.

Reads the environment, the home directory and files, so that nothing below has to.
"""

import os
import shutil
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from budwood import settings as s
from budwood._core.rows import RunRow
from budwood.errors import SettingsError, UsageError
from budwood.stores import Store, is_there, open_store
from budwood.stores.address import is_postgres, refuse_misspelt, shown
from budwood.stores.sqlite.faults import unwritable

if TYPE_CHECKING:
    from budwood.plans import Plan

SETTINGS_FILE = "budwood.toml"
STATE_DIR = ".budwood"
DATABASE_URL = "DATABASE_URL"
_SIGNS = (SETTINGS_FILE, STATE_DIR, ".git")


@dataclass(frozen=True, slots=True)
class Project:
    """A directory that has, or will have, a store."""

    root: Path
    environ: Mapping[str, str]

    @property
    def state_dir(self) -> Path:
        """Where budwood keeps what it needs; ignores itself in git."""
        return self.root / STATE_DIR

    @property
    def run_dirs(self) -> Path:
        """Where the directories of runs are."""
        return self.state_dir / "runs"

    def run_dir(self, run: str) -> Path:
        """Return the directory of one run."""
        return self.run_dirs / run

    def resolve(self, *, flags: Mapping[str, object], plan: "Plan | None" = None) -> s.Resolved:
        """Put all layers of settings on top of each other; a store that can be none is refused here, before any use."""
        layers: list[s.Layer] = [(s.FLAG, flags), s.env_layer(self.environ)]
        if plan is not None:
            layers.append(plan.layer)
        layers += (s.read_settings(path) for path in (self.root / SETTINGS_FILE, user_file()) if _is_there(path))
        # Where many programs look for a database; a project that says where its store is has said so on purpose.
        address = self.environ.get(DATABASE_URL, "")
        layers.append((DATABASE_URL, {"store": address if is_postgres(address) else None}))
        resolved = s.resolve(layers)
        refuse_misspelt(resolved.text("store") or "")
        return resolved

    def store_place(self, resolved: s.Resolved) -> Path | str:
        """Say where the store that the settings name is, or will be; a relative path is one of the project's."""
        where = resolved.text("store")
        if where is None:
            return self.state_dir / "store.db"
        return where if is_postgres(where) or where == "memory:" else self.root / where

    def has_store(self, resolved: s.Resolved) -> bool:
        """Say whether the store is there; one in a directory that may not be entered is an error, not a missing one."""
        place = self.store_place(resolved)
        try:
            return is_there(place)
        except OSError as error:
            raise unwritable(Path(shown(str(place))), error) from error

    def open_store(self, resolved: s.Resolved, *, create: bool) -> Store:
        """Open the store that the settings name."""
        place = self.store_place(resolved)
        if create and resolved.text("store") is None:
            make_state_dir(self.state_dir)
        try:
            return open_store(place, create=create)
        except OSError as error:
            raise unwritable(Path(shown(str(place))), error) from error

    def python(self, resolved: s.Resolved) -> str:
        """Name the interpreter for functions: as set, else the active environment's, the project's, budwood's own."""
        given = resolved.text("python")
        if given:
            return self.interpreter(given)
        active = self.environ.get("VIRTUAL_ENV")
        for folder in ([Path(active)] if active else []) + [self.root / ".venv"]:
            if os.access(folder / "bin" / "python", os.X_OK):
                return str(folder / "bin" / "python")
        return sys.executable

    def interpreter(self, given: str) -> str:
        """Return the interpreter that somebody names: a path is one of the project's, a name is on the PATH."""
        named = str(self.root / os.path.expanduser(given)) if "/" in given else given
        if not self.has_program(named):
            where = f"there is no program {named}" if "/" in given else f"no program on the PATH is called {given}"
            raise SettingsError(
                f"python is {given!r}, and {where}",
                hint="it names the interpreter that calls functions, like .venv/bin/python or python3",
            )
        return named

    def has_program(self, name: str) -> bool:
        """Say whether a program can be started, by its path or as a name on the PATH."""
        return shutil.which(name, path=self.environ.get("PATH")) is not None


def find_project(start: Path | None = None) -> Project:
    """Find the project that a directory (by default the current one) is in: the nearest that shows a sign of one."""
    here = (start or _current()).resolve()
    root = next((folder for folder in (here, *here.parents) if any(_is_there(folder / sign) for sign in _SIGNS)), here)
    return Project(root=root, environ=dict(os.environ))


def project_of(run: RunRow) -> Project:
    """Return the project that a run was made in, wherever its store is and wherever the user stands."""
    root = Path(run.cwd)
    if not os.path.isdir(root):  # one that may not be looked at is as good as gone
        raise UsageError(
            f"the directory of run {run.name} is gone: {root}; what the store has of it is safe",
            hint="move it back, or make a new run where it is now: budwood run FILE",
        )
    return Project(root=root, environ=dict(os.environ))


def run_dir_of(run: RunRow) -> Path:
    """Return where the files of a run's attempts are, on the machine that it was made on."""
    return Path(run.cwd) / STATE_DIR / "runs" / run.id


def make_state_dir(path: Path) -> None:
    """Create the state directory, unseen by git."""
    ignore = path / ".gitignore"
    try:
        path.mkdir(parents=True, exist_ok=True)
        # An empty one is what a full disk has left: git would see everything.
        if not ignore.exists() or ignore.stat().st_size == 0:
            draft = path / f".gitignore.{os.getpid()}.new"
            try:
                draft.write_text("*\n")
                draft.rename(ignore)
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(ignore, error) from error


def _is_there(path: Path) -> bool:
    """Look for a file; behind a directory that this user may not enter there is none for this user."""
    return os.path.exists(path)


def _current() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current directory is gone", hint="cd to one that is there") from None


def user_file() -> Path:
    """Return the user's own settings file."""
    platform: str = sys.platform
    if platform == "linux":  # what platformdirs says too, without the time that loading it takes from every start
        config = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return Path(config) / "budwood" / SETTINGS_FILE
    import platformdirs

    return Path(platformdirs.user_config_dir("budwood")) / SETTINGS_FILE


def machine_dir() -> Path:
    """Return where the runs of one user on this machine meet."""
    return state_home() / "machine"


def state_home() -> Path:
    """Return where budwood keeps what is no project's."""
    import platformdirs  # where it is not needed, a run starts sooner

    return Path(platformdirs.user_state_dir("budwood"))


def runtime_root() -> Path:
    """Return where sockets lie: short, and the same after another login."""
    return Path(f"/tmp/budwood-{os.geteuid()}")


def holder() -> str:
    """Name this process as a driver."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


def this_machine() -> s.Machine:
    """Count what this machine lets us use."""
    return s.Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, gpus=_gpus()
    )


def this_machine_now() -> s.Machine:
    """Count what this machine lets us use, and look how much of its memory is free."""
    import psutil  # a run without agents starts sooner without it

    return replace(this_machine(), memory_bytes=psutil.virtual_memory().available)


def _gpus() -> tuple[str, ...]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return tuple(part.strip() for part in visible.split(",") if part.strip())
    cards = Path("/proc/driver/nvidia/gpus")
    return tuple(str(n) for n, _ in enumerate(cards.iterdir())) if cards.is_dir() else ()
