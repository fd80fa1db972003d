"""Lanes that each write something, and what a run of them came to."""

import json
import subprocess
from pathlib import Path
from typing import Any, TypeVar

from tests.workshop.site import Site, do, steps, task

from budwood._core.events import Event, LaneConflicted

Kind = TypeVar("Kind", bound=Event)


def lane(name: str, **files: str) -> str:
    """Write a lane of one task, which writes these files (`__` in a name is a point)."""
    made = [do("write", path=path.replace("__", "."), text=text) for path, text in files.items()]
    return f'[[lane]]\nid = "{name}"\n' + task(f"make-{name}", steps(*made), lane=name)


def doing(name: str, command: str, **keys: object) -> str:
    """Write a lane of one task, which runs a command."""
    return f'[[lane]]\nid = "{name}"\n' + task(f"make-{name}", steps(do("run", command=command)), lane=name, **keys)


def events(site: Site, kind: type[Kind], name: str = "plan") -> list[Kind]:
    """List the events of one kind."""
    return [event for event in site.events(name) if isinstance(event, kind)]


def conflict_of(site: Site, line: str, name: str = "plan") -> LaneConflicted:
    """Return the newest conflict of a line."""
    return [event for event in events(site, LaneConflicted, name) if event.line == line][-1]


def published(site: Site, path: str, name: str = "plan") -> str:
    """Read a file of what was published."""
    return site.git("show", f"budwood/{name}:{path}")


def solve(site: Site, folder: Path | str, path: str, text: str) -> None:
    """Solve a conflict as a person does."""
    where = Path(folder)
    (where / path).write_text(text)
    site.git("add", path, cwd=where)
    site.git("commit", "-qm", "solved", cwd=where)


def shell(site: Site, command: str) -> str:
    """Run a command as the user does."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=site.root, env=site.env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def lanes(site: Site, name: str = "plan") -> dict[str, str]:
    """Say where every lane stands."""
    shape: dict[str, Any] = json.loads(site.call("lanes", name, "--json").out)
    return {str(each["lane"]): str(each["state"]) for each in shape["lanes"]}
