"""The executor of a run, as a project has it.

Knows the executor on this machine and workspaces; whoever only looks at runs does without, and starts sooner.
"""

from typing import TYPE_CHECKING

from budwood._core.model import RunSettings
from budwood.engine.workshop import Workshop
from budwood.executors.local import LocalExecutor, RunPaths, Tokens, find_binary, make_runtime
from budwood.executors.local.access import Access, make_access
from budwood.project.place import Project, machine_dir, make_state_dir, runtime_root

if TYPE_CHECKING:
    from budwood.engine.workshop.bench import Bench


def make_executor(project: Project, run: str, settings: RunSettings, *, store: str) -> Workshop:
    """Make the executor of one run; its files lie in the project's state directory, wherever the store is."""
    make_state_dir(project.state_dir)
    paths = RunPaths(project.run_dir(run), runtime=make_runtime(runtime_root(), run))
    limit = settings.machine_slots
    local = LocalExecutor(
        paths,
        run_id=run,
        binary=find_binary(),
        environ=project.environ,
        tokens=None if limit is None else lambda loop: Tokens(machine_dir(), limit, loop=loop),
        access=_access(paths, run, store) if store else None,
    )

    def bench(name: str, settings: RunSettings) -> "Bench":
        from budwood.project.bench import make_bench  # what only runs with workspaces need takes long to load

        return make_bench(project, paths, run=run, name=name, settings=settings)

    return Workshop(local, bench)


def _access(paths: RunPaths, run: str, store: str) -> Access | None:
    """Let attempts speak for themselves; a run can be looked after and cancelled where nothing can be written, too."""
    try:
        return make_access(paths.run_dir, run=run, store=store)
    except (OSError, ValueError):
        return None
