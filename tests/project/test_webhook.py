"""Webhooks: every event reaches the receiver, in order and signed, and the driver never waits for it."""

import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.support.receiver import Got, Receiver, Reply, free_port, is_signed

from budwood._core.events import DriverSeen, Event, RunCreated, RunEnded, TasksAdded, as_json
from budwood._core.model import RunSettings, TaskSpec
from budwood._core.state import RunState
from budwood.engine.clock import Clock
from budwood.engine.journal import Journal
from budwood.errors import StoreError, UsageError
from budwood.project.delivered import Delivered
from budwood.project.parcels import MOST_EVENTS
from budwood.project.webhook import Pace, Webhook
from budwood.stores import Store, open_store

RUN = "aaaaaaaaaa"
QUICK = Pace(gather_s=0.01, first_retry_s=0.01, longest_retry_s=0.05, request_s=5.0)
WITHIN_S = 20.0


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no proxy of the developer's stand between."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


class Told:
    """A run whose events are written by the engine's journal, which tells whoever listens."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.claim(RUN, name="night", source="", fresh=True)
        self.state = RunState()
        self._journal = Journal(store, store.acquire(RUN, "me"), self.state, clock=Clock())
        self.listener: Callable[..., None] = lambda events, state: None
        settings = RunSettings(slots=1)
        self.tell(RunCreated(run=RUN, name="night", settings=settings), TasksAdded(tasks=(TaskSpec(id="a", run="x"),)))

    def tell(self, *events: Event) -> None:
        """Write events in one commit."""
        for event in events:
            self._journal.record(event)
        self._journal.commit(lambda written: self.listener(written, self.state))

    def go_on(self, events: int, *, commits: int = 1) -> None:
        """Let so many more things happen."""
        for _ in range(commits):
            self.tell(*[DriverSeen()] * (events // commits))

    @property
    def all(self) -> list[int]:
        """The numbers of all events."""
        return list(range(1, self.state.number + 1))


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def told(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Told]:
    places = {"memory": "memory:", "sqlite": str(tmp_path / "store.db")}
    with open_store(places.get(request.param) or request.getfixturevalue("schema")) as store:
        yield Told(store)


@pytest.fixture
def lasting(tmp_path: Path) -> Iterator[Told]:
    """A run in a file."""
    with open_store(tmp_path / "store.db") as store:
        yield Told(store)


Hook = Callable[..., Webhook]


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    """Make webhooks that listen to a run; none is left behind."""
    made: list[Webhook] = []

    def make(told: Told, url: str, *, secret: str = "", pace: Pace = QUICK, folder: str = "run") -> Webhook:
        delivered = Delivered(tmp_path / folder, url)
        webhook = Webhook(
            url,
            run=RUN,
            open_store=told.store.reopen,
            delivered=delivered,
            secret=secret,
            pace=pace,
            chance=lambda: 1.0,
        )
        told.listener = webhook
        made.append(webhook)
        return webhook

    yield make
    for webhook in made:
        webhook.close(within_s=0.0)
    assert [each for each in threading.enumerate() if each.name == "webhook"] == []


def wait_for(condition: Callable[[], object], what: str) -> None:
    until_s = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < until_s, f"waited for {what}"
        time.sleep(0.005)


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


class TestTheNextDrive:
    """How far an address has come is remembered."""

    def test_goes_on_behind_the_last_event_that_was_delivered(self, told: Told, hook: Hook) -> None:
        with Receiver() as receiver:
            webhook = hook(told, receiver.url)
            told.go_on(10)
            assert webhook.close(within_s=WITHIN_S).missing == 0
            told.listener = lambda events, state: None
            told.go_on(10)  # somebody without a webhook drove it
            webhook = hook(told, receiver.url)
            told.go_on(10)
            assert webhook.close(within_s=WITHIN_S).missing == 0
        assert receiver.numbers == told.all

    def test_tells_another_address_everything(self, lasting: Told, hook: Hook) -> None:
        for _ in range(2):
            with Receiver() as receiver:
                webhook = hook(lasting, receiver.url)
                lasting.go_on(10)
                assert webhook.close(within_s=WITHIN_S).missing == 0
            assert receiver.numbers == lasting.all

    @pytest.mark.parametrize("mark", [b"", b"{}", b'{"delivered": 99}', b'{"delivered": -1}', b"\xff"])
    def test_sends_everything_again_where_nothing_is_known(
        self, lasting: Told, hook: Hook, tmp_path: Path, mark: bytes
    ) -> None:
        with Receiver() as receiver:
            Delivered(tmp_path / "run", receiver.url).write(2)
            [file] = (tmp_path / "run").iterdir()
            file.write_bytes(mark)
            webhook = hook(lasting, receiver.url)
            lasting.go_on(10)
            assert webhook.close(within_s=WITHIN_S).missing == 0
        assert receiver.numbers == lasting.all
        assert msgspec.json.decode(file.read_bytes()) == {"delivered": lasting.state.number}

    def test_is_told_again_when_nothing_can_be_remembered(self, lasting: Told, hook: Hook, tmp_path: Path) -> None:
        (tmp_path / "run").write_text("no directory")
        with Receiver() as receiver:
            webhook = hook(lasting, receiver.url)
            lasting.go_on(10)
            delivery = webhook.close(within_s=WITHIN_S)
        assert (delivery.missing, receiver.numbers) == (0, lasting.all)
        assert delivery.problem.endswith("so they are sent again in the next drive")


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
