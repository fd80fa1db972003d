"""The driver: the one process that drives a run, and the one place where machine, store and executor meet.

One turn of its loop: hear what happened, choose what starts, write all of it in one commit, then do what the written
events demand. Killed at any point, it has either not written (then nothing was done) or not done (then the next
driver finds out and does it). Must not print.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from budwood._core.candidates import branched_heads
from budwood._core.commands import (
    AcceptCandidate,
    CancelAttempt,
    Command,
    ForgetAttempt,
    StartAttempt,
    WakeAccount,
    WakeTask,
)
from budwood._core.consequences import at_rest
from budwood._core.events import (
    AttemptAdopted,
    DriverSeen,
    DriverStarted,
    DriverStopped,
    Event,
    Recorded,
    RunEnded,
    RunPaused,
    TasksAdded,
)
from budwood._core.ids import attempt_id
from budwood._core.judge import MAX_BACKOFF_S, is_wanted
from budwood._core.model import ENDED_RUN, AttemptPhase, Outcome, RunPhase, TaskPhase
from budwood._core.replay import fold
from budwood._core.schedule import pick, wake, wake_account
from budwood._core.state import RunState
from budwood.engine.account import account
from budwood.engine.ahead import Ahead
from budwood.engine.clock import Clock
from budwood.engine.journal import Journal
from budwood.engine.landing import Lander
from budwood.engine.loop import SelectorLoop
from budwood.engine.reports import Reports
from budwood.engine.requests import take_request
from budwood.engine.strategist import Strategist
from budwood.engine.verdict import Verdict, reach_verdict
from budwood.engine.work import make_work, work_id
from budwood.engine.workshop.orders import branch_names
from budwood.errors import UsageError
from budwood.executors.base import Executor, Recovered
from budwood.stores.base import Bell, Lease, Store
from budwood.strategies import Strategy

Opening = Callable[[RunState], Iterable[Event]]
"""What to record before anything starts, given what the run has come to: tasks, other settings, that it goes on."""
Listener = Callable[[Sequence[Recorded], RunState], None]
"""Told of events when they are durable, from the driver's thread; must be quick and must not raise."""
Probe = Callable[[str], None]
"""Called at every point where dying must be harmless; the crash tests die there."""

_LAZY_S = 0.05
_MOST_PENDING = 1000
"""Events that wait for a commit; more would take memory and a long transaction."""
_LOOK_AGAIN_S = 3600.0
_SEEN_LEAST_S, _SEEN_MOST_S = 0.5, 60.0


class Driver:
    """Drives one run."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        *,
        run: str,
        holder: str,
        listener: Listener = lambda events, state: None,
        probe: Probe = lambda point: None,
        strategy: Strategy | None = None,
    ) -> None:
        self._store = store
        self._executor = executor
        self._run = run
        self._holder = holder
        self._listener = listener
        self._probe = probe
        self._strategist = None if strategy is None else Strategist(strategy)
        self._loop = SelectorLoop()
        self._clock = Clock()
        self._stopping = False
        self._leaving = ""
        self._flush_set = False
        self._branches: dict[str, str] = {}
        self._lander = Lander()
        self._asked = False

    def stop(self, *, now: str = "") -> None:
        """Start nothing new, leave when what runs has ended; with a reason in `now`, leave at once. From any thread."""
        self._stopping = True
        self._leaving = now or self._leaving
        self._loop.wake()

    @property
    def state(self) -> RunState:
        """What the run has come to; changes under the reader's eyes while the driver drives."""
        return self._journal.state

    def drive(self, opening: Opening) -> Verdict:
        """Take the lease and drive until the run rests; return where it stands."""
        with closing(self._loop):
            lease = self._store.acquire(self._run, self._holder)
            try:
                return self._drive(opening, lease)
            finally:
                self._executor.close()
                self._store.release(lease)

    def _drive(self, opening: Opening, lease: Lease) -> Verdict:
        observer = None if self._strategist is None else self._strategist.see
        state = fold(self._store.read(self._run), observer=observer, again=lambda: self._store.read(self._run))
        self._journal = Journal(self._store, lease, state, clock=self._clock, observer=observer)
        self._ahead = Ahead(state, self._executor)
        self._reports = Reports(self._journal, self._ahead)
        self._executor.open(lease.fence, loop=self._loop, sink=self._reports)
        with closing(self._store.listen(self._run)) as bell:
            self._loop.watch(bell.fileno(), lambda: self._rung(bell))
            self._begin(opening, fence=lease.fence)
            self._refuse_unasked()
            self._set_timers(lambda: self._store.renew(lease))
            self._asked = True
            self._run_loop()
            self._loop.forget(bell.fileno())
        interrupted = self._stopping and state.phase not in ENDED_RUN
        self._journal.record(
            DriverStopped(reason=self._leaving or ("asked to stop" if interrupted else state.phase.value))
        )
        self._commit()
        return reach_verdict(state, interrupted=interrupted)

    # --- the beginning ---

    def _begin(self, opening: Opening, *, fence: int) -> None:
        state, journal = self._journal.state, self._journal
        if state.number == 0:
            created, *rest = self._first_events(opening)
            for event in (created, DriverStarted(driver=self._holder, fence=fence), *rest):
                journal.record(event)
            self._executor.attend(state.name, state.settings)
            self._commit()
            return
        self._executor.attend(state.name, state.settings)
        journal.record(DriverStarted(driver=self._holder, fence=fence))
        found = self._recover()
        # The driver before may have been killed before it could say so to their supervisors.
        given_up = [task for task in state.open.values() if not is_wanted(task)]
        before = state.settings
        for event in opening(state):
            journal.record(event)
        if state.settings is not before:  # other agents, a sandbox: what starts from here on is to have them
            self._executor.attend(state.name, state.settings)
        unsent = {work for work, how in found.items() if how is Recovered.UNSENT}
        for task in [task for task in state.open.values() if not is_wanted(task) and work_id(task) in unsent]:
            never = Outcome(phase=AttemptPhase.CANCELLED, error_type="cancelled", message="cancelled before it began")
            self._reports.ended(work_id(task), never, log=b"")
        self._commit()
        for number, task in list(state.open.items()):
            if work_id(task) in unsent:
                self._do(StartAttempt(number, task.attempts))
            elif task in given_up and not is_wanted(task):
                self._do(CancelAttempt(number, task.attempts))

    def _refuse_unasked(self) -> None:
        state = self._journal.state
        if state.asking and self._strategist is None and not self._stopping:
            raise UsageError(f"run {state.name} needs its strategy, {state.strategy}, to go on")

    def _first_events(self, opening: Opening) -> list[Event]:
        events = list(opening(self._journal.state))
        if not events:
            raise UsageError(
                f"run {self._run} has not begun: its driver died before the first event",
                hint="what made it begins it: budwood run FILE, or its program; budwood best-of makes another",
            )
        return events

    def _recover(self) -> dict[str, Recovered]:
        """Learn what became of every open attempt, and account for every task."""
        state, journal = self._journal.state, self._journal
        works = [make_work(state, task) for task in state.open.values()]
        found = self._executor.recover(works)
        for lane, commit in branched_heads(state).items():  # the driver before may have been killed before it could
            self._accept(lane, commit)
        for task in list(state.open.values()):
            if found[work_id(task)] is Recovered.ADOPTED:
                journal.record(AttemptAdopted(task=task.spec.id, attempt=task.attempts))
        journal.record(account(state, found, open_before=len(works)))
        return found

    def _set_timers(self, renew: Callable[[], None]) -> None:
        state, now = self._journal.state, self._clock.now_ms()
        for task in state.tasks:
            if task.phase is TaskPhase.READY and task.not_before_ms > now:
                # A clock that was set back must not make anybody wait for more than the longest back-off.
                self._later_wake(task.number, min((task.not_before_ms - now) / 1000, 2 * MAX_BACKOFF_S))
        for name, until_ms in state.limited.items():
            self._later_wake_account(name, until_ms)
        limit_s = state.settings.budget_time_s
        if limit_s is not None:
            self._loop.later(max(0.0, limit_s - state.driven_until(now)), lambda: None)
            self._be_seen(every_s=min(max(limit_s / 50, _SEEN_LEAST_S), _SEEN_MOST_S))
        every_s = self._store.renew_every_s
        if every_s is not None:
            self._renew_again(renew, every_s)

    def _be_seen(self, *, every_s: float) -> None:
        """Note now and then that time passes, so that a driver that is killed has not driven for nothing."""
        if self._clock.now_ms() - self._journal.state.at_ms >= every_s * 1000:
            self._journal.record(DriverSeen())
        self._loop.later(every_s, lambda: self._be_seen(every_s=every_s))

    def _renew_again(self, renew: Callable[[], None], every_s: float) -> None:
        renew()
        self._loop.later(every_s, lambda: self._renew_again(renew, every_s))

    # --- the turn ---

    def _run_loop(self) -> None:
        while True:
            if not (self._stopping or self._asked or self._reports.holds):
                self._fill_slots()
            elif self._ahead.withdraw():
                self._catch_up()
            self._flush()
            if self._is_over():
                return
            if not self._journal.urgent:  # else a command had an end reported at once, and nothing would wake us for it
                self._loop.turn()

    def _catch_up(self) -> None:
        """Do what waited until it was known which calls have begun; then go on as ever."""
        self._reports.release()
        if self._asked:
            self._asked = False
            self._take_requests()
        if not self._stopping:
            self._fill_slots()
        elif self._journal.state.all_ended:
            self._rest()  # what it was waiting for were the last ones

    def _fill_slots(self) -> None:
        state, now = self._journal.state, self._clock.now_ms()
        taken, retired = state.holdings.slots, self._reports.retired_slots
        usable = [slot for slot in range(state.settings.slots) if slot not in retired]
        # Fewer slots than before: what was adopted beyond them counts, too.
        free = [slot for slot in usable if slot not in taken][: max(0, state.settings.slots - len(taken))]
        while free and (first := self._ahead.bring_back(slot=free[0])) is not None:
            self._journal.record(first)
            free.pop(0)
        if free and not self._ahead.withdraw():
            return
        while free:
            queued = pick(state, now, slots=free)
            if queued is not None:
                self._journal.record(queued)
                free.pop(0)
            elif not self._ask():
                break
        if not (usable or state.open or state.all_ended) and state.phase in (RunPhase.ACTIVE, RunPhase.WAITING):
            self._journal.record(RunPaused(kind="slots", reason="every slot has processes that cannot be killed"))
        self._rest()
        if not free:
            self._ahead.fill(now)

    def _ask(self) -> bool:
        """Let the strategy add tasks; return whether something may have become ready."""
        events = [] if self._strategist is None else self._strategist.next_events(self._journal.state)
        for event in events:
            self._journal.record(event)
        return any(isinstance(event, TasksAdded) for event in events)

    def _rest(self) -> None:
        for event in at_rest(self._journal.state, self._clock.now_ms()):
            if isinstance(event, RunEnded) and (self._has_loose_ends() or self._land()):
                return
            self._journal.record(event)

    def _land(self) -> bool:
        """Let the merge queue go on; return whether the run's end must wait for it."""
        if self._reports.landing:
            return True
        wanted = self._lander.next(self._journal.state)
        if wanted is None or self._stopping:  # what is left of it is for the next driver
            return wanted is not None
        if isinstance(wanted, list):
            for event in wanted:
                self._journal.record(event)
            self._loop.later(0.0, lambda: None)
        else:
            self._reports.landing = True
            self._probe(f"before {type(wanted).__name__}")
            self._executor.land(wanted)
        return True

    def _has_loose_ends(self) -> bool:
        """Say whether the run's end must wait: nobody drives it again to move a branch or give a directory back."""
        if self._journal.state.settings.workspace is None:
            return False
        if self._journal.pending:
            self._loop.later(0.0, lambda: None)  # they are committed in this turn; look again right after
            return True
        return self._executor.is_busy

    def _flush(self) -> None:
        for command in self._journal.take_calls():
            self._do(command)
        if self._journal.urgent or self._journal.pending >= _MOST_PENDING:
            self._commit()
        elif self._journal.pending and not self._flush_set:
            self._flush_set = True
            self._loop.later(_LAZY_S, self._flush_lazy)

    def _flush_lazy(self) -> None:
        self._flush_set = False
        if self._journal.pending:
            self._commit()

    def _commit(self) -> None:
        if not (self._journal.pending or self._journal.urgent):
            return
        self._probe("before commit")
        commands = self._journal.commit(self._written)
        self._probe("after commit")
        for command in commands:
            self._probe(f"before {type(command).__name__}")
            self._do(command)
            self._probe(f"after {type(command).__name__}")

    def _rung(self, bell: Bell) -> None:
        bell.drain()
        self._asked = True

    def _take_requests(self) -> None:
        for request in self._store.pending(self._run):
            take_request(self._journal, request)

    def _written(self, events: Sequence[Recorded]) -> None:
        self._listener(events, self._journal.state)

    def _is_over(self) -> bool:
        state = self._journal.state
        if self._leaving or state.phase in ENDED_RUN:
            return True
        if state.open or (state.all_ended and self._has_loose_ends()):
            return False
        return (self._stopping or state.phase is RunPhase.PAUSED) and self._ahead.withdraw()

    def _do(self, command: Command) -> None:
        state = self._journal.state
        match command:
            case ForgetAttempt(task=number, attempt=attempt):  # the most frequent one
                self._forget(attempt_id(number, attempt))
            case StartAttempt(task=number):
                self._executor.start(make_work(state, state.tasks[number]))
            case CancelAttempt(task=number, attempt=attempt):
                self._executor.cancel(attempt_id(number, attempt))
            case WakeTask(task=number, delay_s=delay_s):
                self._later_wake(number, delay_s)
            case AcceptCandidate(lane=lane, commit=commit):
                self._accept(lane, commit)
            case WakeAccount(account=name, until_ms=until_ms):
                self._later_wake_account(name, until_ms)

    def _accept(self, lane: str, commit: str) -> None:
        if lane not in self._branches:
            self._branches = branch_names(self._journal.state)
        self._executor.accept(self._branches[lane], commit)

    def _forget(self, work: str) -> None:
        if work not in self._reports.large_logs:
            self._executor.forget(work)

    def _later_wake(self, number: int, delay_s: float) -> None:
        self._loop.later(delay_s, lambda: wake(self._journal.state, number))

    def _later_wake_account(self, account: str, until_ms: int) -> None:
        """Look again when a limit has ended; before that where the clock was set back meanwhile."""
        left_s = (until_ms - self._clock.now_ms()) / 1000
        self._loop.later(min(max(0.0, left_s), _LOOK_AGAIN_S), lambda: self._wake_account(account))

    def _wake_account(self, account: str) -> None:
        state = self._journal.state
        until_ms = state.limited.get(account, 0)
        if until_ms > self._clock.now_ms():
            self._later_wake_account(account, until_ms)
        else:
            wake_account(state, account)
