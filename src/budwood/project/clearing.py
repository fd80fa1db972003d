"""Which directories belong to a project: those of its pools, and those that were opened from it.

Knows the project and where its workspaces lie. Must not decide what may go.
"""

from pathlib import Path

from budwood.project.desk import opened_folder
from budwood.project.place import Project
from budwood.project.workspaces import KindName, find_ground, pool_folder
from budwood.review.garbage import Found, look_through, remove
from budwood.review.mending import prune_entries
from budwood.settings import Resolved
from budwood.workspaces import find_repository

_KINDS: tuple[KindName, ...] = ("clone", "worktree", "copy")


class Clearing:
    """The directories of one project."""

    def __init__(self, project: Project, resolved: Resolved) -> None:
        in_git = find_repository(project.root, project.environ) is not None
        kept = (project.state_dir / "kept.git").exists()
        kinds = [kind for kind in _KINDS if (in_git if kind != "copy" else kept)]
        chosen = resolved.text("pool") or ""
        self._grounds = {kind: find_ground(project, kind) for kind in kinds}
        self._pools = {kind: pool_folder(ground, chosen) for kind, ground in self._grounds.items()}

    def look(self) -> list[Found]:
        """List every directory, and whether it may go."""
        found: list[Found] = []
        for common in dict.fromkeys(ground.repository.common for ground in self._grounds.values()):
            pools = [
                self._pools[kind] / kind for kind, each in self._grounds.items() if each.repository.common == common
            ]
            found += look_through(pools, opened_folder(), repository=common)
        return found

    def remove(self, found: Found) -> str:
        """Remove a directory, and what git knew of it; return why it was left, if so."""
        why = remove(found)
        if not why:
            for kind, ground in self._grounds.items():
                if _is_below(found.where, self._pools[kind] / kind):
                    prune_entries(ground.repository, self._pools[kind])
        return why


def _is_below(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)
