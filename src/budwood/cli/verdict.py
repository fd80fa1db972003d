"""A verdict in words: one line, then what failed and why, then one thing to do next.

Knows the verdict and the store's rows. Must not decide: the exit code is the engine's.
"""

import shlex
from collections.abc import Iterator

from budwood._core.choice import choice, competes, eligible, why_undecided
from budwood._core.model import ENDED_RUN, INSIDE, PLAN, Review, RunPhase, TaskId
from budwood._core.state import RunState
from budwood.cli.landing import broken_hint, does_not_fit, fit_hint, landing_lines, merge_hint
from budwood.cli.text import one_line
from budwood.cli.view.lines import logs_command
from budwood.engine.landing import is_verify
from budwood.engine.verdict import Exit, Verdict
from budwood.project.times import span
from budwood.project.words import counted, money, some
from budwood.review.undecided import undecided
from budwood.stores import Store

_SHOWN_FAILURES = 10
_SHOWN_REMARKS = 10
_COUNTED = ("done", "failed", "skipped", "cancelled")
_CAUSES = {
    "timeout": "time-out",
    "memory": "memory kill",
    "pause": "pause",
    "cancel": "cancel request",
    "retry": "retry request",
    "revise": "revision",
    "created": "created task",
    "updated": "updated task",
    "approved": "approval",
    "rejected": "rejection",
    "merged": "merge",
    "merge": "merge request",
    "budget": "spent budget",
    "breaker": "open breaker",
    "strict": "strict stop",
    "disk_full": "full disk",
    "io": "input or output error",
    "auth": "refused login",
}
_FIRST = {
    "login": "let its agent in again, budwood doctor shows how; then ",
    "quota": "its account has nothing left: add to it, or name another agent; then ",
    "disk": "make room on the disk; then ",
}
"""By the kind of a pause, what only a person can do about it."""


def verdict_lines(verdict: Verdict, state: RunState, store: Store, *, hint: str = "") -> Iterator[str]:
    """Say where a run stands and what can be done about it; `hint` comes after what the verdict itself suggests."""
    yield headline(verdict)
    if verdict.running:
        word = "goes" if len(verdict.running) == 1 else "go"
        yield f"  {counted(len(verdict.running), 'task')} {word} on without a driver: {some(verdict.running)}"
    if verdict.calls:
        number, word = counted(len(verdict.calls), "call"), "is" if len(verdict.calls) == 1 else "are"
        yield f"  {number} ended with this driver, and {word} made again on resume: {some(verdict.calls)}"
    failed = [task for task in verdict.failed if not _is_lost_rival(state, task)]
    for task in failed[:_SHOWN_FAILURES]:
        yield f"  failed  {one_line(str(task))}  {_why(task, state, store)}  {logs_command(verdict.name, task)}"
    if len(failed) > _SHOWN_FAILURES:
        yield f"  and {len(failed) - _SHOWN_FAILURES} more failed: budwood show {verdict.name}"
    yield from _chosen(state)
    yield from _remarks(state)
    yield from landing_lines(state)
    if verdict.externals:
        yield f"outside the determinism promise: {_externals(verdict)}"
    hints = [
        text
        for text in (_hint(verdict, state), _search_hint(verdict, state), _review_hint(verdict, state), hint)
        if text
    ]
    if hints:
        yield ""
        yield f"hint: {'; '.join(hints)}"


def _is_lost_rival(state: RunState, task: TaskId) -> bool:
    """Say whether a failure is part of a search: what is put together may not fit."""
    found = state.task(task)
    return competes(state, found) and found.error_type == "conflict"


def _chosen(state: RunState) -> Iterator[str]:
    """Say what a search has come to."""
    found, nobody = choice(state), why_undecided(state)
    if found is not None:
        yield f"  best    {one_line(str(found.task.spec.id))}  {one_line(found.why)}"
    elif nobody:
        yield f"  best    none was chosen: {one_line(nobody)}"


def headline(verdict: Verdict) -> str:
    """Sum a run up in one line."""
    parts = [f"{verdict.counts[word]} {word}" for word in _COUNTED if verdict.counts[word]] or ["0 done"]
    if verdict.counts["done"] < verdict.tasks:
        parts[-1] += f" of {verdict.tasks}"
    text = f"{verdict.name}: {_state(verdict)}{', '.join(parts)} in {span(verdict.driven_s)}"
    text += f", {counted(verdict.attempts, 'attempt')}"
    if verdict.cost_usd:
        text += f", {money(verdict.cost_usd, guessed=verdict.untold)}"
    if verdict.tokens:
        text += f", {verdict.tokens} tokens"
    return text


def in_one_line(verdict: Verdict, state: RunState) -> str:
    """Sum a run up with what is wrong beside tasks that failed: without it, `2 done` would be all that is said."""
    landing, nobody = state.landing, why_undecided(state)
    wrong = [
        f"in conflict: {some(landing.conflicts)}" if landing.conflicts else "",
        f"broken: {some(landing.held)}" if landing.held else "",
        f"not merged: {landing.stopped.reason}" if landing.stopped is not None else "",
        f"none was chosen: {nobody}" if nobody else "",
    ]
    return "; ".join([headline(verdict), *(one_line(text) for text in wrong if text)])


def _state(verdict: Verdict) -> str:
    if verdict.exit_code == Exit.INTERRUPTED:
        return "interrupted; "
    if verdict.phase is RunPhase.PAUSED:
        return f"paused ({one_line(verdict.reason)}); "
    return "cancelled; " if verdict.phase is RunPhase.CANCELLED else ""


def _why(task: TaskId, state: RunState, store: Store) -> str:
    attempts = store.attempts(state.id, state.task(task).number)
    error = attempts[-1].error if attempts else None
    return "no attempt" if error is None else one_line(error.message)


def _remarks(state: RunState) -> Iterator[str]:
    """Tell what attempts did elsewhere than in their workspaces, and what of theirs is in no ref or no candidate."""
    for remark in state.remarks[:_SHOWN_REMARKS]:
        whose = f"attempt {remark.attempt} at {one_line(str(remark.task))}"
        if remark.outside:
            yield f"  warning: while {whose} ran, changed outside its workspace: {one_line(some(remark.outside))}"
        if remark.not_kept:
            yield f"  warning: {whose} left what could not be kept: {one_line(some(remark.not_kept))}"
        if remark.inside:
            yield f"  warning: {whose} changed files {INSIDE}: {one_line(some(remark.inside))}"
    if len(state.remarks) > _SHOWN_REMARKS:
        yield f"  and {len(state.remarks) - _SHOWN_REMARKS} more such warnings: budwood story {shlex.quote(state.name)}"


def _externals(verdict: Verdict) -> str:
    tally: dict[str, int] = {}
    for cause, number in verdict.externals.items():
        kind = cause.partition(" ")[0]
        tally[kind] = tally.get(kind, 0) + number
    return ", ".join(counted(number, _CAUSES.get(kind, kind)) for kind, number in tally.items())


def _hint(verdict: Verdict, state: RunState) -> str:
    name = shlex.quote(verdict.name)
    if verdict.exit_code == Exit.INTERRUPTED:
        return f"budwood resume {name}"
    if verdict.phase is RunPhase.PAUSED:
        more = f" {more_flag(verdict.reason)}" if verdict.exit_code == Exit.BUDGET else ""
        return f"{_FIRST.get(state.pause_kind, '')}budwood resume {name}{more}"
    failed = [state.task(task) for task in verdict.failed if not _is_lost_rival(state, task)]
    if failed and all(map(does_not_fit, failed)) and not verdict.counts["cancelled"]:
        return fit_hint(state, failed)
    if failed and all(is_verify(task) for task in failed) and not verdict.counts["cancelled"] and state.landing.held:
        return broken_hint(state)
    if verdict.exit_code and (verdict.failed or verdict.counts["cancelled"]):
        again = f"budwood retry {name} tries again what did not succeed"
        decided = state.strategy != PLAN and not (state.asking or state.stopped)
        return f"{again}, and decides nothing anew" if decided else again
    return ""


def _search_hint(verdict: Verdict, state: RunState) -> str:
    """Point to what a search made, once nothing more comes."""
    if verdict.phase not in ENDED_RUN or not any(competes(state, task) for task in state.tasks):
        return ""
    name, found = shlex.quote(verdict.name), choice(state)
    hints = [f"budwood compare {name} shows all"]
    if found is None:
        hints += [f"budwood approve {name} TASK chooses"] if eligible(state) else []
    elif found.task.review is not Review.MERGED and state.settings.workspace is not None:
        kept = state.settings.workspace.kind == "copy"
        hints.append(f"budwood best {name} -o PATH writes it out" if kept else f"budwood merge {name} merges the best")
    return "; ".join(hints)


def _review_hint(verdict: Verdict, state: RunState) -> str:
    """Point to what waits to be decided about, once nothing more comes."""
    if verdict.phase not in ENDED_RUN or next(undecided(state), None) is None:
        return ""
    waits = f"budwood review {shlex.quote(verdict.name)} shows what waits for a decision"
    hints = (waits, "" if _search_hint(verdict, state) else merge_hint(state))  # of a search, only the best is merged
    return "; ".join(hint for hint in hints if hint)


def more_flag(reason: str) -> str:
    """Name the flag that raises the budget which a pause says is spent."""
    for word, flag in (
        ("attempts", "--max-attempts N"),
        ("tasks", "--max-tasks N"),
        ("tokens", "--budget-tokens N"),
        ("time", "--budget-time TIME"),
    ):
        if word in reason:
            return flag
    return "--budget-usd N"
