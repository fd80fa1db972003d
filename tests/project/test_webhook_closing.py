"""The driver never waits for a webhook: not while it drives, and not longer than it wants when it leaves."""

import threading
import time
import tracemalloc

from tests.project.hooked import WITHIN_S, Hook, Told, wait_for
from tests.support.receiver import Got, Receiver, Reply

from budwood.project.webhook import Pace


def test_the_driver_goes_on_while_the_receiver_hangs_and_nothing_piles_up(lasting: Told, hook: Hook) -> None:
    def reply(got: Got) -> Reply:
        receiver.over.wait(WITHIN_S)
        return Reply()

    with Receiver(reply) as receiver:
        webhook = hook(lasting, receiver.url, pace=Pace(request_s=600.0))  # else a slow machine tries again
        lasting.go_on(1)
        wait_for(lambda: receiver.got, "a request")
        tracemalloc.start()
        try:
            lasting.go_on(20_000, commits=200)
            kept = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/budwood/project/*")])
        finally:
            tracemalloc.stop()
        assert sum(trace.size for trace in kept.traces) < 100_000
        assert len(receiver.got) == 1
        began_s = time.monotonic()
        delivery = webhook.close(within_s=0.3)
        assert time.monotonic() - began_s < 5.0
        assert delivery.missing == lasting.state.number
        assert delivery.problem


def test_closing_tries_once_more_at_once(lasting: Told, hook: Hook) -> None:
    back = threading.Event()
    with Receiver(lambda got: Reply(200 if back.is_set() else 500)) as receiver:
        webhook = hook(lasting, receiver.url, pace=Pace(gather_s=0.0, first_retry_s=600.0, longest_retry_s=600.0))
        lasting.go_on(1)
        wait_for(lambda: webhook._problem, "a failure")
        back.set()
        assert webhook.close(within_s=WITHIN_S).missing == 0
    assert receiver.numbers == lasting.all


def test_closing_does_not_wait_for_a_try_that_would_come_too_late(lasting: Told, hook: Hook) -> None:
    with Receiver(lambda got: Reply(429, {"Retry-After": "3000"})) as receiver:
        webhook = hook(lasting, receiver.url)
        lasting.go_on(1)
        wait_for(lambda: webhook._problem, "a failure")
        began_s = time.monotonic()
        delivery = webhook.close(within_s=600.0)
        assert time.monotonic() - began_s < WITHIN_S
    assert len(receiver.got) == 1
    assert (delivery.missing, delivery.problem) == (lasting.state.number, "429 Too Many Requests")


def test_who_was_told_of_nothing_closes_at_once(lasting: Told, hook: Hook) -> None:
    delivery = hook(lasting, "http://127.0.0.1:1/hook").close(within_s=600.0)
    assert (delivery.missing, delivery.problem) == (0, "")
