"""How attempts are held on this machine, and what would reach them: the supervisor, limits, a logout.

Reads the machine. Parsing is pure, so that other machines' files can be tried.
"""

import os
import pwd
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.cli.checkup import Finding, said
from budwood.errors import ExecutorError
from budwood.executors.local import find_binary

_KILL = re.compile(r"^\s*(#?)\s*KillUserProcesses\s*=\s*(\w+)", re.MULTILINE)
_EXCLUDED = re.compile(r"^\s*#?\s*KillExcludeUsers\s*=\s*(.*)$", re.MULTILINE)
_LOGIND = ("/usr/lib/systemd/logind.conf.d", "/run/systemd/logind.conf.d", "/etc/systemd/logind.conf.d")


class Probe(Struct, frozen=True):
    """What the supervisor found out about this machine."""

    subreaper: bool
    namespace: bool
    cgroup: str | None
    pidfd: bool
    reason: dict[str, str | None] = {}


def supervisor() -> tuple[Finding, Probe | None]:
    """Look for the supervisor and ask it what it can do here."""
    try:
        binary = find_binary()
    except ExecutorError as error:
        return Finding(name="supervisor", state="missing", text=error.message, fix=error.hint), None
    try:
        probe = msgspec.json.decode(said([str(binary), "probe"]), type=Probe)
    except msgspec.MsgspecError:
        text, fix = f"{binary} does not run here", "pip install --force-reinstall budwood"
        return Finding(name="supervisor", state="missing", text=text, fix=fix), None
    return Finding(name="supervisor", state="ok", text=str(binary)), probe


def containment(probe: Probe) -> list[Finding]:
    """Say what holds an attempt's processes together, and what limits their memory."""
    found = [
        Finding(name="processes", state="ok", text="everything that an attempt starts stays below its supervisor")
        if probe.subreaper
        else Finding(
            name="processes",
            state="warning",
            text="held by their process group and mark only: this system has no subreaper",
            fix="use Linux where attempts start daemons",
        )
    ]
    if probe.namespace:
        found.append(Finding(name="namespaces", state="ok", text='allowed: contain = "namespace" works'))
    else:
        why = probe.reason.get("namespace") or "the kernel does not allow it"
        fix = 'keep contain = "tree", or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)'
        found.append(Finding(name="namespaces", state="warning", text=f"not allowed: {why}", fix=fix))
    if probe.cgroup:
        found.append(Finding(name="memory", state="ok", text=f"limits are kept by the kernel, in {probe.cgroup}"))
    else:
        why = probe.reason.get("cgroup") or "no cgroup is delegated"
        found.append(Finding(name="memory", state="ok", text=f"limits are kept by sampling ({why})"))
    return found


def logout() -> Finding:
    """Say whether a logout would end supervisors, and so what they run."""
    user = _user()
    if not Path("/run/systemd/system").exists():
        return Finding(name="logout", state="ok", text="no systemd here: a logout ends nothing")
    if Path(f"/var/lib/systemd/linger/{user}").exists():
        return Finding(name="logout", state="ok", text=f"{user} lingers: a logout ends nothing")
    kills = kills_user_processes(_logind_files(), user=user)
    if kills is None:
        fix = f"loginctl enable-linger {user} makes sure"
        return Finding(name="logout", state="unknown", text="logind does not say whether it ends processes", fix=fix)
    if not kills:
        return Finding(name="logout", state="ok", text="logind leaves processes alone")
    text = "logind ends all your processes, supervisors too"
    return Finding(name="logout", state="warning", text=text, fix=f"loginctl enable-linger {user}")


def kills_user_processes(texts: Iterable[str], *, user: str) -> bool | None:
    """Read logind's files, the strongest last; a commented line shows the default. None if no file says it."""
    default: bool | None = None
    chosen: bool | None = None
    excluded = ["root"]
    for text in texts:
        for commented, value in _KILL.findall(text):
            meant = value.lower() in ("yes", "true", "on", "1")
            if commented:
                default = meant
            else:
                chosen = meant
        for names in _EXCLUDED.findall(text):
            excluded = names.split()
    if user in excluded:
        return False
    return default if chosen is None else chosen


def _logind_files() -> list[str]:
    folders = [Path(folder) for folder in _LOGIND]
    parts = [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.conf"))]
    texts = []
    for path in (Path("/usr/lib/systemd/logind.conf"), Path("/etc/systemd/logind.conf"), *parts):
        try:
            texts.append(path.read_text(errors="replace"))
        except OSError:
            continue
    return texts


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
