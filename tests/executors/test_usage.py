"""What an attempt says that it cost: read field by field; what cannot be read is said, never counted as nothing."""

import pytest

from budwood._core.model import Usage
from budwood.executors.local.outcome import read_usage


@pytest.mark.parametrize(
    ("text", "cost_usd", "tokens"),
    [
        (None, None, None),
        ("{}", None, None),
        ('{"cost_usd": 0.9, "tokens": 12}', 0.9, 12),
        ('{"cost_usd": 1}', 1.0, None),
        ('{"cost_usd": null, "tokens": 0}', None, 0),
        ("", None, None),
    ],
)
def test_a_good_report_is_read(text: str | None, cost_usd: float | None, tokens: int | None) -> None:
    assert read_usage(text) == Usage(cost_usd=cost_usd, tokens=tokens)


@pytest.mark.parametrize(
    ("text", "cost_usd", "tokens", "problem"),
    [
        ('{"cost_usd": "0.9"}', None, None, "cost_usd is '0.9'"),
        ('{"cost": 0.9}', None, None, "unknown field 'cost'"),
        ('{"cost_usd": 0.9, "tokens": 1.5}', 0.9, None, "tokens is 1.5"),
        ('{"cost_usd": -1, "tokens": 3}', None, 3, "cost_usd is -1"),
        ('{"cost_usd": true}', None, None, "cost_usd is True"),
        ('{"cost_usd": 1}\n{"cost_usd": 2}', None, None, "not JSON"),
        ("[1]", None, None, "no JSON object"),
    ],
)
def test_a_bad_report_is_said_and_its_good_fields_count(
    text: str, cost_usd: float | None, tokens: int | None, problem: str
) -> None:
    usage = read_usage(text)
    assert (usage.cost_usd, usage.tokens) == (cost_usd, tokens)
    assert problem in usage.problem
