"""The sandbox of a run, from its settings and this machine: refused where it could not keep its word.

Knows where things of the user and of the project are. Must not start an attempt.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from budwood._core.model import RunSettings, TaskSpec, WorkspaceTerms
from budwood.agents.config import AgentConfig
from budwood.agents.homes import places_of
from budwood.agents.making import make_agent
from budwood.engine.workshop.enclosing import Sandbox
from budwood.errors import SettingsError, UsageError
from budwood.executors.local import RunPaths, find_binary
from budwood.project.place import Project
from budwood.project.workspaces import Ground, pool_folder
from budwood.sandbox import Bwrap, Machine, find_bwrap
from budwood.sandbox.view import TEMPORARY

_SITES = ("site-packages", "dist-packages")
INSTALL = "install bubblewrap (apt install bubblewrap, dnf install bubblewrap), or leave sandbox out"


def refuse_sandbox(settings: RunSettings, project: Project, tasks: Sequence[TaskSpec] = ()) -> None:
    """Refuse, before anything starts, a sandbox that this run cannot have, or a network that nothing would keep to."""
    if settings.sandbox == "none":
        if settings.network != "all":
            raise SettingsError(
                "network is limited, and sandbox is none: nothing would keep attempts to it",
                hint='set sandbox = "bwrap", or leave network out',
            )
        return
    _refuse_terms(settings.workspace)
    called = next((task for task in tasks if task.function is not None), None)
    if called is not None:
        raise UsageError(
            f"task {str(called.id)!r} calls a function, which no sandbox is made for",
            hint='make it a command that calls the function, or leave sandbox = "bwrap" out',
        )
    list(named_paths(settings, project))
    require_bwrap(project)


def _refuse_terms(terms: WorkspaceTerms | None) -> None:
    if terms is None:
        raise SettingsError(
            'sandbox is "bwrap", and attempts would work in your own directory',
            hint='set workspace = "clone", or "copy" outside of git',
        )
    if terms.kind == "worktree":
        raise SettingsError(
            'sandbox is "bwrap", and a linked worktree writes into the .git of your own checkout',
            hint='set workspace = "clone"',
        )


def require_bwrap(project: Project) -> Bwrap:
    """Return bwrap as it is here; refused where it is not, or cannot make a sandbox."""
    found = find_bwrap(project.environ.get("PATH", ""))
    if found.problem:
        hint = INSTALL if found.path is None else "budwood doctor says more; leave sandbox out to run without one"
        raise UsageError(f'sandbox is "bwrap", and {found.problem}', hint=hint)
    return found


def make_sandbox(
    project: Project, paths: RunPaths, ground: Ground, settings: RunSettings, *, server: tuple[str, ...] = ()
) -> Sandbox | None:
    """Make what keeps the attempts of a run in, if anything is to; `server` is what they can speak to outside."""
    refuse_sandbox(settings, project)
    terms = settings.workspace
    if settings.sandbox == "none" or terms is None:
        return None
    bwrap = require_bwrap(project)
    assert bwrap.path is not None
    repository = ground.repository
    reads = [path for key, path in named_paths(settings, project) if key == "sandbox_read"]
    if terms.kind == "clone":
        reads += _objects(repository.objects)
    reads += (repository.root / name for name in terms.link)
    home = home_of(project)
    hidden = (repository.root, project.root, pool_folder(ground, settings.pool), paths.run_dir)
    return Sandbox(
        bwrap=bwrap.path,
        helper=find_binary(),
        machine=Machine(
            environ=project.environ,
            home=home,
            own=tuple(_own_places()),
            hidden=hidden,
        ),
        environ=project.environ,
        network=settings.network,
        reads=tuple(reads),
        writes=tuple(path for key, path in named_paths(settings, project) if key == "sandbox_write"),
        sealed=tuple(path for path in dict.fromkeys(hidden) if not _holds_more(path, home)),
        tmp_of=lambda slot: paths.tmp(str(slot)),
        attempts=paths.attempts,
        server=server,
    )


def _holds_more(path: Path, home: Path) -> bool:
    """Say whether a place holds what attempts have of their own: a project may be the home directory itself."""
    return any(other.is_relative_to(path) for other in (home, *TEMPORARY))


def agent_writes(settings: RunSettings, project: Project) -> dict[str, tuple[Path, ...]]:
    """Say what of the home directory the agents of a run change in a sandbox: their own state, as far as it is here."""
    found = {}
    for name, terms in settings.agents.items():
        agent = make_agent(msgspec.convert(terms.config, AgentConfig), python=sys.executable)
        writes = places_of(agent, project.environ, home=home_of(project)).writes
        found[name] = tuple(path for path in writes if path.exists())
    return found


def home_of(project: Project) -> Path:
    """Return the home directory that attempts are told of."""
    return Path(project.environ.get("HOME") or os.path.expanduser("~"))


def named_paths(settings: RunSettings, project: Project) -> Iterator[tuple[str, Path]]:
    """Yield what the settings name, by key; what is not there is refused, as is everything at once."""
    for key, names in (("sandbox_read", settings.sandbox_read), ("sandbox_write", settings.sandbox_write)):
        for name in names:
            home = home_of(project)
            inside = home / name.removeprefix("~").lstrip("/") if name == "~" or name.startswith("~/") else Path(name)
            path = Path(os.path.normpath(project.root / inside))
            if not path.exists():
                raise SettingsError(f"{key} names {name!r}, and there is no {path}", hint="make it, or take it out")
            if path == Path("/"):
                raise SettingsError(f"{key} names the whole machine", hint="name what attempts need of it")
            yield key, path


def _objects(folder: Path) -> Iterator[Path]:
    """Yield where objects of a repository lie, and of those that it borrows from."""
    seen: set[Path] = set()
    waiting = [folder]
    while waiting:
        objects = waiting.pop()
        if objects in seen or not objects.is_dir():
            continue
        seen.add(objects)
        yield from dict.fromkeys((objects, objects.resolve()))
        listed = objects / "info" / "alternates"
        lines = listed.read_text(errors="surrogateescape").splitlines() if listed.exists() else []
        waiting += (objects / line for line in lines if line and not line.startswith("#"))


def _own_places() -> Iterator[Path]:
    """Yield what our own interpreter consists of: agents that come with budwood run in it."""
    yield from map(Path, (sys.prefix, sys.base_prefix, sys.executable))
    yield Path(__file__).parents[1]
    yield from (Path(entry) for entry in sys.path if Path(entry).name in _SITES)
