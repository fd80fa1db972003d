"""What functions return and raise, in real workers: kept as JSON, or a clear word why not."""

import pytest
from tests.executors.calling import Desk

from budwood._core.model import AttemptPhase

pytestmark = pytest.mark.slow
FUNCTIONS = """
import datetime, decimal, enum, json, os, sys

class Odd:
    def __repr__(self):
        raise RuntimeError("no picture of me")

class Colour(enum.IntEnum):
    RED = 3

class Sly(dict):
    def items(self):
        raise OSError("not for you")

def evaluate(text):
    return eval(text)

def contains_itself():
    inner = [1]
    inner.append({"again": inner})
    return {"x": inner}

def deep(levels):
    value = None
    for _ in range(levels):
        value = [value]
    return value

def large(count):
    return "x" * count

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Long(Exception):
    pass

def throw(text):
    raise eval(text)

def chain():
    try:
        {}["missing"]
    except KeyError as error:
        raise ValueError("because of that") from error

def recurse(n=0):
    return recurse(n + 1)

def leave(code):
    sys.exit(code)

def interrupt():
    raise KeyboardInterrupt

class Everything(BaseException):
    pass
"""


def _deep(levels: int) -> object:
    return None if levels == 0 else [_deep(levels - 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("None", None),
        ("(1, (2.5, 'ü\\0'))", [1, [2.5, "ü\0"]]),
        ("{'a': True, 1: None, None: 0.0}", {"a": True, "1": None, "null": 0.0}),
        ("Colour.RED", 3),
        ("10**40", 10**40),
        ("'\\U0001f333'", "\U0001f333"),
        ("deep(100)", _deep(100)),
        ("[deep(99)] * 200", [_deep(99)] * 200),
    ],
)
def test_what_json_has_a_form_for_comes_back(desk: Desk, text: str, expected: object) -> None:
    outcome = desk.call("evaluate", text)
    assert outcome.phase is AttemptPhase.SUCCEEDED
    assert desk.result("evaluate", text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'x': [1, 2, 3, lambda: 0]}", "a lambda (function) cannot be stored as JSON: at result['x'][3]"),
        ("leave", "a value of type function cannot be stored as JSON: at result"),
        ("{1, 2}", "a value of type set cannot be stored as JSON: at result"),
        ("[b'x']", "a value of type bytes cannot be stored as JSON: at result[0]"),
        (
            "(0, {'t': datetime.date.today()})",
            "a value of type datetime.date cannot be stored as JSON: at result[1]['t']",
        ),
        ("decimal.Decimal(1)", "a value of type decimal.Decimal cannot be stored as JSON: at result"),
        ("[Odd()]", "a value of type work.Odd cannot be stored as JSON: at result[0]"),
        ("(x for x in [])", "a value of type generator cannot be stored as JSON: at result"),
        ("{(1, 2): 3}", "a key of type tuple cannot be stored as JSON: in result"),
        ("[1.0, float('nan')]", "nan cannot be stored as JSON: at result[1]"),
        ("{'a': -float('inf')}", "-inf cannot be stored as JSON: at result['a']"),
        ("['\\ud800']", "text with half of a surrogate pair cannot be stored as JSON: at result[0]"),
        ("{'\\udcff': 1}", "text with half of a surrogate pair cannot be stored as JSON: at a key of result"),
        ("contains_itself()", "what contains itself cannot be stored as JSON: at result['x'][1]['again']"),
        ("[{1: 'a', '1': 'b'}]", "two keys of its result are '1' as JSON, and one of them would be lost"),
        (
            "{True: 0, 'x': {'true': 1, True: 2}}",
            "two keys of its result are 'true' as JSON, and one of them would be lost",
        ),
        ("10**5000", "a whole number with thousands of digits cannot be stored as JSON: at result"),
        ("deep(101)", "its result is nested more than 100 levels deep"),
        ("{'a': (1, [{'b': deep(97)}])}", "its result is nested more than 100 levels deep"),
        ("deep(988)", "its result is nested more than 100 levels deep"),
        ("deep(100_000)", "its result is nested more than 100 levels deep"),
        ("Sly(a=1)", "its result cannot be stored as JSON: OSError: not for you"),
        (
            "large(5_000_000)",
            "its result is 5.0 MB of JSON; the limit is 4 MiB: write it to a file and return its path",
        ),
        (
            "large(100_000_000)",
            "its result is 100.0 MB of JSON; the limit is 4 MiB: write it to a file and return its path",
        ),
    ],
)
def test_what_json_has_no_form_for_is_said_with_its_place(desk: Desk, text: str, message: str) -> None:
    outcome = desk.call("evaluate", text)
    assert (outcome.phase, outcome.error_type, outcome.message) == (AttemptPhase.FAILED, "result", message)
    assert desk.result("evaluate", "1") == 1


def test_a_result_just_below_the_limit_is_kept(desk: Desk) -> None:
    assert len(str(desk.result("large", 4 * 1024 * 1024 - 2))) == 4 * 1024 * 1024 - 2
    assert desk.call("large", 4 * 1024 * 1024 - 1).error_type == "result"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ValueError('text')", "ValueError: text"),
        ("ValueError", "ValueError"),
        ("Silent()", "Silent: <exception str() failed>"),
        ("Everything('all')", "Everything: all"),
        ("GeneratorExit('x')", "GeneratorExit: x"),
        ("MemoryError()", "MemoryError"),
        ("Long('\\udcff')", "Long: \\udcff"),
        ("KeyboardInterrupt()", "KeyboardInterrupt"),
    ],
)
def test_what_is_raised_is_said(desk: Desk, text: str, message: str) -> None:
    outcome = desk.call("throw", text)
    assert (outcome.phase, outcome.error_type, outcome.message) == (AttemptPhase.FAILED, "exception", message)
    assert isinstance(outcome.traceback, str)
    assert outcome.traceback.startswith("Traceback (most recent call last):\n")
    assert 'work.py", line' in outcome.traceback
    assert "main.py" not in outcome.traceback
    assert desk.last_log == outcome.traceback.encode()


def test_a_chain_of_exceptions_is_kept(desk: Desk) -> None:
    outcome = desk.call("chain")
    assert outcome.message == "ValueError: because of that"
    assert isinstance(outcome.traceback, str)
    first, _, second = outcome.traceback.partition("The above exception was the direct cause")
    assert "KeyError: 'missing'" in first
    assert second.rstrip().endswith("ValueError: because of that")
    assert "main.py" not in outcome.traceback


def test_long_messages_are_shortened_and_the_text_says_by_how_much(desk: Desk) -> None:
    outcome = desk.call("throw", "Long('a' * 100_000 + 'z')")
    assert len(outcome.message) < 5000
    assert outcome.message.endswith("z")
    assert "characters dropped here]" in outcome.message
    assert isinstance(outcome.traceback, str)
    assert len(outcome.traceback) < 21_000


def test_endless_recursion_is_an_exception(desk: Desk) -> None:
    outcome = desk.call("recurse")
    assert outcome.message.startswith("RecursionError: ")
    assert isinstance(outcome.traceback, str)
    assert "Previous line repeated" in outcome.traceback


@pytest.mark.parametrize("code", [0, 3, None, "a reason"])
def test_a_function_that_exits_did_not_return(desk: Desk, code: object) -> None:
    outcome = desk.call("leave", code)
    message = f"it called sys.exit({code!r}); a function returns"
    assert (outcome.phase, outcome.error_type, outcome.message) == (AttemptPhase.FAILED, "exception", message)
    assert desk.result("evaluate", "1") == 1


def test_a_full_disk_is_no_fault_of_the_function(desk: Desk) -> None:
    outcome = desk.call("throw", "OSError(28, 'No space left on device')")
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "disk_full")
