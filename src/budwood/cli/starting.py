"""What somebody should know, or be asked, before agents start: money, their own files, who may do what.

Knows planned runs and the terminal. Must not start or write anything.
"""

import sys
from collections.abc import Iterator

import click

from budwood._core.model import WorkspaceTerms
from budwood.cli.costs import estimate_line
from budwood.cli.text import at_home, one_line
from budwood.errors import UsageError
from budwood.project.expecting import Estimate, expectations
from budwood.project.planned import Planned
from budwood.project.words import counted, some
from budwood.project.workspaces import find_ground, pool_folder
from budwood.stores import Store
from budwood.workspaces import Repository

_SHOWN_FILES = 8


def look_back(planned: Planned, store: Store) -> tuple[Planned, Estimate]:
    """Let a plan's attempts reserve what earlier ones cost, and say what that comes to."""
    found = expectations(store, planned.settings.agents)
    planned = planned.expecting(found)
    return planned, planned.estimate(found)


def agree(planned: Planned, outlook: Estimate, *, no_budget: bool) -> Iterator[str]:
    """Say what a new run will probably cost; without a budget, ask at a terminal and refuse elsewhere."""
    budget = planned.settings.budget_usd
    if budget is not None and no_budget:
        raise UsageError(
            f"--no-budget, and budget_usd is {budget:g} ({planned.resolved.origin('budget_usd')})",
            hint="leave one of them out",
        )
    if not outlook.is_paid:
        return
    line = estimate_line(outlook, budget_usd=budget)
    if budget is not None or no_budget:
        yield line
        return
    hint = "--budget-usd N pauses the run when so much is spent; --no-budget runs it without a limit"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"its agents cost money, and there is no budget_usd; {line}", hint=hint)
    if not click.confirm(f"{line}\nrun it without a limit?", err=True):
        raise UsageError("nothing was started", hint=hint)


def _elsewhere(repository: Repository, terms: WorkspaceTerms) -> Iterator[str]:
    """Say what a checkout has beside the files of its commit, and workspaces do not, unless `setup` sees to it."""
    setup = terms.setup or ""
    modules = [] if "submodule" in setup else [one_line(name) for name in repository.submodules(terms.base)]
    if modules:
        yield (
            f"submodules are empty in workspaces: {some(modules, _SHOWN_FILES)}; "
            'setup = "git submodule update --init" fetches them'
        )
    if "lfs" not in setup and repository.has_lfs(terms.base):
        yield 'files of git LFS are pointers in workspaces; setup = "git lfs pull" fetches them'


def announce(planned: Planned, terms: WorkspaceTerms, *, is_new: bool, include_dirty: bool) -> Iterator[str]:
    """Say what agents may do, where they work, and which of the user's changes they do not see."""
    ground = find_ground(planned.project, terms.kind)
    if is_new and ground.in_git:
        dirty = [one_line(name) for name in ground.repository.dirty()]
        if dirty and include_dirty:
            yield f"starts with {counted(len(dirty), 'uncommitted file')}: {some(dirty, _SHOWN_FILES)}"
        elif dirty:
            yield (
                f"your checkout has {counted(len(dirty), 'uncommitted file')} that workspaces do not have: "
                f"{some(dirty, _SHOWN_FILES)}; --include-dirty starts with them"
            )
        yield from _elsewhere(ground.repository, terms)
    if planned.settings.sandbox != "none":
        from budwood.cli.sandbox import sandbox_lines

        yield from sandbox_lines(planned.settings, planned.project)
    elif planned.settings.agents:
        yield "sandbox: none; agents may edit and run commands with your rights"
    folder = pool_folder(ground, planned.settings.pool) / terms.kind
    start = f" of {terms.base[:10]}" if is_new and ground.in_git else ""
    yield f"workspaces: {terms.kind}{start} in {at_home(str(folder))}"
