"""Drives a run on after somebody asked something of it that nobody else would do.

Knows launches. What was asked is its caller's.
"""

from collections.abc import Mapping, Sequence

from budwood._core.events import Event
from budwood.cli.asking import Asked
from budwood.cli.drive import Manner
from budwood.cli.launch import Launch, launch
from budwood.project.place import project_of, this_machine
from budwood.project.resuming import go_on_with
from budwood.project.strategy import strategy_of
from budwood.settings import run_settings


def go_on(
    asked: Asked, manner: Manner, *, changes: Mapping[str, object], detach: bool, also: Sequence[Event] = ()
) -> int:
    """Drive the run that was asked, with these settings changed and these events first; return the exit code."""
    project = project_of(asked.row)
    what = Launch(
        project=project,
        resolved=asked.resolved,
        settings=run_settings(asked.resolved, this_machine()),
        run=asked.row.id,
        name=asked.row.name,
        opening=go_on_with(project, changes, also=also),
        strategy=strategy_of(asked.store, asked.row.id, root=project.root),
        manner=manner,
    )
    return launch(what, asked.store, detach=detach)
