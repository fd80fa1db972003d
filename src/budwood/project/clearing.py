"""What lies around on behalf of a project and may go: of its pools, of its runs' refs, and opened directories.

Knows the project and where its workspaces lie. What may go is decided by whoever keeps it.
"""

from collections.abc import Callable, Collection
from pathlib import Path

from budwood._core.model import ENDED_RUN
from budwood.project.bench import run_refs
from budwood.project.desk import opened_folder
from budwood.project.place import Project
from budwood.project.workspaces import Ground, KindName, find_ground, pool_folder
from budwood.review import opened
from budwood.settings import Resolved
from budwood.stores import Store
from budwood.workspaces import find_repository
from budwood.workspaces.folding import ROOT
from budwood.workspaces.gc import Left, Removable, apply_gc, plan_gc, take_stock


class Clearing:
    """What one project has lying around; `ended` are the runs that are over, as their refs are called."""

    def __init__(
        self, project: Project, resolved: Resolved, *, ended: Collection[str], named: Callable[[str], str]
    ) -> None:
        self._ended = ended
        self._named = named
        """Puts who has a directory into words."""
        self._pools: list[tuple[Path, Ground]] = []
        kinds: list[KindName] = []
        if find_repository(project.root, project.environ) is not None:
            kinds += ["clone", "worktree"]
        if (project.state_dir / "kept.git").exists():
            kinds.append("copy")
        for kind in kinds:
            ground = find_ground(project, kind)
            self._pools.append((pool_folder(ground, resolved.text("pool") or "") / kind, ground))

    def clear(self, *, pinned: bool, really: bool) -> tuple[list[Removable], list[Left]]:
        """List what may go and what stays; `pinned` takes in what `keep` has kept, `really` removes what may go."""
        going: list[Removable] = []
        stays: list[Left] = []
        folded: set[Path] = set()
        for folder, ground in self._pools:
            common = ground.repository.common
            found, left = self._pool(
                folder, ground, ended=() if common in folded else self._ended, pinned=pinned, really=really
            )
            going, stays = [*going, *found], [*stays, *left]
            if common not in folded:
                found, left = opened.plan_gc(opened_folder(), common)
                going, stays = [*going, *found], [*stays, *left]
                for each in found if really else ():
                    opened.remove(Path(each.where))
            folded.add(common)
        return going, stays

    def _pool(
        self, folder: Path, ground: Ground, *, ended: Collection[str], pinned: bool, really: bool
    ) -> tuple[list[Removable], list[Left]]:
        stock = take_stock(folder, ground.repository, named=self._named)
        planned = plan_gc(stock, ended=ended, pinned=pinned)
        reasons = ((place.path, place.why_it_stays(pinned=pinned)) for place in stock.places)
        stays = [Left(where=str(path), why=why) for path, why in reasons if why is not None]
        if not really:
            return planned, stays
        left = apply_gc(folder, ground.repository, planned, pinned=pinned, named=self._named)
        stayed = {each.where for each in left}
        return [each for each in planned if each.where not in stayed], [*stays, *left]


def ended_runs(store: Store) -> list[str]:
    """Name the runs that are over and that nobody drives, as their refs are called."""
    over = [row for row in store.runs() if row.phase in ENDED_RUN and store.holder(row.id) is None]
    return [run_refs(row.name, row.id).removeprefix(ROOT) for row in over]
