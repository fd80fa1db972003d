"""An executor that gives attempts workspaces and keeps what they left, around one that runs them.

Both take time, so they are done in threads: a workspace is made before an attempt is handed on, and what it left is
kept before its end is told. Killed in between, nothing is lost: both are done again by the next driver. Knows the
contract of executors and the bench; must not know git or agents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from budwood._core.commands import Chore
from budwood._core.events import Event
from budwood._core.model import AgentTerms, AttemptPhase, Outcome, Reviewer, RunSettings
from budwood.engine.inbox import Inbox
from budwood.engine.workshop.later import TRIES, Later, due, every_later, is_later, joined, later_id
from budwood.engine.workshop.orders import Order
from budwood.errors import BudwoodError
from budwood.executors.base import Executor, Loop, Recovered, Sink, Work

if TYPE_CHECKING:  # runs without workspaces start sooner without these
    from concurrent.futures import Future

    from budwood.engine.workshop.bench import Bench

Result = TypeVar("Result")
_THREADS = 8
_UNKEPT = Outcome(
    phase=AttemptPhase.FAILED, error_type="setup", message="it calls a function, which no sandbox is made for"
)
_UNBEGUN = Outcome(phase=AttemptPhase.CANCELLED, error_type="cancelled", message="cancelled before it began")


class Workshop(Executor):
    """Runs orders through another executor; other work goes straight to it."""

    def __init__(self, inner: Executor, equip: "Callable[[str, RunSettings], Bench]") -> None:
        self._inner = inner
        self._equip = equip
        """Makes the bench of a run that wants one, from its name and settings."""
        self._equipped: Bench | None = None
        self._agents: dict[str, AgentTerms] = {}
        self._orders: dict[str, Order] = {}
        self._preparing: set[str] = set()
        self._cancelled: set[str] = set()
        self._later: dict[str, Later] = {}
        """By the work that is done now, what is done about what attempts made."""
        self._tidying = 0
        """How many things are yet to be done that nothing waits for."""
        self._recovering: dict[str, tuple[Outcome, bytes | None]] | None = None
        self._inbox: Inbox | None = None
        self._keeps_in = False

    def open(self, fence: int, *, loop: Loop, sink: Sink) -> None:
        self._loop, self._sink = loop, sink
        self._inner.open(fence, loop=loop, sink=self)

    def attend(self, name: str, settings: RunSettings) -> None:
        self._inner.attend(name, settings)
        self._keeps_in = settings.sandbox != "none"
        if settings.workspace is None:
            return
        # An agent that the run has no more may have an attempt that goes on.
        self._agents = {**self._agents, **settings.agents}
        self._equipped = self._equip(name, msgspec.structs.replace(settings, agents=self._agents))
        if self._inbox is not None:
            return
        from concurrent.futures import ThreadPoolExecutor

        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="workspace")
        self._tidier = ThreadPoolExecutor(1, thread_name_prefix="tidier")
        self._inbox = Inbox(self._loop)

    @property
    def _bench(self) -> "Bench":
        assert self._equipped is not None
        return self._equipped

    def recover(self, open_attempts: Iterable[Work]) -> dict[str, Recovered]:
        works = list(open_attempts)
        if self._equipped is None:
            return self._inner.recover(works)
        self._orders = {work.id: work for work in works if isinstance(work, Order)}
        self._recovering = {}
        found = self._inner.recover([*works, *every_later(self._orders.values())])
        ended, self._recovering = self._recovering, None
        finished = {
            order.id: self._threads.submit(self._bench.finish, order, *ended[order.id])
            for order in self._orders.values()
            if order.id in ended
        }
        for work_id, future in finished.items():
            order, log = self._orders[work_id], ended[work_id][1]
            found[work_id] = self._recover_later(order, future.result(), log, found=found, ended=ended)
        for work_id in self._orders:
            if found[work_id] is Recovered.UNSENT:
                self._bench.release(work_id)
        self._bench.tidy(self._orders.keys())
        return {work.id: found[work.id] for work in works}

    def _recover_later(
        self,
        order: Order,
        made: Outcome,
        log: bytes | None,
        *,
        found: Mapping[str, Recovered],
        ended: Mapping[str, tuple[Outcome, bytes | None]],
    ) -> Recovered:
        """Go on with an attempt whose steps have ended: what is done about what it made may be done, or going on."""
        while (kind := due(order, made)) is not None:
            number = max((n for n in TRIES if found[later_id(order.id, kind, n)] is not Recovered.UNSENT), default=0)
            later = Later(order, made, log, kind, max(number, 1))
            if number == 0 and (known := self._bench.known(later)) is not None:
                made = known  # what comes after it may be going on already
                continue
            if number == 0:
                self._begin(later)
                return Recovered.ADOPTED
            if found[later.id] is not Recovered.ENDED:
                self._later[later.id] = later
                return Recovered.ADOPTED
            outcome, more = ended[later.id]
            if later.is_lost(outcome):
                self._begin(later._replace(number=number + 1))
                return Recovered.ADOPTED
            made, log = self._bench.finish_later(later, outcome), joined(log, more)
        self._sink.ended(order.id, made, log=log)
        return Recovered.ENDED

    def start(self, work: Work) -> None:
        if not isinstance(work, Order):
            if self._keeps_in:  # a strategy asked for it; a plan with calls is refused before it starts
                self._loop.later(0.0, lambda: self._sink.ended(work.id, _UNKEPT, log=b""))
            else:
                self._inner.start(work)
            return
        self._orders[work.id] = work
        self._preparing.add(work.id)
        self._in_thread(lambda: self._bench.prepare(work), then=lambda made: self._prepared(work, made))

    def _prepared(self, order: Order, made: Work | Outcome) -> None:
        self._preparing.discard(order.id)
        is_cancelled = order.id in self._cancelled
        self._cancelled.discard(order.id)
        if isinstance(made, Outcome):
            self._sink.ended(order.id, made, log=b"")
        elif is_cancelled:
            self.ended(order.id, _UNBEGUN, log=b"")
        else:
            self._inner.start(made)

    def room_ahead(self) -> int:
        return self._inner.room_ahead()

    def send_ahead(self, work: Work) -> bool:
        return self._inner.send_ahead(work)

    def take_back_first(self) -> str | None:
        return self._inner.take_back_first()

    def take_back(self) -> list[str]:
        return self._inner.take_back()

    def cancel(self, work_id: str) -> None:
        if work_id in self._preparing:
            self._cancelled.add(work_id)
        else:
            self._inner.cancel(next((id for id, each in self._later.items() if each.order.id == work_id), work_id))

    def forget(self, work_id: str) -> None:
        order = self._orders.pop(work_id, None)
        self._inner.forget(work_id)
        if order is not None:
            for each in every_later([order]):
                self._inner.forget(each.id)
            self._tidy_up(lambda: self._bench.hand_back(work_id))

    def accept(self, lane: str, commit: str) -> None:
        if self._equipped is not None:
            self._tidy_up(lambda: self._bench.accept(lane, commit))

    def land(self, chore: Chore) -> None:
        self._in_thread(lambda: self._bench.do(chore), then=self._sink.landed)

    @property
    def is_busy(self) -> bool:
        return self._tidying > 0 or self._inner.is_busy

    def close(self) -> None:
        self._inner.close()
        if self._inbox is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)  # the next driver may want the same directories
            self._tidier.shutdown(wait=True)
            self._inbox.close()

    # --- what the inner executor tells ---

    def begun(self, work_id: str, *, pid: int, at_ms: int) -> None:
        """Pass it on, but for what is done about what it made: the attempt had begun before."""
        if not is_later(work_id):
            self._sink.begun(work_id, pid=pid, at_ms=at_ms)

    def taken(self, work_id: str, *, slot: int) -> None:
        """Pass it on."""
        self._sink.taken(work_id, slot=slot)

    def ended(self, work_id: str, outcome: Outcome, *, log: bytes | None) -> None:
        """Keep what it left; then tell."""
        order = self._orders.get(work_id)
        if self._recovering is not None and (order is not None or is_later(work_id)):
            self._recovering[work_id] = (outcome, log)
        elif work_id in self._later:
            self._later_ended(self._later.pop(work_id), outcome, log)
        elif order is None:
            self._sink.ended(work_id, outcome, log=log)
        else:
            self._preparing.add(work_id)
            self._in_thread(
                lambda: self._bench.finish(order, outcome, log), then=lambda made: self._finished(order, made, log)
            )

    def _finished(self, order: Order, made: Outcome, log: bytes | None) -> None:
        """Tell how an attempt ended, or do first what is to be done about what it made."""
        self._preparing.discard(order.id)
        if order.id in self._cancelled:
            self._cancelled.discard(order.id)
            made = msgspec.structs.replace(made, phase=AttemptPhase.CANCELLED, error_type="cancelled")
        kind = due(order, made)
        if kind is None:
            self._sink.ended(order.id, made, log=log)
        else:
            self._begin(Later(order, made, log, kind, number=1))

    def _begin(self, later: Later) -> None:
        order = later.order
        self._preparing.add(order.id)
        if later.kind == "score":
            self._sink.scoring(order.id)
        elif isinstance(order.reviewer, Reviewer):
            self._sink.reviewing(order.id, agent=order.reviewer.agent)
        self._in_thread(lambda: self._bench.begin_later(later), then=lambda work: self._later_prepared(later, work))

    def _later_prepared(self, later: Later, work: Work | Outcome) -> None:
        order = later.order
        if isinstance(work, Outcome) or order.id in self._cancelled:
            self._finished(order, work if isinstance(work, Outcome) else later.made, later.log)
        else:
            self._preparing.discard(order.id)
            self._later[work.id] = later
            self._inner.start(work)

    def _later_ended(self, later: Later, outcome: Outcome, log: bytes | None) -> None:
        """Go on with what came of it; what was lost on the way is done again."""
        if later.is_lost(outcome):
            self._begin(later._replace(number=later.number + 1))
            return
        order = later.order
        self._preparing.add(order.id)
        self._in_thread(
            lambda: self._bench.finish_later(later, outcome),
            then=lambda made: self._finished(order, made, joined(later.log, log)),
        )

    def scoring(self, work_id: str) -> None:
        """Pass it on."""
        self._sink.scoring(work_id)

    def reviewing(self, work_id: str, *, agent: str) -> None:
        """Pass it on."""
        self._sink.reviewing(work_id, agent=agent)

    def landed(self, events: Sequence[Event]) -> None:
        """Pass it on."""
        self._sink.landed(events)

    def retired(self, slot: int, *, reason: str) -> None:
        """Pass it on."""
        self._sink.retired(slot, reason=reason)

    def _tidy_up(self, call: Callable[[], None]) -> None:
        """Do what no task waits for, in order; the next driver does it again if it fails."""
        inbox = self._inbox
        assert inbox is not None
        self._tidying += 1

        def tidy() -> None:
            try:
                call()
            except (BudwoodError, OSError) as error:
                self.say(f"warning: {error}")

        self._tidier.submit(tidy).add_done_callback(lambda _: inbox.put(self._tidied))

    def _tidied(self) -> None:
        self._tidying -= 1

    def _in_thread(self, call: Callable[[], Result], *, then: Callable[[Result], None]) -> None:
        """Do something in a thread, and go on with what it gave in the loop, where its errors are raised."""
        inbox = self._inbox
        assert inbox is not None

        def over(done: "Future[Result]") -> None:
            if not done.cancelled():
                inbox.put(lambda: then(done.result()))

        self._threads.submit(call).add_done_callback(over)
