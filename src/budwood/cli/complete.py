"""Completion of runs, tasks, attempts and lanes from the store.

For a shell that waits after every press of Tab: nothing here may fail, ask or take long, whatever the store is like.
"""

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from budwood._core.ids import LAST
from budwood.errors import BudwoodError

_MOST = 200


class RunName(click.ParamType[str]):
    """A run: by name, id, unique prefix, or `last`."""

    name = "run"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _items(_run_names(ctx), incomplete)


class TaskName(click.ParamType[str]):
    """A task of the run that stands before it: by id or unique prefix."""

    name = "task"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _items(_task_names(ctx), incomplete)


class CandidateName(click.ParamType[str]):
    """What an attempt at a task of that run made: the task, or TASK.N."""

    name = "candidate"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        task, point, _ = incomplete.rpartition(".")
        return _items(_task_names(ctx), incomplete) or _items(_attempt_names(ctx, task) if point else (), incomplete)


class LineName(click.ParamType[str]):
    """A lane or a task of that run."""

    name = "line"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _items((*_lane_names(ctx), *_task_names(ctx)), incomplete)


def _items(found: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    items: list[CompletionItem] = []
    try:
        for name, about in found:
            if name.startswith(incomplete):
                items.append(CompletionItem(name, help=about))
            if len(items) == _MOST:
                break
    except (BudwoodError, OSError):
        pass  # no project, no store, no rights: there is nothing to offer, and the command itself will say why
    return items


def _run_names(ctx: click.Context) -> Iterable[tuple[str, str]]:
    from budwood.cli.looking import looking
    from budwood.project.find import listed

    with looking(_given(ctx, "where")) as (_, store):
        runs = listed(store)
    for row in reversed(runs):
        yield row.name, row.phase.value
    if runs:
        yield LAST, f"the newest: {runs[-1].name}"


def _task_names(ctx: click.Context) -> Iterable[tuple[str, str]]:
    from budwood.cli.looking import looking
    from budwood.project.find import find_run

    with looking(_given(ctx, "where")) as (_, store):
        tasks = store.tasks(find_run(store, _given(ctx, "run") or LAST).id)
    for row in tasks:
        yield str(row.id), row.phase.value


def _attempt_names(ctx: click.Context, task: str) -> Iterable[tuple[str, str]]:
    from budwood.cli.looking import looking
    from budwood.project.find import find_run, find_task

    with looking(_given(ctx, "where")) as (_, store):
        run = find_run(store, _given(ctx, "run") or LAST)
        row = find_task(store, run, task)
        attempts = store.attempts(run.id, row.number)
    for attempt in attempts:
        yield f"{row.id}.{attempt.number}", attempt.phase.value


def _lane_names(ctx: click.Context) -> Iterable[tuple[str, str]]:
    from budwood.cli.looking import looking
    from budwood.project.find import find_run

    with looking(_given(ctx, "where")) as (_, store):
        tasks = store.tasks(find_run(store, _given(ctx, "run") or LAST).id)
    for lane in dict.fromkeys(str(row.lane) for row in tasks if row.lane is not None):
        yield lane, "lane"


def _given(ctx: click.Context, name: str) -> str | None:
    value = ctx.params.get(name)
    return value if isinstance(value, str) else None
