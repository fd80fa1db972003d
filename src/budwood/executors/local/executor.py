"""The local executor: one native supervisor per slot, found again by the next driver.

Starts supervisors when a slot first gets work, hands attempts over, and settles what a dead supervisor left. Calls of
functions go to `workers`. Knows the supervisor protocol; must not know why an attempt runs. Everything here is called
from the driver's loop.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import close as close_fd
from pathlib import Path

from budwood._core.masking import mask_bytes, maskable
from budwood._core.model import AttemptPhase, Outcome
from budwood.errors import ExecutorError
from budwood.executors.base import Executor, Loop, Recovered, Sink, Work
from budwood.executors.environment import clean
from budwood.executors.local.access import Access
from budwood.executors.local.ground import Ground, Place
from budwood.executors.local.leftovers import (
    INLINE_LOG_BYTES,
    STORED_LOG_BYTES,
    has_begun,
    log_size,
    raise_fence,
    read_log,
    read_result,
    read_usage_report,
)
from budwood.executors.local.outcome import LOST, LOST_CALL, NO_ROOM, Result, lost_outcome, read_outcome
from budwood.executors.local.paths import RunPaths
from budwood.executors.local.supervisor import Supervisor, reap_left
from budwood.executors.local.sweep import Sweeper, Swept
from budwood.executors.local.takeover import Greeted, greet_all
from budwood.executors.local.tokens import Tokens
from budwood.executors.local.wire import Begun, Cancel, Ended, Forget, FromSupervisor, HelloReply, Refused, Start
from budwood.executors.local.workers import Workers
from budwood.executors.local.workers.recovery import end_old_workers, is_of_workers, save_costs


@dataclass(slots=True)
class Slot:
    """One slot as the driver sees it."""

    number: int
    supervisor: Supervisor
    work: Work | None = None
    unsent: bool = False
    """The work waits for the supervisor's greeting or for a place on the machine."""
    forget: tuple[str, ...] = ()
    """Directories whose removal travels with the next start."""


class LocalExecutor(Executor):
    """Runs attempts on this machine."""

    def __init__(
        self,
        paths: RunPaths,
        *,
        run_id: str,
        binary: Path,
        environ: Mapping[str, str],
        tokens: Callable[[Loop], Tokens] | None = None,
        access: Access | None = None,
    ) -> None:
        self._paths = paths
        self._access = access
        self._place = Place(paths, run_id, binary, dict(environ), clean(environ))
        self._make_tokens = tokens
        self._tokens: Tokens | None = None
        self._opened = False
        self._slots: dict[int, Slot] = {}
        self._ran_in: dict[str, Slot] = {}
        """Which slot an attempt is or was in, until it is forgotten."""

    def open(self, fence: int, *, loop: Loop, sink: Sink) -> None:
        self._fence, self._loop, self._sink = fence, loop, sink
        reap_left()
        self._paths.attempts.mkdir(parents=True, exist_ok=True)
        self._paths.slots.mkdir(exist_ok=True)
        # Supervisors that are started from now on, by whomever, learn here which drivers are too old.
        raise_fence(self._paths.fence, fence)
        self._sweeper = Sweeper(self._place.binary, loop=loop)
        self._tokens = self._make_tokens(loop) if self._make_tokens is not None else None
        self._ground = Ground(self._place, fence, loop, sink, self._sweeper)
        self._workers = Workers(self._ground, tokens=self._tokens, when_free=self._send_waiting)
        self._opened = True

    def recover(self, open_attempts: Iterable[Work]) -> dict[str, Recovered]:
        works = {work.id: work for work in open_attempts}
        greeted = greet_all(self._paths, self._fence)
        old_workers = {name: answer for name, answer in greeted.items() if is_of_workers(name)}
        commands = [work for work in works.values() if work.call is None]
        calls = [work for work in works.values() if work.call is not None]
        busy = self._adopt({name: answer for name, answer in greeted.items() if name not in old_workers})
        found = self._recover_commands(commands, busy)
        swept = end_old_workers(self._ground, old_workers, grace_s=max((work.grace_s for work in calls), default=0.0))
        costs = save_costs(self._paths, calls)
        found |= {work.id: self._recover_call(work, swept, has_cost=work.id in costs) for work in calls}
        for stray in busy.keys() - works.keys():  # its end is in the store already, or nobody has ever heard of it
            self._cancel_in(busy[stray], stray)
        self._clear_forgotten({work.id for work in commands} | busy.keys() | costs)
        return found

    def _adopt(self, greeted: Greeted) -> dict[str, Slot]:
        """Take supervisors of commands over; return the slots of those that are busy, by what they are busy with."""
        busy: dict[str, Slot] = {}
        for name, (link, reply) in greeted.items():
            slot = self._slot(int(name))
            slot.supervisor.adopt(link)
            if reply.attempt is not None:
                busy[reply.attempt] = slot
                self._report_running(reply.attempt, reply)
        return busy

    def _report_running(self, work_id: str, reply: HelloReply) -> None:
        if reply.pid_of_step is not None and reply.begun_at_ms is not None:
            self._sink.begun(work_id, pid=reply.pid_of_step, at_ms=reply.begun_at_ms)

    def _recover_commands(self, works: Iterable[Work], busy: Mapping[str, Slot]) -> dict[str, Recovered]:
        found: dict[str, Recovered] = {}
        open_ends: list[Work] = []
        for work in works:
            if work.id in busy:
                self._put(work, busy[work.id])
                found[work.id] = Recovered.ADOPTED
            elif self._report_result(work):
                found[work.id] = Recovered.ENDED
            else:
                open_ends.append(work)
        marks = [self._place.mark(work.id) for work in open_ends]
        for work, swept in zip(open_ends, self._sweeper.sweep_now(marks), strict=True):
            # Where its directory was removed, a process that carries its mark tells that it had begun.
            if work.begun or has_begun(self._paths.attempt(work.id)) or swept.ended or swept.left:
                found[work.id] = Recovered.ENDED
                self._report_lost(work, swept)
            else:
                found[work.id] = Recovered.UNSENT
        return found

    def _recover_call(self, work: Work, swept: Swept, *, has_cost: bool) -> Recovered:
        """Have a call made again: a function can be repeated.

        Where it has cost something, or something of it cannot be ended, that is another attempt.
        """
        if swept.left or has_cost:
            self._report_lost(work, swept)
            return Recovered.ENDED
        return Recovered.UNSENT

    def _cancel_in(self, slot: Slot, work_id: str) -> None:
        slot.supervisor.send(Cancel(self._fence, work_id))

    def _clear_forgotten(self, wanted: Iterable[str]) -> None:
        """Remove what ended attempts left: their ends are in the store, and the driver died before it could say so."""
        keep = set(wanted)
        for directory in self._paths.attempts.iterdir():
            if directory.name not in keep and log_size(directory) <= STORED_LOG_BYTES:
                shutil.rmtree(directory, ignore_errors=True)

    def start(self, work: Work) -> None:
        if work.call is not None:
            self._workers.start(work)
            return
        slot = self._slot(work.slot)
        self._put(work, slot)
        slot.unsent = True
        slot.supervisor.call()
        self._send_work(slot)

    def room_ahead(self) -> int:
        return self._workers.room_ahead()

    def send_ahead(self, work: Work) -> bool:
        return self._workers.send_ahead(work)

    def take_back_first(self) -> str | None:
        return self._workers.take_back_first()

    def take_back(self) -> list[str]:
        return self._workers.take_back()

    def cancel(self, work_id: str) -> None:
        slot = self._ran_in.get(work_id)
        if self._workers.cancel(work_id) or slot is None or slot.work is None or slot.work.id != work_id:
            return
        if slot.unsent:
            slot.work, slot.unsent = None, False
            outcome = Outcome(phase=AttemptPhase.CANCELLED, error_type="cancelled", message="cancelled before it began")
            self._loop.later(0.0, lambda: self._sink.ended(work_id, outcome, log=b""))
        else:
            self._cancel_in(slot, work_id)

    def forget(self, work_id: str) -> None:
        if self._workers.forget(work_id):
            return
        directory = self._paths.attempt(work_id)
        slot = self._ran_in.pop(work_id, None)
        if slot is not None and slot.supervisor.is_there:
            slot.forget = (*slot.forget, str(directory))
        else:
            shutil.rmtree(directory, ignore_errors=True)

    def close(self) -> None:
        if self._opened:
            self._workers.close()
        for slot in self._slots.values():
            if slot.forget:
                slot.supervisor.send(Forget(self._fence, slot.forget))
            slot.supervisor.leave()
        if self._tokens is not None:
            self._tokens.rest()
        reap_left()

    # What follows is between this and the supervisors.

    def _slot(self, number: int) -> Slot:
        if number not in self._slots:
            supervisor = Supervisor(
                str(number),
                self._ground,
                on_ready=lambda: self._send_work(slot),
                on_message=lambda message: self._hear(slot, message),
                on_gone=lambda: self._gone(slot),
                on_no_room=lambda: self._no_room(slot),
            )
            slot = self._slots[number] = Slot(number, supervisor)
        return self._slots[number]

    def _put(self, work: Work, slot: Slot) -> None:
        slot.work = work
        self._ran_in[work.id] = slot

    def _send_work(self, slot: Slot) -> None:
        work = slot.work
        if work is None or not slot.unsent or not slot.supervisor.greeted:
            return
        fds: tuple[int, ...] = ()
        if self._tokens is not None:
            token = self._tokens.take()
            if token is None:
                self._tokens.when_free(self._send_waiting)
                return
            fds = (token,)
        slot.unsent = False
        slot.supervisor.send(self._start_message(slot, work), fds=fds)
        slot.forget = ()
        for fd in fds:
            close_fd(fd)

    def _send_waiting(self) -> None:
        """Try again for those that wait for a place on the machine."""
        assert self._tokens is not None
        for slot in self._slots.values():
            self._send_work(slot)
        calls_wait = self._workers.advance()
        if not calls_wait and not any(slot.unsent and slot.supervisor.greeted for slot in self._slots.values()):
            self._tokens.rest()

    def _start_message(self, slot: Slot, work: Work) -> Start:
        directory = str(self._paths.attempt(work.id))
        env = self._place.environment(work.env_pass, work.env)
        env["BUDWOOD_MARK"] = self._place.mark(work.id)
        env["BUDWOOD_USAGE"] = f"{directory}/usage.json"
        mask = work.mask
        if self._access is not None:
            env["BUDWOOD_ACCESS"] = str(self._access.file)
            env["BUDWOOD_TOKEN"] = self._access.token(work.id)
            mask += self._access.secrets(work.id)
        return Start(
            fence=self._fence,
            attempt=work.id,
            dir=directory,
            cwd=work.cwd,
            env=env,
            steps=work.steps,
            timeout_s=work.timeout_s,
            grace_s=work.grace_s,
            memory_bytes=work.memory_bytes,
            head_bytes=work.output_bytes // 2,
            tail_bytes=work.output_bytes - work.output_bytes // 2,
            contain=work.contain,
            forget=slot.forget,
            inline_log_bytes=INLINE_LOG_BYTES,
            mask=maskable(mask),
        )

    def _hear(self, slot: Slot, message: FromSupervisor) -> None:
        match message:
            case Begun():
                self._sink.begun(message.attempt, pid=message.pid, at_ms=message.at_ms)
            case Ended():
                self._take_end(slot, message)
            case Refused():
                self._refused(slot, message)

    def _take_end(self, slot: Slot, message: Ended) -> None:
        if slot.work is None or slot.work.id != message.attempt:
            # Of a driver before this one, and settled already: its supervisor may drop it and take what waits.
            slot.supervisor.send(Forget(self._fence, (str(self._paths.attempt(message.attempt)),)))
            self._send_work(slot)
            return
        slot.work = None
        log = None if message.log is None else message.log.encode()
        self._report(message.attempt, message.result, log)
        if message.result.retired:
            self._sink.retired(slot.number, reason=message.result.retirement)

    def _report(self, work_id: str, result: Result, log: bytes | None) -> None:
        if log is None:
            log = read_log(self._paths.attempt(work_id))
        self._sink.ended(work_id, read_outcome(result), log=log)

    def _report_result(self, work: Work) -> bool:
        result = read_result(self._paths.attempt(work.id))
        if result is not None:
            self._report(work.id, result, None)
        return result is not None

    def _report_lost(self, work: Work, swept: Swept) -> None:
        directory = self._paths.attempt(work.id)
        why = LOST if work.call is None else LOST_CALL
        outcome = lost_outcome(swept.left_running, usage=read_usage_report(directory), why=why)
        log = read_log(directory)
        if log and work.call is not None:  # what its worker printed went past the supervisor
            log = mask_bytes(log, work.mask)
        self._sink.ended(work.id, outcome, log=log)

    def _refused(self, slot: Slot, message: Refused) -> None:
        if message.reason in ("retired", "busy") and slot.work is not None:
            slot.unsent = True  # its supervisor is about to leave, or to end what nobody wants; then it is sent again
        elif message.attempt is not None:
            raise ExecutorError(f"the supervisor of slot {slot.number} refused {message.attempt}: {message.message}")

    def _gone(self, slot: Slot) -> None:
        """Settle what a supervisor left that is gone."""
        for directory in slot.forget:
            shutil.rmtree(directory, ignore_errors=True)
        slot.forget = ()
        work = slot.work
        if work is None:
            return
        if self._report_result(work):
            slot.work = None
        elif has_begun(self._paths.attempt(work.id)):
            self._sweeper.sweep(self._place.mark(work.id), lambda swept: self._settle_lost(slot, work, swept))
        else:
            self.start(work)

    def _no_room(self, slot: Slot) -> None:
        """Give back what waits for a supervisor that the disk has no room for."""
        work = slot.work
        if work is not None:
            slot.work, slot.unsent = None, False
            self._sink.ended(work.id, NO_ROOM, log=b"")

    def _settle_lost(self, slot: Slot, work: Work, swept: Swept) -> None:
        slot.work = None
        self._report_lost(work, swept)
