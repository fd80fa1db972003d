"""Webhooks: every event reaches the receiver, in order and signed."""

import time
from pathlib import Path

import pytest
from tests.project.hooked import QUICK, RUN, WITHIN_S, Hook, Told, wait_for
from tests.support.receiver import Receiver, Reply, is_signed

from budwood._core.events import RunEnded, as_json
from budwood.errors import StoreError, UsageError
from budwood.project.delivered import Delivered
from budwood.project.parcels import MOST_EVENTS
from budwood.project.webhook import Pace, Webhook
from budwood.stores import Store, open_store


def test_every_event_arrives_in_order_and_in_the_public_shape(told: Told, hook: Hook) -> None:
    with Receiver() as receiver:
        webhook = hook(told, receiver.url)
        told.go_on(40, commits=8)
        wait_for(lambda: receiver.numbers == told.all, "all events")
        told.tell(RunEnded())
        delivery = webhook.close(within_s=WITHIN_S)
    assert (delivery.missing, delivery.problem) == (0, "")
    assert receiver.events == [as_json(recorded) for recorded in told.store.read(RUN)]
    last = receiver.got[-1]
    assert last.json | {"events": []} == {"run": RUN, "name": "night", "state": "finished", "events": []}
    assert last.headers["Content-Type"] == "application/json"
    assert last.target == "/hook"


def test_what_is_sent_is_signed_with_the_secret(told: Told, hook: Hook) -> None:
    secret = "wëll kept" * 20
    with Receiver(lambda got: Reply(500 if got.index == 0 else 200)) as receiver:
        webhook = hook(told, receiver.url, secret=secret)
        told.go_on(3)
        assert webhook.close(within_s=WITHIN_S).missing == 0
    assert len(receiver.got) > 1
    assert all(is_signed(got, secret) for got in receiver.got)
    assert not any(is_signed(got, "another") for got in receiver.got)
    sent_s = int(receiver.got[0].headers["Budwood-Signature"].split(",")[0].removeprefix("t="))
    assert abs(sent_s - time.time()) < 60
    assert secret.encode() not in b"".join(got.body for got in receiver.got)


def test_without_a_secret_nothing_is_signed(told: Told, hook: Hook) -> None:
    with Receiver() as receiver:
        webhook = hook(told, receiver.url)
        told.go_on(1)
        assert webhook.close(within_s=WITHIN_S).missing == 0
    assert "Budwood-Signature" not in receiver.got[0].headers


def test_ten_thousand_events_come_in_few_requests_one_at_a_time(told: Told, hook: Hook) -> None:
    with Receiver() as receiver:
        webhook = hook(told, receiver.url, pace=Pace())
        told.go_on(10_000, commits=500)
        assert webhook.close(within_s=WITHIN_S).missing == 0
    assert receiver.numbers == told.all
    assert len(told.all) == 10_002
    assert receiver.most_at_once == 1
    assert 10 < len(receiver.got) <= 21
    assert max(len(got.numbers) for got in receiver.got) <= MOST_EVENTS


def test_events_that_come_together_are_sent_together(told: Told, hook: Hook) -> None:
    with Receiver() as receiver:
        webhook = hook(told, receiver.url, pace=Pace(gather_s=WITHIN_S))
        told.go_on(50, commits=50)
        assert webhook.close(within_s=WITHIN_S).missing == 0
    assert [got.numbers for got in receiver.got] == [told.all]


def test_a_store_that_cannot_be_read_for_a_while_is_read_later(lasting: Told, hook: Hook, tmp_path: Path) -> None:
    refused = [StoreError("gone"), StoreError("gone")]

    def reopen() -> Store:
        if refused:
            raise refused.pop()
        return lasting.store.reopen()

    with Receiver() as receiver:
        webhook = Webhook(
            receiver.url, run=RUN, open_store=reopen, delivered=Delivered(tmp_path / "run", ""), pace=QUICK
        )
        lasting.listener = webhook
        lasting.go_on(1)
        wait_for(lambda: receiver.numbers == lasting.all, "all events")
        assert webhook.close(within_s=WITHIN_S).missing == 0


def test_a_bug_of_ours_is_told_and_does_not_reach_the_driver(lasting: Told, tmp_path: Path) -> None:
    def broken() -> Store:
        raise ZeroDivisionError("oh")

    webhook = Webhook("http://127.0.0.1:1/", run=RUN, open_store=broken, delivered=Delivered(tmp_path, ""), pace=QUICK)
    lasting.listener = webhook
    lasting.go_on(1)
    delivery = webhook.close(within_s=WITHIN_S)
    assert (delivery.missing, delivery.problem) == (lasting.state.number, "ZeroDivisionError: oh")


@pytest.mark.parametrize(
    "address", ["ftp://host/", "http://", "https://user:word@host/", "http://host:99999/", "http://[::1/", "make"]
)
def test_what_is_no_web_address_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError) as refused:
        Webhook(address, run=RUN, open_store=lambda: open_store("memory:"), delivered=Delivered(tmp_path, address))
    assert "word" not in str(refused.value).replace("password", "")
