"""The local executor: one native supervisor per slot, found again by the next driver.

Starts supervisors when a slot first gets work, hands attempts over, and settles what a dead supervisor left. Knows
the supervisor protocol; must not know why an attempt runs. Everything here is called from the driver's loop.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping
from os import close as close_fd
from pathlib import Path

from budwood._core.model import AttemptPhase, Outcome
from budwood.errors import ExecutorError, LeaseLost
from budwood.executors.base import Executor, Loop, Recovered, Sink, Work
from budwood.executors.local.environment import clean, passed
from budwood.executors.local.leftovers import (
    has_begun,
    is_alive,
    last_words,
    log_size,
    raise_fence,
    read_log,
    read_result,
    read_usage_report,
)
from budwood.executors.local.link import Link
from budwood.executors.local.outcome import Result, lost_outcome, read_outcome
from budwood.executors.local.paths import RunPaths, clear_runtime
from budwood.executors.local.slot import Slot, spawn_supervisor
from budwood.executors.local.sweep import Sweeper, Swept
from budwood.executors.local.takeover import greet_all
from budwood.executors.local.tokens import Tokens
from budwood.executors.local.wire import (
    Begun,
    Cancel,
    Ended,
    Exit,
    Forget,
    FromSupervisor,
    Hello,
    HelloReply,
    Refused,
    Start,
)

INLINE_LOG_BYTES = 64 * 1024
STORED_LOG_BYTES = 8 * 1024 * 1024
"""A log up to this size moves into the store; a larger one stays in the attempt's directory."""
_GONE_WITHIN_S = 5.0
_LOOK_AGAIN_S = 0.01
_STARTS = 3
"""A supervisor that dies so often before its greeting will not start at all."""


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
    ) -> None:
        self._paths = paths
        self._run_id = run_id
        self._binary = binary
        self._environ = dict(environ)
        self._base_env = clean(environ)
        self._make_tokens = tokens
        self._tokens: Tokens | None = None
        self._slots: dict[int, Slot] = {}
        self._ran_in: dict[str, Slot] = {}
        """Which slot an attempt is or was in, until it is forgotten."""

    def open(self, fence: int, *, loop: Loop, sink: Sink) -> None:
        self._fence, self._loop, self._sink = fence, loop, sink
        self._paths.attempts.mkdir(parents=True, exist_ok=True)
        self._paths.slots.mkdir(exist_ok=True)
        # Supervisors that are started from now on, by whomever, learn here which drivers are too old.
        raise_fence(self._paths.fence, fence)
        self._sweeper = Sweeper(self._binary, loop=loop)
        self._tokens = self._make_tokens(loop) if self._make_tokens is not None else None

    def recover(self, open_attempts: Iterable[Work]) -> dict[str, Recovered]:
        works = {work.id: work for work in open_attempts}
        busy: dict[str, Slot] = {}
        for number, (link, reply) in greet_all(self._paths, self._fence).items():
            slot = self._slots[number] = Slot(number, greeted=True)
            self._attach(slot, link)
            if reply.attempt is not None:
                busy[reply.attempt] = slot
                if reply.pid_of_step is not None and reply.begun_at_ms is not None:
                    self._sink.begun(reply.attempt, pid=reply.pid_of_step, at_ms=reply.begun_at_ms)
        found: dict[str, Recovered] = {}
        open_ends: list[Work] = []
        for work in works.values():
            if work.id in busy:
                self._put(work, busy[work.id])
                found[work.id] = Recovered.ADOPTED
            elif self._report_result(work):
                found[work.id] = Recovered.ENDED
            else:
                open_ends.append(work)
        for work, swept in zip(open_ends, self._sweeper.sweep_now(self._marks(open_ends)), strict=True):
            # Where its directory was removed, a process that carries its mark tells that it had begun.
            if work.begun or has_begun(self._paths.attempt(work.id)) or swept.ended or swept.left:
                found[work.id] = Recovered.ENDED
                self._report_lost(work, swept)
            else:
                found[work.id] = Recovered.UNSENT
        for stray in busy.keys() - works.keys():  # its end is in the store already, or nobody has ever heard of it
            self._cancel_in(busy[stray], stray)
        self._clear_forgotten(works.keys() | busy.keys())
        return found

    def _cancel_in(self, slot: Slot, work_id: str) -> None:
        if slot.link is not None:
            slot.link.send(Cancel(self._fence, work_id))

    def _marks(self, works: Iterable[Work]) -> list[str]:
        return [self._mark(work.id) for work in works]

    def _clear_forgotten(self, wanted: Iterable[str]) -> None:
        """Remove what ended attempts left: their ends are in the store, and the driver died before it could say so."""
        keep = set(wanted)
        for directory in self._paths.attempts.iterdir():
            if directory.name not in keep and log_size(directory) <= STORED_LOG_BYTES:
                shutil.rmtree(directory, ignore_errors=True)

    def start(self, work: Work) -> None:
        slot = self._slots.setdefault(work.slot, Slot(work.slot))
        self._put(work, slot)
        slot.unsent = True
        if slot.link is None:
            link = spawn_supervisor(slot, self._paths, binary=self._binary, env=self._base_env)
            self._attach(slot, link)
            link.send(Hello(self._fence))
        self._send_work(slot)

    def cancel(self, work_id: str) -> None:
        slot = self._ran_in.get(work_id)
        if slot is None or slot.work is None or slot.work.id != work_id:
            return
        if slot.unsent:
            slot.work, slot.unsent = None, False
            outcome = Outcome(phase=AttemptPhase.CANCELLED, error_type="cancelled", message="cancelled before it began")
            self._loop.later(0.0, lambda: self._sink.ended(work_id, outcome, log=b""))
        else:
            self._cancel_in(slot, work_id)

    def forget(self, work_id: str) -> None:
        directory = self._paths.attempt(work_id)
        slot = self._ran_in.pop(work_id, None)
        if slot is not None and slot.link is not None:
            slot.forget = (*slot.forget, str(directory))
        else:
            shutil.rmtree(directory, ignore_errors=True)

    def close(self) -> None:
        for slot in self._slots.values():
            if slot.link is not None:
                if slot.forget:
                    slot.link.send(Forget(self._fence, slot.forget))
                slot.link.send(Exit(self._fence))
                slot.link.close()
        if self._tokens is not None:
            self._tokens.rest()

    # What follows is between this and the supervisors.

    def _put(self, work: Work, slot: Slot) -> None:
        slot.work = work
        self._ran_in[work.id] = slot

    def _attach(self, slot: Slot, link: Link) -> None:
        slot.link = link
        link.attach(
            self._loop,
            on_message=lambda message: self._hear(slot, message),
            on_gone=lambda: self._gone(slot, waited_s=0.0),
        )

    def _send_work(self, slot: Slot) -> None:
        work, link = slot.work, slot.link
        if work is None or link is None or not slot.unsent or not slot.greeted:
            return
        fds: tuple[int, ...] = ()
        if self._tokens is not None:
            token = self._tokens.take()
            if token is None:
                self._tokens.when_free(self._send_waiting)
                return
            fds = (token,)
        slot.unsent = False
        link.send(self._start_message(slot, work), fds=fds)
        slot.forget = ()
        for fd in fds:
            close_fd(fd)

    def _send_waiting(self) -> None:
        """Try again for those that wait for a place on the machine."""
        assert self._tokens is not None
        for slot in self._slots.values():
            self._send_work(slot)
        if not any(slot.unsent and slot.greeted for slot in self._slots.values()):
            self._tokens.rest()

    def _start_message(self, slot: Slot, work: Work) -> Start:
        directory = str(self._paths.attempt(work.id))
        env = {**self._base_env, **passed(self._environ, work.env_pass), **work.env}
        env["BUDWOOD_MARK"] = self._mark(work.id)
        env["BUDWOOD_USAGE"] = f"{directory}/usage.json"
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
        )

    def _mark(self, work_id: str) -> str:
        return f"{self._run_id}:{work_id}"

    def _hear(self, slot: Slot, message: FromSupervisor) -> None:
        match message:
            case Begun():
                self._sink.begun(message.attempt, pid=message.pid, at_ms=message.at_ms)
            case Ended():
                self._take_end(slot, message)
            case HelloReply():
                slot.greeted = True
                self._send_work(slot)
            case Refused():
                self._refused(slot, message)

    def _take_end(self, slot: Slot, message: Ended) -> None:
        if slot.work is None or slot.work.id != message.attempt:
            # Of a driver before this one, and settled already: its supervisor may drop it and take what waits.
            if slot.link is not None:
                slot.link.send(Forget(self._fence, (str(self._paths.attempt(message.attempt)),)))
            self._send_work(slot)
            return
        slot.work = None
        log = None if message.log is None else message.log.encode()
        self._report(message.attempt, message.result, log)
        if message.result.retired:
            left = ", ".join(f"{survivor.pid} ({survivor.command})" for survivor in message.result.survivors)
            self._sink.retired(slot.number, reason=f"processes that cannot be killed: {left}")

    def _report(self, work_id: str, result: Result, log: bytes | None) -> None:
        if log is None:
            log = read_log(self._paths.attempt(work_id), limit_bytes=STORED_LOG_BYTES)
        self._sink.ended(work_id, read_outcome(result), log=log)

    def _report_result(self, work: Work) -> bool:
        result = read_result(self._paths.attempt(work.id))
        if result is not None:
            self._report(work.id, result, None)
        return result is not None

    def _report_lost(self, work: Work, swept: Swept) -> None:
        text = "it left no result: its supervisor was killed, or could not write"
        if swept.left:
            text += "; still running: " + ", ".join(f"{process.pid} ({process.command})" for process in swept.left)
        log = read_log(self._paths.attempt(work.id), limit_bytes=STORED_LOG_BYTES)
        usage = read_usage_report(self._paths.attempt(work.id))
        self._sink.ended(work.id, lost_outcome(text, usage=usage), log=log)

    def _refused(self, slot: Slot, message: Refused) -> None:
        if message.reason == "fence":
            raise LeaseLost(f"a newer driver (fence {message.fence}) has taken the supervisors over")
        if message.reason in ("retired", "busy") and slot.work is not None:
            slot.unsent = True  # its supervisor is about to leave, or to end what nobody wants; then it is sent again
        elif message.attempt is not None:
            raise ExecutorError(f"the supervisor of slot {slot.number} refused {message.attempt}: {message.message}")

    def _gone(self, slot: Slot, *, waited_s: float) -> None:
        """Settle what a supervisor left that hung up."""
        if is_alive(self._paths.slot(slot.number)):  # the kernel closes its files one by one, the lock not first
            if waited_s > _GONE_WITHIN_S:
                raise LeaseLost(f"the supervisor of slot {slot.number} hung up on this driver and lives")
            self._loop.later(_LOOK_AGAIN_S, lambda: self._gone(slot, waited_s=waited_s + _LOOK_AGAIN_S))
            return
        slot.reap()
        slot.died_early = 0 if slot.greeted else slot.died_early + 1
        if slot.died_early >= _STARTS:
            raise ExecutorError(
                f"the supervisor of slot {slot.number} does not start: {last_words(self._paths.slot(slot.number))}",
                hint="budwood doctor looks at what it needs",
            )
        slot.link, slot.greeted = None, False
        clear_runtime(self._paths, slot.number)
        for directory in slot.forget:
            shutil.rmtree(directory, ignore_errors=True)
        slot.forget = ()
        work = slot.work
        if work is None:
            return
        if self._report_result(work):
            slot.work = None
        elif has_begun(self._paths.attempt(work.id)):
            self._sweeper.sweep(self._mark(work.id), lambda swept: self._settle_lost(slot, work, swept))
        else:
            self.start(work)

    def _settle_lost(self, slot: Slot, work: Work, swept: Swept) -> None:
        slot.work = None
        self._report_lost(work, swept)
