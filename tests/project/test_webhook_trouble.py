"""Receivers of webhooks in trouble: what is tried again, how soon, and what is left alone."""

import time

import pytest
from tests.project.hooked import WITHIN_S, Hook, Told, wait_for
from tests.support.receiver import Got, Receiver, Reply, free_port

from budwood.project.webhook import Pace


@pytest.mark.parametrize("status", [500, 502, 503, 429, None])
def test_a_receiver_in_trouble_is_tried_again_with_the_same_events(told: Told, hook: Hook, status: int | None) -> None:
    with Receiver(lambda got: Reply(status if got.index < 3 else 200)) as receiver:
        webhook = hook(told, receiver.url)
        told.go_on(5)
        wait_for(lambda: receiver.accepted, "a success")
        assert webhook.close(within_s=WITHIN_S).missing == 0
    assert len({got.body for got in receiver.got[:4]}) == 1
    assert receiver.numbers == told.all


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("dated", [False, True])
def test_a_receiver_that_asks_for_time_gets_it(lasting: Told, hook: Hook, status: int, dated: bool) -> None:
    def reply(got: Got) -> Reply:
        if got.index:
            return Reply()
        when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2)) if dated else "1"
        return Reply(status, {"Retry-After": when})

    with Receiver(reply) as receiver:
        webhook = hook(lasting, receiver.url)
        lasting.go_on(1)
        wait_for(lambda: receiver.accepted, "the second try")
        assert webhook.close(within_s=WITHIN_S).missing == 0
    assert receiver.got[1].at_s - receiver.got[0].at_s >= 0.9  # a date has whole seconds


@pytest.mark.parametrize("wish", ["soon", "-5", "Mon, 99 Foo 2026", ""])
def test_a_wish_that_nobody_understands_is_no_wish(lasting: Told, hook: Hook, wish: str) -> None:
    with Receiver(lambda got: Reply(429, {"Retry-After": wish}) if got.index == 0 else Reply()) as receiver:
        webhook = hook(lasting, receiver.url)
        lasting.go_on(1)
        wait_for(lambda: receiver.accepted, "the second try")
        assert webhook.close(within_s=WITHIN_S).missing == 0


def test_a_receiver_that_is_not_there_yet_gets_everything_when_it_comes(told: Told, hook: Hook) -> None:
    port = free_port()
    webhook = hook(told, f"http://127.0.0.1:{port}/hook")
    told.go_on(20, commits=4)
    wait_for(lambda: webhook._tries > 2, "some tries")
    with Receiver(port=port) as receiver:
        told.go_on(20, commits=4)
        wait_for(lambda: receiver.numbers == told.all, "all events")
        assert webhook.close(within_s=WITHIN_S).missing == 0


def test_waits_grow_and_have_a_bound(lasting: Told, hook: Hook) -> None:
    with Receiver(lambda got: Reply(500 if got.index < 8 else 200)) as receiver:
        webhook = hook(lasting, receiver.url, pace=Pace(gather_s=0.0, first_retry_s=0.02, longest_retry_s=0.2))
        lasting.go_on(1)
        wait_for(lambda: receiver.accepted, "a success")
        webhook.close(within_s=WITHIN_S)
    gaps = [later.at_s - sooner.at_s for sooner, later in zip(receiver.got, receiver.got[1:], strict=False)]
    assert all(gap >= least for gap, least in zip(gaps, [0.02, 0.04, 0.08, 0.16, 0.2, 0.2, 0.2], strict=False))


@pytest.mark.parametrize("status", [400, 401, 404, 410, 413])
def test_a_receiver_that_refuses_is_left_alone(told: Told, hook: Hook, status: int) -> None:
    with Receiver(lambda got: Reply(status)) as receiver:
        webhook = hook(told, receiver.url)
        told.go_on(5)
        wait_for(lambda: not webhook._thread.is_alive(), "the webhook to give up")
        told.go_on(5)
        delivery = webhook.close(within_s=WITHIN_S)
    assert len(receiver.got) == 1
    assert delivery.missing == told.state.number
    assert delivery.problem.startswith(f"{status} ")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(lasting: Told, hook: Hook, status: int) -> None:
    with Receiver() as other, Receiver(lambda got: Reply(status, {"Location": other.url})) as receiver:
        webhook = hook(lasting, receiver.url)
        lasting.go_on(5)
        wait_for(lambda: not webhook._thread.is_alive(), "the webhook to give up")
        delivery = webhook.close(within_s=WITHIN_S)
    assert other.got == []
    assert delivery.missing == lasting.state.number
    assert delivery.problem.endswith(f"which leads to {other.url}")


@pytest.mark.parametrize("drip", [False, True])
def test_a_receiver_that_never_finishes_its_answer_is_left_and_tried_again(
    lasting: Told, hook: Hook, drip: bool
) -> None:
    def reply(got: Got) -> Reply:
        if got.index == 0 and not drip:
            receiver.over.wait(WITHIN_S)
        return Reply(drip=drip and got.index == 0)

    with Receiver(reply) as receiver:
        webhook = hook(lasting, receiver.url, pace=Pace(gather_s=0.0, first_retry_s=0.01, request_s=0.3))
        lasting.go_on(1)
        wait_for(lambda: len(receiver.got) > 1 and receiver.accepted, "the second try")
        assert webhook.close(within_s=WITHIN_S).missing == 0
