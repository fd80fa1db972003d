"""What servers say instead of an answer, and when their limits end."""

import msgspec
import pytest

from budwood.agents.model.refusals import explain, limit_until
from budwood.agents.model.wire import Reply, is_loopback
from budwood.agents.report import Outcome

NOW_MS = 1_800_000_000_000
"""Fri, 15 Jan 2027 08:00:00 GMT."""


def said(status: int, body: object = None, **headers: str) -> Reply:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Reply(status=status, body=raw, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (said(401), Outcome.AUTH),
        (said(403, {"error": {"message": "no"}}), Outcome.AUTH),
        (said(402), Outcome.QUOTA),
        (said(404), Outcome.NOT_FOUND),
        (said(400, {"error": {"code": "model_not_found", "message": "?"}}), Outcome.NOT_FOUND),
        (said(400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}), Outcome.CONTEXT),
        (said(400, {"detail": "the request exceeds the available context size"}), Outcome.CONTEXT),
        (said(413, b"<html>too large</html>"), Outcome.CONTEXT),
        (said(400, {"error": {"code": "content_filter", "message": "?"}}), Outcome.REFUSED),
        (said(400, {"error": "nothing that we know"}), Outcome.FAILED),
        (said(429), Outcome.LIMIT),
        (said(429, {"error": {"type": "insufficient_quota", "message": "?"}}), Outcome.QUOTA),
        (said(429, {"error": {"message": "You exceeded your current quota, check your plan"}}), Outcome.QUOTA),
        (said(529, {"error": {"message": "context window"}}), Outcome.FAILED),
        (said(200, {"error": {"code": 429, "message": "upstream is busy"}}), Outcome.LIMIT),
        (said(200, {"choices": []}), Outcome.FAILED),
        (said(200, b"[" * 100_000), Outcome.FAILED),
        (said(500, b"\xff\xfe"), Outcome.FAILED),
    ],
)
def test_a_reply_has_its_outcome(reply: Reply, outcome: Outcome) -> None:
    assert explain(reply, now_ms=NOW_MS).outcome is outcome


@pytest.mark.parametrize(
    ("headers", "after_s"),
    [
        ({"retry-after": "90"}, 90.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, 60.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-reset": "1800000030"}, 30.0),
        ({"x-ratelimit-reset": "1800000030000"}, 30.0),
        ({"x-ratelimit-reset": "30"}, 30.0),
        ({"x-ratelimit-reset-tokens": "6m0.5s", "x-ratelimit-reset-requests": "120ms"}, 360.5),
        (
            {
                "x-ratelimit-reset-tokens": "1h2m3s",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-requests": "0",
            },
            2.0,
        ),
        ({"anthropic-ratelimit-tokens-reset": "2027-01-15T08:02:00Z"}, 120.0),
        ({"retry-after": "soon", "x-ratelimit-reset": ""}, None),
        ({"retry-after": "99999999"}, None),
        ({"x-ratelimit-limit": "5"}, None),
    ],
)
def test_a_limit_ends_when_the_headers_say(headers: dict[str, str], after_s: float | None) -> None:
    until_ms = limit_until(headers, now_ms=NOW_MS)
    assert until_ms == (None if after_s is None else NOW_MS + after_s * 1000)


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost/v1", True),
        ("https://localhost.example.com/v1", False),
        ("https://10.0.0.1/v1", False),
    ],
)
def test_this_machine_is_told_from_others(url: str, is_ours: bool) -> None:
    assert is_loopback(url) is is_ours
