"""Begins to drive a planned run: asks about money, claims it, says where it works, and launches it.

Knows planned runs, stores and launches; must not know where the plan came from.
"""

import shlex
from dataclasses import dataclass

from budwood._core.ids import safe_name
from budwood._core.model import TaskPhase
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.cli.drive import Manner, tell, write_err
from budwood.cli.launch import Launch, launch
from budwood.engine.driver import Opening
from budwood.engine.verdict import reach_verdict
from budwood.executors.local import find_binary
from budwood.project.find import newest_of
from budwood.project.planned import Planned, fresh_run_id
from budwood.stores import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """How somebody wants a run to begin."""

    again: bool = False
    include_dirty: bool = False
    no_budget: bool = False
    detach: bool = False
    manner: Manner
    name: str | None = None


def begin(planned: Planned, how: Beginning) -> int:
    """Drive what was planned and equipped, as a new run or as the one that its file has; return the exit code."""
    quiet = how.manner.quiet
    find_binary()  # without a supervisor nothing can run, and nothing shall be claimed
    with planned.project.open_store(planned.resolved, create=True) as store:
        is_new = how.again or not planned.source or not _has_begun(newest_of(store, planned.source))
        if planned.settings.agents:
            from budwood.cli.starting import agree, look_back

            planned, outlook = look_back(planned, store)
            if is_new:
                money = list(agree(planned, outlook, no_budget=how.no_budget))
                write_err(() if quiet else money)
        claim = store.claim(fresh_run_id(), name=planned.name, source=planned.source, fresh=how.again)
        opening = planned.opening(run=claim.run, name=claim.name)
        if not claim.created:
            code = _already_over(planned, store, opening, run=claim.run, quiet=quiet)
            if code is not None:
                return code
            _note_name(how.name, claim.name)
        if planned.settings.workspace is not None and not quiet:
            from budwood.cli.starting import announce

            write_err(announce(planned, planned.settings.workspace, is_new=is_new, include_dirty=how.include_dirty))
        what = Launch(
            project=planned.project,
            resolved=planned.resolved,
            settings=planned.settings,
            run=claim.run,
            name=claim.name,
            opening=opening,
            strategy=planned.strategy,
            manner=how.manner,
        )
        return launch(what, store, detach=how.detach)


def _has_begun(row: RunRow | None) -> bool:
    return row is not None and row.last_event > 0


def _note_name(wanted: object, name: str) -> None:
    if isinstance(wanted, str) and safe_name(wanted) != name:
        write_err([f"note: this file's run goes on under its name {name}; --again makes a new one"])


def _already_over(planned: Planned, store: Store, opening: Opening, *, run: str, quiet: bool) -> int | None:
    """Tell how a run went that is over and whose plan is as it was; None if there is something to drive."""
    state = planned.end_of(store, run, opening)
    if state is None:
        return None
    verdict = reach_verdict(state)
    tell(verdict, state, store, quiet=quiet, hint=_hint(planned, state))
    return verdict.exit_code


def _hint(planned: Planned, state: RunState) -> str:
    python, afresh = planned.settings.python, "--again runs it afresh"
    if python and python != state.settings.python and state.counts[TaskPhase.FAILED]:
        return f"--python {shlex.quote(python)} lets it call functions with the interpreter that is set now; {afresh}"
    return afresh
