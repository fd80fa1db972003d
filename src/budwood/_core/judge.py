"""What an attempt's end means: success, another try, or failure.

Pure: from the state and what the executor saw. Success is evidence (exit codes), never text.
"""

from msgspec import UNSET
from msgspec.structs import replace

from budwood._core.events import AttemptEnded
from budwood._core.model import REVIEW_ROUNDS, AttemptError, AttemptPhase, Outcome, Usage
from budwood._core.seeds import fraction
from budwood._core.state import RunState, TaskState

MAX_LOST = 3
"""After so many lost supervisors the task itself is taken for what kills them."""
MAX_BACKOFF_S = 300.0
_MOST_USD = 1e9
_MOST_TOKENS = 10**12
ENVIRONMENT = frozenset({"disk_full", "io"})
"""The machine failed, not the task: the run pauses, and the attempt does not count."""
OUTSIDE = {
    **dict.fromkeys(ENVIRONMENT, "disk"),
    "auth": "login",
    "quota": "quota",
    "workspace": "workspace",
}
"""What is no fault of the task, and which kind of pause it brings; such an attempt does not count."""
LIMIT = "limit"
"""The account is at its limit; its attempts wait, and this one does not count."""
REVIEW = "review"
"""Its reviewer sent it back: the next attempt goes on with it, so often at most, and no retry is used up."""
REVIEWER = "reviewer"
"""Its reviewer, an agent, gave no verdict; the work has not failed, and the next attempt has it reviewed again."""
_FINAL = frozenset({"conflict"})
"""What another try would meet again."""
SETUP = frozenset({"not_found", "denied", "no_directory", "spawn", "stdin", "import", "setup"})
"""The task could not even begin: what the breaker counts."""


def judge(state: RunState, task: TaskState, outcome: Outcome) -> AttemptEnded:
    """Turn an outcome into the event that says what counts."""
    assert task.attempt is not None
    attempt = task.attempt
    outcome = _unasked(task, outcome)
    lost = outcome.phase is AttemptPhase.ABANDONED
    blameless = lost or outcome.error_type == LIMIT or outcome.error_type in OUTSIDE
    counts = not blameless or (lost and task.lost + 1 >= MAX_LOST)
    will_retry = _will_retry(task, outcome, counts=counts)
    return AttemptEnded(
        task=task.spec.id,
        attempt=attempt.number,
        phase=outcome.phase,
        counts=counts,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        pid=outcome.pid,
        began_at_ms=outcome.began_at_ms,
        error=_error(task, outcome, will_retry=will_retry),
        backoff_s=_backoff_s(state, task) if will_retry and counts and outcome.error_type != REVIEW else 0.0,
        usage=_believable(outcome.usage),
        measure=outcome.measure,
        result=outcome.result if outcome.phase is AttemptPhase.SUCCEEDED else UNSET,
        left=outcome.left,
        told=outcome.told,
        until_ms=outcome.until_ms,
        check_said=outcome.check_said,
        score=outcome.score,
        reviewed=outcome.reviewed and replace(outcome.reviewed, usage=_believable(outcome.reviewed.usage)),
    )


def is_wanted(task: TaskState) -> bool:
    """Say whether anybody still wants what the open attempt is working on."""
    assert task.attempt is not None
    return not (task.cancelling or task.removed) and task.attempt.key == task.key


def _unasked(task: TaskState, outcome: Outcome) -> Outcome:
    """Take an attempt for lost that was cancelled though its task is wanted: a machine that shuts down ends it so."""
    if outcome.phase is not AttemptPhase.CANCELLED or not is_wanted(task):
        return outcome
    message = "it was ended from outside; nobody had cancelled the task"
    return replace(outcome, phase=AttemptPhase.ABANDONED, error_type="abandoned", message=message)


def _believable(usage: Usage) -> Usage:
    """Take for unknown what no attempt can have used: it would spoil every sum, and no store could keep it."""
    cost, tokens = usage.cost_usd, usage.tokens
    if cost is None and tokens is None:
        return usage
    return replace(
        usage,
        cost_usd=cost if cost is not None and 0 <= cost <= _MOST_USD else None,
        tokens=tokens if tokens is not None and 0 <= tokens <= _MOST_TOKENS else None,
    )


def _will_retry(task: TaskState, outcome: Outcome, *, counts: bool) -> bool:
    if outcome.phase in (AttemptPhase.SUCCEEDED, AttemptPhase.CANCELLED) or task.cancelling:
        return False
    if (outcome.phase is AttemptPhase.ABANDONED and counts) or outcome.error_type in _FINAL:
        return False
    if outcome.error_type == REVIEW:
        most = task.spec.max_review_rounds
        return task.rounds < (REVIEW_ROUNDS if most is None else most)
    return not counts or task.tries - task.rounds < task.spec.retries


def _error(task: TaskState, outcome: Outcome, *, will_retry: bool) -> AttemptError | None:
    if outcome.phase is AttemptPhase.SUCCEEDED:
        return None
    assert task.attempt is not None
    return AttemptError(
        type=outcome.error_type or outcome.phase.value,
        message=outcome.message,
        attempt=task.attempt.number,
        max_retries=task.spec.retries,
        will_retry=will_retry,
        timed_out=outcome.phase is AttemptPhase.TIMED_OUT,
        traceback=outcome.traceback,
    )


def _backoff_s(state: RunState, task: TaskState) -> float:
    """Double with each try, give or take a half, so that tasks that failed together do not return together."""
    base = state.settings.backoff_s * 2.0 ** min(task.tries, 30)
    jitter = 0.5 + fraction(state.settings.seed, task.key, retry=task.tries, purpose="back-off")
    return round(min(base, MAX_BACKOFF_S) * jitter, 3)
