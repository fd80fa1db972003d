"""The place of one slot's worker: at most one process, at most one call.

Hires a worker when a call needs one, sends the call, and dismisses a worker that is made for other calls, has grown or
has left processes. Knows the worker's line and its supervisor; must not know why a call is made. All of it is called
from the driver's loop.
"""

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from budwood._core.model import AttemptPhase, Outcome
from budwood.errors import ExecutorError
from budwood.executors.base import Work
from budwood.executors.local.ground import Ground
from budwood.executors.local.leftovers import read_log
from budwood.executors.local.line import Line
from budwood.executors.local.outcome import NO_ROOM, lost_outcome
from budwood.executors.local.supervisor import Supervisor
from budwood.executors.local.sweep import Swept
from budwood.executors.local.wire import Begun, Cancel, Deadline, Ended, Forget, FromSupervisor, Refused
from budwood.executors.local.workers import endings, live_log
from budwood.executors.local.workers.ahead import Ahead
from budwood.executors.local.workers.costs import keep_cost, read_cost
from budwood.executors.local.workers.door import Door
from budwood.executors.local.workers.identity import Identity, split, start_message
from budwood.executors.local.workers.wire import Told, ask, decode
from budwood.executors.local.workers.worker import OpenCall, Worker

BEGUN_AFTER_S = 0.1
"""A call that has run for so long is told to have begun; of a shorter one the end says all."""
_COMES_WITHIN_S = 60.0
_GOES_WITHIN_S = 1.0
_DEATHS = 3
"""Workers that died so often before they could be given a call will not start at all."""


class Bench:
    """One slot, as far as calls are concerned."""

    def __init__(
        self,
        number: int,
        ground: Ground,
        *,
        take_token: Callable[[], tuple[bool, int | None]],
        ahead: Ahead,
        on_end: Callable[[str, Outcome, bytes | None, bool], None],
        on_taken: Callable[["Bench", str], None],
    ) -> None:
        self.number = number
        self.call: OpenCall | None = None
        self.waits_for_token = False
        self._closing = False
        self._ground = ground
        self._take_token = take_token
        self._ahead = ahead
        self._on_end = on_end
        self._on_taken = on_taken
        self._worker: Worker | None = None
        self._hired = count(1)
        self._deaths = 0
        self._supervisor = Supervisor(
            f"w{number}",
            ground,
            on_ready=self.advance,
            on_message=self._hear,
            on_gone=self._lose_supervisor,
            on_no_room=self._no_room,
        )

    # --- what the driver asks ---

    def start(self, work: Work) -> None:
        """Take a call; it is sent at once where the right worker waits."""
        if self.call is not None:
            raise ExecutorError(f"slot {self.number} was given {work.id} while {self.call.work.id} ran in it")
        identity, env = split(work)
        self.call = OpenCall(work, identity, env)
        self.advance()

    def cancel(self, work_id: str) -> None:
        """End the call, if it is still the open one."""
        call = self.call
        if call is None or call.work.id != work_id or call.answer is not None:
            return
        if call.sent_at is None:
            self.call, self.waits_for_token = None, False
            outcome = Outcome(phase=AttemptPhase.CANCELLED, error_type="cancelled", message="cancelled before it began")
            self._ground.loop.later(0.0, lambda: self._on_end(call.work.id, outcome, b"", False))
        else:
            call.cancelled = True
            self._press()

    def advance(self) -> None:
        """Do the next thing that brings a waiting call to a worker."""
        call, worker = self.call, self._worker
        if call is None or call.sent_at is not None:
            return
        if worker is None:
            if self._supervisor.greeted:
                self._hire(call.identity)
            else:
                self._supervisor.call()
        elif worker.leaving_at is None and worker.identity != call.identity:
            self._dismiss(worker)
        elif worker.is_ready:
            self._send(call, worker)

    @property
    def is_losing_its_worker(self) -> bool:
        """Say whether its worker is about to end: what that takes from the bag now would end with it."""
        return self._worker is not None and self._worker.leaving_at is not None

    def tick(self, now: float) -> bool:
        """Do what is due now and then; say whether there is more to come."""
        call, worker = self.call, self._worker
        if worker is None:
            return call is not None
        if call is not None and call.sent_at is not None and not call.shown and now - call.sent_at >= BEGUN_AFTER_S:
            self._tell_begun(call, worker, worker.at_ms(call.sent_at))
        if call is None and worker.deadline:
            self._limit_time(worker, None)
        late = now - worker.hired_at > _COMES_WITHIN_S and not worker.came
        if late or (worker.leaving_at is not None and now - worker.leaving_at > _GOES_WITHIN_S):
            self._press()
        return call is not None or worker.leaving_at is not None

    def _tell_begun(self, call: OpenCall, worker: Worker, at_ms: int) -> None:
        call.shown = True
        live_log.show(self._ground.place.paths, call.work.id, worker=worker.id)
        if not call.told:
            call.told = True
            self._ground.sink.begun(call.work.id, pid=worker.pid, at_ms=at_ms)

    def hang_up(self) -> None:
        """Let an idle worker go; a busy one goes with the connection of its driver."""
        self._closing = True
        if self._worker is not None:
            self._dismiss(self._worker)

    def is_leaving(self, within_s: float) -> bool:
        """Wait a while for a dismissed worker's end, without the loop; say whether it may still come."""
        if self.call is not None or self._worker is None:
            return False
        return self._supervisor.hear(within_s) and self._worker is not None

    def leave(self) -> None:
        """Hang up on the supervisor; it ends what is still there and exits."""
        if self.call is not None:
            self._let_go(self.call)
        self._supervisor.leave()

    # --- the worker ---

    def _hire(self, identity: Identity) -> None:
        ground = self._ground
        path = ground.place.paths.door(self._supervisor.name)
        # The fencing number tells it from the workers of every other driver.
        worker = Worker(f"w{self.number}.{ground.fence}.{next(self._hired)}", identity, time.monotonic())
        worker.door = Door(path, loop=ground.loop, on_enter=lambda line: self._let_in(worker, line))
        self._worker = worker
        self._supervisor.send(start_message(identity, ground.place, worker=worker.id, door=path, fence=ground.fence))

    def _let_in(self, worker: Worker, line: Line) -> None:
        worker.line = line
        line.attach(
            self._ground.loop,
            on_line=lambda text: self._listen(worker, text),
            on_gone=lambda: self._hung_up(worker),
        )

    def _listen(self, worker: Worker, text: bytes) -> None:
        told = decode(text)
        if worker.line is None or (told is not None and worker.came and self._take_answer(worker, told)):
            return
        if told is not None and not worker.came and told.id == worker.id:
            worker.came = True
            self._deaths = 0
            self.advance()
        else:  # a function wrote on the line: nothing that comes after can be believed
            worker.hang_up()
            self._press()

    def _hung_up(self, worker: Worker) -> None:
        worker.line = None
        if worker.leaving_at is None:
            worker.leaving_at = time.monotonic()

    def _dismiss(self, worker: Worker) -> None:
        """Let a worker go in its own way: it sees that its driver hung up."""
        worker.dismissed = True
        worker.leaving_at = worker.leaving_at or time.monotonic()
        worker.hang_up()

    def _press(self) -> None:
        worker = self._worker
        if worker is not None and not worker.pressed:
            worker.pressed = True
            worker.leaving_at = worker.leaving_at or time.monotonic()
            self._supervisor.send(Cancel(self._ground.fence, worker.id))

    # --- the call ---

    def _send(self, call: OpenCall, worker: Worker) -> None:
        free, call.token = self._take_token()
        self.waits_for_token = not free
        if not free:
            return
        work = call.work
        assert worker.line is not None
        if work.timeout_s is not None or worker.deadline:
            self._limit_time(worker, work.timeout_s)
        call.sent_at = time.monotonic()
        bag = self._ahead.bag_for(call)
        fds = () if bag is None or bag is worker.bag else (bag.fd,)
        worker.bag = bag or worker.bag
        worker.line.send(ask(call, ahead=bag is not None), fds=fds)

    def _limit_time(self, worker: Worker, in_s: float | None) -> None:
        worker.deadline = in_s is not None
        self._supervisor.send(Deadline(self._ground.fence, worker.id, in_s))

    def _take_answer(self, worker: Worker, told: Told) -> bool:
        """Take what a worker says of the open call; False if it is of no call that was made."""
        call = self.call
        if call is None or call.sent_at is None or call.work.id != told.id:
            return False
        outcome = endings.answered(told, pid=worker.pid, began_at_ms=worker.at_ms(call.sent_at))
        log = read_log(self._ground.place.paths.attempt(told.id)) if told.log is None else told.log.encode()
        filed = (told.usage is not None and self._keep_cost(call, worker)) or told.log is None
        if told.leaves:
            call.answer = (outcome, log, filed)
            worker.leaving_at = time.monotonic()
            return True
        if told.memory_bytes > worker.identity.replaced_above_bytes:
            self._dismiss(worker)
        self._ahead.note_pace(told)
        # First of all: from here on, nobody may take the worker for one that holds nothing.
        following = None if told.next is None else self._ahead.take(told.next, worker.bag)
        self._finish(call, outcome, log=log, filed=filed)
        if following is not None:
            self._go_on_with(following)
        return told.next is None or following is not None

    def _go_on_with(self, call: OpenCall) -> None:
        """Note that the worker makes the next call by itself."""
        self.call = call
        call.sent_at = time.monotonic()
        self._on_taken(self, call.work.id)

    def _keep_cost(self, call: OpenCall, worker: Worker) -> bool:
        """Keep what a call said of its cost for the next driver, until it is forgotten; say whether there was room."""
        paths = self._ground.place.paths
        with suppress(OSError):  # of a full disk; if we live to record the end, nothing is lost
            keep_cost(paths.attempt(worker.id), call.work.id, directory=paths.attempt(call.work.id))
            return True
        return False

    def _finish(self, call: OpenCall, outcome: Outcome, *, log: bytes | None, filed: bool) -> None:
        self.call = None
        self._let_go(call)
        outcome, log = endings.of_call(outcome, log, mask=call.work.mask)
        self._on_end(call.work.id, outcome, log, filed)

    def _let_go(self, call: OpenCall) -> None:
        """Give back what a call has while it is made."""
        if call.token is not None:
            os.close(call.token)
            call.token = None
        if call.shown:
            call.shown = False
            live_log.hide(self._ground.place.paths, call.work.id)

    # --- the supervisor ---

    def _hear(self, message: FromSupervisor) -> None:
        worker = self._worker
        match message:
            case Begun() if worker is not None and worker.id == message.attempt:
                worker.pid, worker.began_at_ms, worker.began = message.pid, message.at_ms, time.monotonic()
                self.advance()
            case Ended() if worker is not None and worker.id == message.attempt:
                self._take_end(worker, message)
            case Refused(reason="retired" | "busy"):
                self._drop_worker()  # the supervisor is about to leave; the next one is asked
            case Refused(attempt=str() as name):
                raise ExecutorError(f"the supervisor of slot w{self.number} refused {name}: {message.message}")
            case _:
                pass

    def _drop_worker(self) -> None:
        if self._worker is not None:
            self._worker.hang_up()
            self._worker = None

    def _take_end(self, worker: Worker, message: Ended) -> None:
        # An answer that came before the end counts, whichever of the two lines was heard first.
        while worker.line is not None and worker.line.hear():
            pass
        self._ahead.note_death(worker.bag)
        self._drop_worker()
        directory = self._ground.place.paths.attempt(worker.id)
        self._settle(worker, message)
        self._supervisor.send(Forget(self._ground.fence, (str(directory),)))
        if message.result.retired:
            self._ground.sink.retired(self.number, reason=message.result.retirement)
        self.advance()

    def _settle(self, worker: Worker, message: Ended) -> None:
        call, result = self.call, message.result
        if call is None:
            return
        if call.answer is not None:
            outcome, log, filed = call.answer
            self._finish(call, endings.cleared(outcome, result), log=log, filed=filed)
        elif call.sent_at is None:
            self._count_death(call, worker, message)
        elif result.outcome == "timed_out" and not self._is_over_time(call):
            self._make_again(call, worker)
        else:
            hung_up = worker.pressed and not call.cancelled
            self._bury(call, worker, endings.died(result, limit_s=call.work.timeout_s, hung_up=hung_up))

    def _make_again(self, call: OpenCall, worker: Worker) -> None:
        """Make a call again that was ended by the limit of the one before it, unless it has cost something."""
        if read_cost(self._ground.place.paths.attempt(worker.id), call.work.id) is not None:
            self._bury(call, worker, endings.struck())
        else:
            call.sent_at = None
            self._let_go(call)

    def _is_over_time(self, call: OpenCall) -> bool:
        limit_s = call.work.timeout_s
        return limit_s is not None and call.sent_at is not None and time.monotonic() - call.sent_at >= limit_s

    def _count_death(self, call: OpenCall, worker: Worker, message: Ended) -> None:
        """Note that a worker ended before it was given the call; give up where none will ever start."""
        if worker.came or worker.dismissed:
            return
        self._deaths += 1
        if message.result.outcome in ("spawn", "fault") or self._deaths >= _DEATHS:
            self._deaths = 0
            said, _, _ = endings.read_call_log(self._ground.place.paths.attempt(worker.id), worker.identity)
            said = said or (message.log or "").encode()
            self._finish(call, endings.never_came(message.result, said=said), log=said, filed=False)

    def _bury(self, call: OpenCall, worker: Worker, outcome: Outcome) -> None:
        """Tell of a call whose worker died in it; nothing that it printed, or said of its cost, is lost."""
        assert call.sent_at is not None
        paths = self._ground.place.paths
        log, size, dropped = endings.read_call_log(paths.attempt(worker.id), worker.identity)
        usage = read_cost(paths.attempt(worker.id), call.work.id)
        outcome = endings.located(
            outcome,
            pid=worker.pid,
            began_at_ms=worker.at_ms(call.sent_at),
            wall_s=round(time.monotonic() - call.sent_at, 6),
            output_bytes=size,
            dropped_bytes=dropped,
            usage=usage,
        )
        kept = endings.store_log(paths.attempt(call.work.id), log)
        filed = (usage is not None and self._keep_cost(call, worker)) or kept is None
        self._finish(call, outcome, log=kept, filed=filed)

    def _lose_supervisor(self) -> None:
        """Settle what a supervisor left that was killed: its worker may live."""
        worker = self._worker
        if self._closing:
            return
        if worker is None:
            self.advance()
            return
        while worker.line is not None and worker.line.hear():
            pass
        self._dismiss(worker)
        self._ground.sweeper.sweep(self._ground.place.mark(worker.id), lambda swept: self._settle_lost(worker, swept))

    def _no_room(self) -> None:
        """Give back a call that waits for a supervisor that the disk has no room for."""
        call = self.call
        if call is not None and call.sent_at is None:
            self.call, self.waits_for_token = None, False
            self._on_end(call.work.id, NO_ROOM, b"", False)

    def _settle_lost(self, worker: Worker, swept: Swept) -> None:
        self._ahead.note_death(worker.bag)
        self._worker = None
        call = self.call
        if call is not None and call.answer is not None:
            outcome, log, filed = call.answer
            self._finish(call, outcome, log=log, filed=filed)
        elif call is not None and call.sent_at is not None:
            self._bury(call, worker, lost_outcome(swept.left_running, usage=None))
        shutil.rmtree(self._ground.place.paths.attempt(worker.id), ignore_errors=True)
        self.advance()
