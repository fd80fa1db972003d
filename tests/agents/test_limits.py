"""What programs say when an account stops them, and when that ends."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from tests.agents.starting import BERLIN, NOW_MS, moment

from budwood.agents.base import OutcomeKind
from budwood.agents.limits import kind_of_status, notice_in, whole_notice
from budwood.agents.resets import reset_in

NEW_YORK = ZoneInfo("America/New_York")
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
LIMIT, AUTH, QUOTA, CONTEXT = OutcomeKind.LIMIT, OutcomeKind.AUTH, OutcomeKind.QUOTA, OutcomeKind.CONTEXT


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("You've hit your limit", LIMIT),
        ("You’ve hit your session limit · resets 6pm", LIMIT),
        ("You've hit your weekly limit", LIMIT),
        ("You've hit your org's monthly usage limit", LIMIT),
        ("You have reached your usage limit for today.", LIMIT),
        ("Claude AI usage limit reached|1735689600", LIMIT),
        ("5-hour limit reached ∙ resets 3pm", LIMIT),
        ("API Error: Request rejected (429) · slow down", LIMIT),
        ("stream error: exceeded retry limit, last status: 429 Too Many Requests", LIMIT),
        ('{"type":"error","error":{"type":"rate_limit_error"}}', LIMIT),
        ("Rate limit reached for gpt-5 on tokens per min. Please try again in 6m0s.", LIMIT),
        ("got status: 429", LIMIT),
        ("RESOURCE_EXHAUSTED", LIMIT),
        ("Quota exceeded for quota metric 'Generate requests' and limit 'per minute'", LIMIT),
        ("You exceeded your current quota. Please retry in 34.07s.", LIMIT),
        ("429 You exceeded your current quota, please check your plan and billing details.", QUOTA),
        ("Error code: 429 - insufficient_quota", QUOTA),
        ("Your credit balance is too low to access the API", QUOTA),
        ("you are out of credits", QUOTA),
        ("quota problem", QUOTA),
        ("Invalid API key · Please run /login", AUTH),
        ("401 Unauthorized", AUTH),
        ("HTTP 403 Forbidden", AUTH),
        ("authentication_error: invalid x-api-key", AUTH),
        ("OAuth token has expired", AUTH),
        ("prompt is too long: 210000 tokens > 200000 maximum", CONTEXT),
        ("context_length_exceeded", CONTEXT),
        ("blocked by content_filter", OutcomeKind.REFUSED),
        ("529 overloaded_error", OutcomeKind.FAILED),
        ("The model is overloaded. Please try again later.", OutcomeKind.FAILED),
        ("Disk quota exceeded", None),
        ("I added a rate limit to the API", None),
        ("listening on port 4290", None),
        ("wrote 429 lines", None),
        ("line 401 of app.py", None),
        ("", None),
    ],
)
def test_wording_tells_what_stopped_it(text: str, kind: OutcomeKind | None) -> None:
    notice = notice_in(text, now_ms=NOW_MS, zone=BERLIN)
    assert (None if notice is None else notice.kind) == kind


def test_an_overloaded_service_is_said_to_be_no_limit_of_the_account() -> None:
    notice = notice_in("API Error: 529 overloaded_error", now_ms=NOW_MS, zone=BERLIN)
    assert notice is not None
    assert notice.message.startswith(
        "the service is overloaded, which is not this account's limit; it may be tried again"
    )


@pytest.mark.parametrize(
    ("text", "is_notice"),
    [
        ("You've hit your limit · resets 6pm (America/New_York)", True),
        ("[API Error: 401 Unauthorized]", True),
        ("API Error: Request rejected (429)", True),
        ("Error: exceeded retry limit, last status: 429 Too Many Requests", True),
        ("You exceeded your current quota, please check your plan", True),
        ("I made the page say: You've hit your limit", False),
        ("You've hit your limit\nis what it says now.", False),
        ("You've hit your limit " + "and so on " * 60, False),
        ("The quota page is done.", False),
        ("print('You have reached your usage limit')", False),
    ],
)
def test_an_answer_is_a_notice_only_as_a_whole(text: str, is_notice: bool) -> None:
    assert (whole_notice(text, now_ms=NOW_MS, zone=BERLIN) is not None) == is_notice


@pytest.mark.parametrize(
    ("text", "until_ms"),
    [
        ("resets 6pm (America/New_York)", moment(2026, 6, 8, 18, zone=NEW_YORK)),
        ("resets 3pm (America/New_York)", moment(2026, 6, 9, 15, zone=NEW_YORK)),
        ("resets 12am (Europe/Berlin)", moment(2026, 6, 9, 0)),
        ("resets 12:30pm", moment(2026, 6, 9, 12, 30)),
        ("resets at 14:30", moment(2026, 6, 9, 14, 30)),
        ("resets at 23:59", moment(2026, 6, 8, 23, 59)),
        ("resets at 22:00", moment(2026, 6, 9, 22, 0)),
        ("Your limit will reset at 3pm (Mars/Olympus).", moment(2026, 6, 9, 15)),
        ("resets 6pm (UTC)", moment(2026, 6, 9, 18, zone=ZoneInfo("UTC"))),
        ("resets 18:30 UTC", moment(2026, 6, 9, 18, 30, zone=ZoneInfo("UTC"))),
        ("resets Jun 9 at 1am (Europe/Berlin)", moment(2026, 6, 9, 1)),
        ("resets June 9, 1:15am (America/New_York)", moment(2026, 6, 9, 1, 15, zone=NEW_YORK)),
        ("resets Jun 8 at 1am (Europe/Berlin)", moment(2027, 6, 8, 1)),
        ("resets Jan 2 at 10am", moment(2027, 1, 2, 10)),
        ("resets Mon 12am", moment(2026, 6, 15, 0)),
        ("resets Thursday at 3pm", moment(2026, 6, 11, 15)),
        ("or try again at 3:28 PM.", moment(2026, 6, 9, 15, 28)),
        ("try again at Aug 8th, 2026 12:30 PM.", moment(2026, 8, 8, 12, 30)),
        ("Try again Aug 18.", moment(2026, 8, 18)),
        ("try again at 2026-06-09T01:00:00Z", moment(2026, 6, 9, 1, zone=ZoneInfo("UTC"))),
        ("try again at 2026-06-09 01:00:00+02:00", moment(2026, 6, 9, 1)),
        ("try again at 2026-06-09 01:00", moment(2026, 6, 9, 1)),
        ("Please try again in 6m0s.", NOW_MS + 6 * MINUTE),
        ("Please try again in 20s", NOW_MS + 20 * SECOND),
        ("Please try again in 850ms.", NOW_MS + 850),
        ("try again in 3 days 6 hours 57 minutes.", NOW_MS + 3 * DAY + 6 * HOUR + 57 * MINUTE),
        ("try again in 1 hour and 5 minutes", NOW_MS + HOUR + 5 * MINUTE),
        ("quota will reset after 5h12m3s", NOW_MS + 5 * HOUR + 12 * MINUTE + 3 * SECOND),
        ("Retry-After: 30", NOW_MS + 30 * SECOND),
        ('"retry-after": "30"', NOW_MS + 30 * SECOND),
        ('"retryDelay": "34.5s"', NOW_MS + 34_500),
        ("Retry-After: Tue, 09 Jun 2026 07:28:00 GMT", moment(2026, 6, 9, 7, 28, zone=ZoneInfo("UTC"))),
        ("Claude AI usage limit reached|1781000000", 1_781_000_000_000),
        ("resetsAt: 1781000000123", 1_781_000_000_123),
        # Nothing that could be waited for.
        ("Claude AI usage limit reached|1735689600", None),
        ("resets at 25:00", None),
        ("resets 13pm", None),
        ("resets Feb 31 at 1am", None),
        ("resets Jun 9, 2020 at 1am", None),
        ("try again at 2026-99-99T01:00:00Z", None),
        ("try again in 999999999 weeks", None),
        ("Retrying in 5 seconds", None),
        ("resets soon", None),
        ("try again later", None),
    ],
)
def test_a_stated_moment_is_the_next_one(text: str, until_ms: int | None) -> None:
    assert reset_in(text, now_ms=NOW_MS, zone=BERLIN) == until_ms


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        # The clocks go forward at 2:00 on 29 March 2026; 2:30 is the moment that the older offset gives it.
        ("2026-03-29T00:00", "resets 2:30am (Europe/Berlin)", "2026-03-29T01:30"),
        ("2026-03-29T02:00", "resets 2:30am (Europe/Berlin)", "2026-03-30T00:30"),
        # They go back at 3:00 on 25 October: 2:30 comes twice.
        ("2026-10-25T00:00", "resets 2:30am (Europe/Berlin)", "2026-10-25T00:30"),
        ("2026-10-25T00:45", "resets 2:30am (Europe/Berlin)", "2026-10-25T01:30"),
        ("2026-10-25T01:45", "resets 2:30am (Europe/Berlin)", "2026-10-26T01:30"),
        ("2026-03-07T12:00", "resets Mar 8 at 2:30am (America/New_York)", "2026-03-08T07:30"),
        ("2026-12-31T23:30", "resets Jan 1 at 1am (Europe/Berlin)", "2027-01-01T00:00"),
        ("2027-12-01T00:00", "resets Feb 29 at 1am (UTC)", "2028-02-29T01:00"),
    ],
)
def test_clocks_that_change_do_not_lead_astray(now: str, text: str, expected: str) -> None:
    def epoch_ms(moment: str) -> int:
        return int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() * 1_000)

    assert reset_in(text, now_ms=epoch_ms(now), zone=UTC) == epoch_ms(expected)


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, ZoneInfo("Asia/Kolkata")])
def test_a_time_without_a_zone_is_one_of_the_given_zone(zone: ZoneInfo) -> None:
    until_ms = reset_in("resets 6:30pm", now_ms=NOW_MS, zone=zone)
    assert until_ms is not None
    assert f"{datetime.fromtimestamp(until_ms / 1_000, zone):%H:%M}" == "18:30"
    assert NOW_MS < until_ms <= NOW_MS + DAY


@pytest.mark.parametrize("filling", ["x", "you've hit your ", "retry in 1", "status "])
def test_a_text_of_any_length_says_why_at_one_of_its_ends(filling: str) -> None:
    text = filling * 100_000
    for whole in (f"401 Unauthorized {text}", f"{text} 401 Unauthorized"):
        notice = notice_in(whole, now_ms=NOW_MS, zone=BERLIN)
        assert notice is not None
        assert notice.kind is AUTH
    assert notice_in(text, now_ms=NOW_MS, zone=BERLIN) is None


def test_statuses_that_concern_an_account() -> None:
    assert kind_of_status(401) is AUTH
    assert kind_of_status(429) is LIMIT
    assert kind_of_status(402) is QUOTA
    assert kind_of_status(529) is None
    assert kind_of_status(None) is None
