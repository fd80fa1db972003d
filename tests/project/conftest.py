"""Runs and webhooks that hear of them; none is left behind."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.project.hooked import QUICK, RUN, Hook, Told

from budwood.project.delivered import Delivered
from budwood.project.webhook import Pace, Webhook
from budwood.stores import open_store


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no proxy of the developer's stand between."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


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


@pytest.fixture
def hook(tmp_path: Path, direct: None) -> Iterator[Hook]:
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
