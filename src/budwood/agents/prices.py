"""Money out of tokens, for agents that tell tokens only.

Knows prices that a configuration gives; must not know any of its own: they change, and a wrong one is worse than none.
"""

import math
from collections.abc import Mapping

import msgspec

from budwood.agents.base import Price, Reading, Tokens

_MILLION = 1_000_000


def cost_of(tokens: Tokens, price: Price) -> float:
    """Return what these tokens cost."""
    cached = min(tokens.cached, tokens.input)
    cached_price = price.input_per_million if price.cached_per_million is None else price.cached_per_million
    whole = (tokens.input - cached) * price.input_per_million + cached * cached_price
    return (whole + tokens.output * price.output_per_million) / _MILLION


def priced(reading: Reading, prices: Mapping[str, Price], *, model: str | None) -> Reading:
    """Add the cost where the agent told tokens only; it stays unknown unless every model that was used has a price.

    `model` is the one that was asked for; it counts where the agent does not say which it used.
    """
    if reading.cost_usd is not None:
        return reading
    used = reading.by_model
    if not used and model is not None and reading.split is not None:
        used = {model: reading.split}
    if not used or any(name not in prices for name in used):
        return reading
    cost = math.fsum(cost_of(tokens, prices[name]) for name, tokens in used.items())
    return msgspec.structs.replace(reading, cost_usd=cost)
