"""Records out of output in which anything may stand."""

import json

import pytest

from budwood.agents.records import count_at, number_at, one_line, text_at, transcribe


def test_records_and_lines_keep_their_order() -> None:
    transcript = transcribe(b'Loading\n{"type":"a"}\r\n\x1b[31mred\x1b[0m\n[{"type":"b"},{"type":"c"}]\nend')
    assert transcript.entries == ("Loading", {"type": "a"}, "red", {"type": "b"}, {"type": "c"}, "end")
    assert transcript.find_last("a", "b") == 3
    assert transcript.find_last("z") == -1
    assert transcript.lines(after=1) == ["red", "end"]


def test_a_record_may_be_spread_over_lines() -> None:
    record = {"error": {"message": "no\n{", "list": [1, {"a": 2}]}}
    transcript = transcribe(f"before\n{json.dumps(record, indent=2)}\nafter\n".encode())
    assert transcript.entries == ("before", record, "after")


def test_separators_inside_of_text_end_no_record() -> None:
    assert transcribe('{"a":"x\u2028y\x85z"}\n'.encode()).records() == [{"a": "x\u2028y\x85z"}]


def test_both_halves_of_a_record_that_was_cut_are_dropped() -> None:
    output = b'{"type":"a"}\n{"text":"You\'ve hit\n[budwood: 12 bytes dropped here]\nyour limit"}\n{"type":"b"}\nlast\n'
    transcript = transcribe(output)
    assert transcript.cut
    assert transcript.entries == ({"type": "a"}, {"type": "b"}, "last")
    output = b'first\n{"text":"You\n[budwood: 12 bytes dropped here]\nhalf\nlast\n'
    assert transcribe(output).entries == ("first", "last")
    assert transcribe(b"first\nhalf\n[budwood: 12 bytes dropped here]\n").entries == ("first",)


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"\n\n\0\n",
        b"\xff\xfe\xfd",
        b'{"a": NaN}\n',
        b'{"a": "\\ud800"}\n',
        b"{\n" + b'"a": {\n' * 3,
        b'{"a":' * 50_000,
        b'{\n"a":\n' * 50_000,
        b"[" * 50_000 + b"\n",
        b"{}" * 1000,
        b'"a": 1,\n},\n]\n',
    ],
)
def test_nothing_that_is_printed_is_too_much(output: bytes) -> None:
    transcript = transcribe(output)
    assert all(isinstance(entry, dict) or entry == "���" for entry in transcript.entries)


def test_values_of_the_wrong_kind_are_not_there() -> None:
    record = {"a": {"n": -1, "t": True, "s": "x", "i": float("inf"), "f": 2.5, "l": []}, "b": [1]}
    assert [number_at(record, "a", name) for name in "ntsifl"] == [None, None, None, None, 2.5, None]
    assert (count_at(record, "a", "f"), count_at(record, "b", "c")) == (2, 0)
    assert (text_at(record, "a", "s"), text_at(record, "a", "n"), text_at(record, "b", "c", "d")) == ("x", "", "")
    assert text_at(None, "a") == ""


def test_a_message_is_one_line_of_text_that_can_be_written() -> None:
    assert one_line("a\n\tb\x1b[1m c\0\ud800") == "a b c?"
    assert len(one_line("x" * 1000)) == 300
