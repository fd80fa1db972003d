"""How far an address has come is remembered from drive to drive."""

from pathlib import Path

import msgspec
import pytest
from tests.project.hooked import WITHIN_S, Hook, Told
from tests.support.receiver import Receiver

from budwood.project.delivered import Delivered


def test_the_next_drive_goes_on_behind_the_last_event_that_was_delivered(told: Told, hook: Hook) -> None:
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


def test_the_next_drive_tells_another_address_everything(lasting: Told, hook: Hook) -> None:
    for _ in range(2):
        with Receiver() as receiver:
            webhook = hook(lasting, receiver.url)
            lasting.go_on(10)
            assert webhook.close(within_s=WITHIN_S).missing == 0
        assert receiver.numbers == lasting.all


@pytest.mark.parametrize("mark", [b"", b"{}", b'{"delivered": 99}', b'{"delivered": -1}', b"\xff"])
def test_the_next_drive_sends_everything_again_where_nothing_is_known(
    lasting: Told, hook: Hook, tmp_path: Path, mark: bytes
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


def test_the_next_drive_is_told_again_when_nothing_can_be_remembered(lasting: Told, hook: Hook, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("no directory")
    with Receiver() as receiver:
        webhook = hook(lasting, receiver.url)
        lasting.go_on(10)
        delivery = webhook.close(within_s=WITHIN_S)
    assert (delivery.missing, receiver.numbers) == (0, lasting.all)
    assert delivery.problem.endswith("so they are sent again in the next drive")
