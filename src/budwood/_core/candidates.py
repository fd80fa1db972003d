"""What attempts leave, and what the run makes of it: lines of history, reviews, limits of accounts.

Called by the machine only, so that replay gives the same. Knows the state; must not know git: a commit is a name.
"""

from budwood._core.commands import AcceptCandidate, Command, WakeAccount
from budwood._core.events import AttemptEnded, TaskReviewed
from budwood._core.model import BEST_OF, PLAN, AttemptPhase, Review, TaskId, TaskPhase, TaskSpec, Told
from budwood._core.state import GoOn, Made, Note, Remark, RunState, TaskState


def lane_of(spec: TaskSpec) -> str:
    """Name the line of history that a task belongs to; one without a lane has a line of its own."""
    return line_of(spec.id, spec.lane)


def line_of(task: TaskId, lane: TaskId | None) -> str:
    """Name the line of history of a task in a lane, or in none."""
    return f"task {task}" if lane is None else f"lane {lane}"


def is_searched(state: RunState, task: TaskState) -> bool:
    """Say whether a task is one of many that a search tries, or helps with; who joined it is none."""
    if state.strategy == PLAN or task.is_created:
        return False
    return task.spec.score is not None or task.spec.helps or state.strategy == BEST_OF


def is_undone(task: TaskState) -> bool:
    """Say whether what was accepted of a task counts no more: it was sent back, and has not been done since.

    It lies in its line of history, and in whatever took from that.
    """
    return task.phase is not TaskPhase.DONE and task.made is not None and task.made.left.files > 0


def branched_heads(state: RunState) -> dict[str, str]:
    """Return where every line of history stands that a branch shows; those of a search have none."""
    hidden = {lane_of(task.spec) for task in state.tasks if is_searched(state, task)}
    return {line: commit for line, commit in state.heads.items() if line not in hidden}


def take_in(state: RunState, task: TaskState, event: AttemptEnded, commands: list[Command]) -> None:
    """Take in what an attempt at a wanted task left and said."""
    made = None if event.left is None else Made(event.attempt, event.left, event.told or _told_before(task))
    task.last = made or task.last
    if event.phase is not AttemptPhase.SUCCEEDED:
        if made is not None:
            task.review = None  # what was decided, was about something else
        _pass_on(task, event, made)
        return
    task.notes, task.go_on = (), None
    if made is not None:
        task.made = made
        errand = task.spec.errand
        if errand is None and is_searched(state, task):
            state.heads[lane_of(task.spec)] = made.left.candidate  # no branch: most of what a search makes is not kept
        elif errand is None:
            task.review = Review.WAITING if made.left.files else None
            stands_at(state, lane_of(task.spec), made.left.candidate, commands)
        elif errand.kind == "resolve" and is_about(state, task):
            stands_at(state, errand.line, made.left.candidate, commands)


def _told_before(task: TaskState) -> Told | None:
    """Return what the agent said that made what was only to be reviewed: its session is still the one to go on with."""
    only_reviewed = task.go_on is not None and task.go_on.unreviewed is not None
    return task.last.told if only_reviewed and task.last is not None else None


def is_about(state: RunState, task: TaskState) -> bool:
    """Say whether a line still stands where its conflicts were to be solved; else what came after would be lost."""
    assert task.spec.errand is not None
    line = task.spec.errand.line
    return state.landing.resolves.get((line, state.heads.get(line, ""))) == task.number


def stands_at(state: RunState, line: str, commit: str, commands: list[Command]) -> None:
    """Let a line of history stand at a commit; what was in the way of where it stood before is of no account."""
    state.heads.pop(line, None)  # those that were accepted last stand last
    state.heads[line] = commit
    for waits in (state.landing.clashes, state.landing.conflicts, state.landing.held):
        waits.pop(line, None)
    commands.append(AcceptCandidate(line, commit))


def _pass_on(task: TaskState, event: AttemptEnded, made: Made | None) -> None:
    """Keep for the next attempt what this one has to say; one that a limit stopped is gone on with.

    Where it was the reviewer that failed, the work has not: the next attempt has it reviewed, and nothing else.
    """
    if event.error is not None and event.error.type == "review" and made is not None:
        task.rounds += 1
        task.go_on = _going_on(made, event.check_said)
        return
    if event.reviewed is not None and made is not None:
        before = task.go_on or _going_on(made, "")
        task.go_on = _going_on(made, before.wish)._replace(unreviewed=before.unreviewed or made.left)
        return
    if event.counts and event.error is not None:
        task.notes = (*task.notes, Note(event.attempt, event.error.message, event.check_said))
    if event.until_ms is not None and made is not None:
        wish = "" if task.go_on is None else task.go_on.wish
        task.go_on = _going_on(made, wish)
    elif event.counts:
        task.go_on = None


def rest_account(state: RunState, agent: str, event: AttemptEnded, commands: list[Command]) -> None:
    """Let an account rest until the limit ends that stopped an attempt: its agent's, or its reviewer's."""
    # A reviewer is asked when the agent has ended well: a limit is that of the one who was asked last.
    terms = state.settings.agents.get(agent if event.reviewed is None else event.reviewed.agent)
    if event.until_ms is not None and terms is not None:
        until = max(event.until_ms, state.limited.get(terms.account, 0))
        state.limited[terms.account] = until
        commands.append(WakeAccount(terms.account, until))


def remark(state: RunState, event: AttemptEnded) -> None:
    """Remember what of an attempt is not in its candidate, for whoever asks at the end, be its result wanted or not."""
    left = event.left
    if left is not None and (left.outside or left.not_kept or left.inside):
        state.remarks.append(Remark(event.task, event.attempt, left.outside, left.not_kept, left.inside))


def reviewed(task: TaskState, event: TaskReviewed) -> None:
    """Note what was decided about a candidate; of an older one it is history only."""
    if any(made is not None and made.attempt == event.attempt for made in (task.made, task.last)):
        task.review = Review(event.decision)


def revised(task: TaskState, wish: str) -> None:
    """Let the next attempt go on with what the newest left, and say what is wanted of it."""
    if task.last is not None:
        task.go_on = _going_on(task.last, wish)
    task.review = None
    task.completions = tuple(done for done in task.completions if done[0] != task.key)


def _going_on(made: Made, wish: str) -> GoOn:
    left, told = made.left, made.told
    if told is None:
        return GoOn(left.candidate, "", None, (0, 0, 0), wish, began=left.began)
    return GoOn(left.candidate, told.agent, told.session, told.spent, wish, began=left.began)
