"""What this machine offers: tools, disk, limits. Each look gives one finding; what is not as it should be has a fix.

Reads the machine. Must not change it.
"""

import os
import platform
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from budwood.errors import BudwoodError, MissingExtra, UsageError
from budwood.project.place import Project, runtime_root, this_machine
from budwood.project.words import size
from budwood.settings import Resolved
from budwood.stores.address import shown
from budwood.stores.sqlite.mounts import file_system_of, is_network

_LITTLE_DISK = 1_000_000_000
_FEW_FILES = 1024
_AGENT_BYTES = 1_000_000_000
"""What an agent's command line takes with the tools that it starts."""


State: TypeAlias = Literal["ok", "warning", "missing", "unknown", "absent"]
"""Missing: budwood cannot work without it. Absent: it is not there, and nothing here asks for it."""


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: State
    text: str
    fix: str | None = None


def python() -> Finding:
    """Look at the interpreter."""
    return Finding(name="python", state="ok", text=f"{platform.python_version()} at {sys.executable}")


def system() -> Finding:
    """Look at the operating system."""
    text = f"{platform.system()} {platform.release()} on {platform.machine()}"
    if platform.system() == "Linux":
        return Finding(name="system", state="ok", text=text)
    fix = "on macOS processes are held by their group and mark only; on Windows use WSL"
    return Finding(name="system", state="warning", text=text, fix=fix)


def shell() -> Finding:
    """Look for the shell that commands given as text are run by."""
    if os.access("/bin/sh", os.X_OK):
        return Finding(name="sh", state="ok", text="/bin/sh")
    return Finding(
        name="sh", state="missing", text="/bin/sh is not there", fix='write commands as lists: run = ["make"]'
    )


def git() -> Finding:
    """Look for git."""
    found = shutil.which("git")
    if found is None:
        return Finding(name="git", state="warning", text="not found; workspaces need it", fix="install git")
    version = said([found, "--version"]).removeprefix("git version ")
    return Finding(name="git", state="ok" if version else "warning", text=f"{version or 'does not answer'} at {found}")


def store(project: Project, where: str | None) -> Finding:
    """Look whether the store can be where it is, or will be."""
    try:
        resolved = project.resolve(flags={"store": where})
        path = project.store_place(resolved)
        if isinstance(path, str):
            return _other_store(project, resolved)
        kind = file_system_of(_existing(path))
        if is_network(kind):
            fix = "put it on a local disk: --store PATH, or store in [machine] of budwood.toml"
            return Finding(name="store", state="missing", text=f"{path} is on a network file system ({kind})", fix=fix)
        if not project.has_store(resolved):
            return Finding(
                name="store", state="ok", text=f"none yet; it will be {path} ({kind or 'unknown file system'})"
            )
        with project.open_store(resolved, create=False) as opened:
            runs = len(opened.runs())
    except MissingExtra as error:
        return Finding(name="store", state="missing", text=error.message, fix=error.hint)
    except UsageError as error:
        return Finding(name="store", state="warning", text=error.message, fix=error.hint)
    except BudwoodError as error:
        return Finding(name="store", state="missing", text=error.message, fix=error.hint)
    if not os.access(path, os.W_OK):
        return Finding(
            name="store", state="warning", text=f"{path} can only be read", fix=f"chown or chmod {path.parent}"
        )
    return Finding(name="store", state="ok", text=f"{path} ({kind or 'unknown file system'}), runs: {runs}")


def _other_store(project: Project, resolved: Resolved) -> Finding:
    """Look at a store that is no file."""
    place, origin = shown(str(project.store_place(resolved))), resolved.origin("store")
    if not project.has_store(resolved):
        return Finding(name="store", state="ok", text=f"none yet; it will be at {place} (from {origin})")
    with project.open_store(resolved, create=False) as opened:
        return Finding(name="store", state="ok", text=f"{place} (from {origin}), runs: {len(opened.runs())}")


def runtime() -> Finding:
    """Look whether sockets can be where they must be: in a directory of this user alone, below a short path."""
    root = runtime_root()
    try:
        status = root.lstat()
    except FileNotFoundError:
        if os.access(root.parent, os.W_OK | os.X_OK):
            return Finding(name="sockets", state="ok", text=f"will be below {root}")
        text = f"{root} cannot be made: {root.parent} cannot be written"
        return Finding(
            name="sockets", state="missing", text=text, fix=f"chmod 1777 {root.parent}, or mount it writable"
        )
    except OSError as error:
        text = f"{root} cannot be looked at: {error.strerror}"
        return Finding(name="sockets", state="missing", text=text, fix=f"chmod 1777 {root.parent}")
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        text = f"{root} is not a directory that belongs to you alone"
        return Finding(name="sockets", state="missing", text=text, fix=f"remove it: rm -r {root}")
    if status.st_mode & 0o700 != 0o700 or not os.access(root, os.W_OK | os.X_OK):
        text = f"{root} cannot be written"
        return Finding(
            name="sockets", state="missing", text=text, fix=f"chmod 700 {root}, or mount {root.parent} writable"
        )
    return Finding(name="sockets", state="ok", text=f"below {root}")


def disk(project: Project) -> Finding:
    """Look how much room there is."""
    free = shutil.disk_usage(_existing(project.state_dir)).free
    text = f"{size(free)} free at {project.root}"
    if free >= _LITTLE_DISK:
        return Finding(name="disk", state="ok", text=text)
    return Finding(name="disk", state="warning", text=text, fix="make room: a full disk pauses runs")


def open_files() -> Finding:
    """Look how many files a process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = "no limit" if soft == resource.RLIM_INFINITY else f"{soft} (at most {'any number' if hard < 0 else hard})"
    if soft == resource.RLIM_INFINITY or soft >= _FEW_FILES:
        return Finding(name="open files", state="ok", text=text)
    return Finding(name="open files", state="warning", text=text, fix="ulimit -n 4096")


def inotify() -> Finding:
    """Look how many directories may be watched; editors and test runners in attempts use these up."""
    try:
        instances, watches = (
            int(Path(f"/proc/sys/fs/inotify/max_user_{what}").read_text()) for what in ("instances", "watches")
        )
    except (OSError, ValueError):
        return Finding(name="inotify", state="unknown", text="this system does not tell")
    text = f"{instances} instances, {watches} watches for each user"
    if instances >= 128 and watches >= 8192:
        return Finding(name="inotify", state="ok", text=text)
    fix = "sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=65536"
    return Finding(name="inotify", state="warning", text=text, fix=fix)


def recommended_slots() -> dict[str, int]:
    """Say how many attempts at once are sensible here: commands by cores, agents by memory as well."""
    import psutil

    cores = this_machine().cores
    memory = psutil.virtual_memory().available
    return {"commands": cores, "agents": max(1, min(cores, int(memory // _AGENT_BYTES)))}


def said(command: list[str], *, limit_s: float = 10.0) -> str:
    """Run a tool and return what it said; empty if it failed."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=True, errors="replace")
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.strip()


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if os.path.exists(folder))
