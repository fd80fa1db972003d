"""The time that events carry never runs backwards and does not jump."""

import time

import pytest

from budwood.engine.clock import Clock


def test_it_is_about_now() -> None:
    assert abs(Clock().now_ms() - time.time_ns() // 1_000_000) < 2_000


@pytest.mark.parametrize("jump_s", [-86_400, 86_400])
def test_a_clock_that_is_set_changes_nothing(jump_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    before = clock.now_ms()
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + jump_s * 1_000_000_000)
    assert 0 <= clock.now_ms() - before < 5_000


def test_it_goes_on_with_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = 5_000_000_000
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ns)
    clock = Clock()
    before = clock.now_ms()
    now_ns += 1_999_999
    assert clock.now_ms() == before + 1
    now_ns += 1
    assert clock.now_ms() == before + 2
