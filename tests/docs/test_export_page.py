"""The page on exports and webhooks lists the columns that there are, and its receiver tells what is genuine."""

import os
import re
import time
from collections.abc import Callable
from unittest.mock import patch

import pytest
from tests.docs.pages import ROOT, samples

from budwood.cli.csv_rows import COLUMNS
from budwood.project import telling, webhook
from budwood.project.parcels import MOST_BYTES, MOST_EVENTS
from budwood.project.post import SIGNATURE, sign
from budwood.project.webhook import SECRET, Pace

PAGE = (ROOT / "docs/how-to/export-and-webhooks.md").read_text(encoding="utf-8")
BODY = b'{"run":"x","events":[]}'


def test_every_column_is_explained_in_its_order() -> None:
    _, _, rest = PAGE.partition("| column | is |\n|---|---|\n")
    told = re.findall(r"^\| `(\w+)` \| .+ \|$", rest.partition("\n\n")[0], re.MULTILINE)
    assert tuple(told) == COLUMNS


@pytest.fixture
def is_genuine() -> Callable[[str, bytes], bool]:
    """Take the page's receiver, but do not let it serve."""
    [sample] = [sample for sample in samples(PAGE) if sample.file_name == "receiver.py"]
    source, served, _ = sample.text.partition("\nHTTPServer(")
    assert served
    found: dict[str, Callable[[str, bytes], bool]] = {}
    with patch.dict(os.environ, {SECRET: "known to both"}):
        exec(source, found)
    return found["is_genuine"]


def test_the_receiver_accepts_what_is_signed_and_nothing_else(is_genuine: Callable[[str, bytes], bool]) -> None:
    now_s = int(time.time())
    signed = sign("known to both", BODY, at_s=now_s)
    assert is_genuine(signed, BODY)
    assert not is_genuine(signed, BODY + b" ")
    assert not is_genuine(signed.replace(f"t={now_s}", f"t={now_s + 1}"), BODY)
    assert not is_genuine(sign("another secret", BODY, at_s=now_s), BODY)
    assert not is_genuine(sign("known to both", BODY, at_s=now_s - 3600), BODY)
    assert not is_genuine("t=0,v1=", BODY)


def test_the_figures_of_the_page_are_those_of_the_program() -> None:
    pace = Pace()
    assert f"`{SIGNATURE}: t=SECONDS,v1=HEX`" in PAGE
    assert f"at most {MOST_EVENTS:,} events or {MOST_BYTES // 1024} KiB" in PAGE
    assert (pace.gather_s, pace.first_retry_s, pace.longest_retry_s) == (1.0, 0.5, 60.0)
    assert f"time-outs ({pace.request_s:.0f} s)" in PAGE
    waits = f"for at most {telling.DELIVER_WITHIN_S:.0f} s, or {telling.LEAVE_WITHIN_S:.0f} s if you interrupted it"
    assert waits in " ".join(PAGE.split())
    assert f"`{webhook.SECRET}`" in PAGE
