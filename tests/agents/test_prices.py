"""Money out of tokens: known only where every price is."""

import math

import msgspec
import pytest
from tests.agents.starting import Bench

from budwood.agents.base import OutcomeKind, Price, Reading, Tokens
from budwood.agents.prices import cost_of, priced
from budwood.errors import SettingsError

BIG = Price(input_per_million=2, output_per_million=10, cached_per_million=0.5)
SMALL = Price(input_per_million=1, output_per_million=4)


def test_cached_tokens_have_their_own_price_or_that_of_others() -> None:
    tokens = Tokens(input=1_000_000, output=500_000, cached=400_000)
    assert math.isclose(cost_of(tokens, BIG), 0.6 * 2 + 0.4 * 0.5 + 5)
    assert math.isclose(cost_of(tokens, SMALL), 1 + 2)


def test_an_agent_that_tells_tokens_only_gets_a_cost(bench: Bench) -> None:
    reading = bench.reading("codex", "ok")
    cost = priced(reading, {"gpt-5": BIG}, model="gpt-5").cost_usd
    assert cost is not None
    assert math.isclose(cost, (1200 * 2 + 800 * 0.5 + 100 * 10) / 1_000_000)


@pytest.mark.parametrize(("model", "names"), [("gpt-5", ()), (None, ("gpt-5",)), ("gpt-6", ("gpt-5",))])
def test_without_a_price_the_cost_stays_unknown(model: str | None, names: tuple[str, ...]) -> None:
    reading = Reading(kind=OutcomeKind.OK, split=Tokens(input=5, output=5))
    assert priced(reading, dict.fromkeys(names, BIG), model=model).cost_usd is None


def test_every_model_that_was_used_must_have_a_price(bench: Bench) -> None:
    reading = bench.reading("gemini", "ok")
    assert priced(reading, {"gemini-3-pro": BIG}, model="gemini-3-pro").cost_usd is None
    cost = priced(reading, {"gemini-3-pro": BIG, "gemini-3-flash": SMALL}, model=None).cost_usd
    assert cost is not None
    assert math.isclose(cost, (60 * 2 + 40 * 0.5 + 40 * 10 + 5 * 1 + 1 * 4) / 1_000_000)


def test_a_cost_that_the_agent_told_is_left_alone() -> None:
    reading = Reading(kind=OutcomeKind.OK, cost_usd=0.25, split=Tokens(input=5))
    assert priced(reading, {"m": BIG}, model="m") is reading


def test_no_tokens_no_cost() -> None:
    assert priced(Reading(kind=OutcomeKind.AUTH), {"m": BIG}, model="m").cost_usd is None


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_price_is_a_number_from_0_up(value: float) -> None:
    with pytest.raises(SettingsError, match="a price is a number from 0 up"):
        Price(input_per_million=value, output_per_million=1)


def test_an_unknown_key_of_a_price_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="per_token"):
        msgspec.convert({"input_per_million": 1, "output_per_million": 1, "per_token": 1}, Price)
