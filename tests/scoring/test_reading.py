"""What a score command may print, and what is no score."""

import math
from pathlib import Path

import pytest

from budwood.scoring import Unreadable, read_metrics, read_rows


@pytest.mark.parametrize(
    ("printed", "metrics"),
    [
        ("0.5\n", {"score": 0.5}),
        ("0\n", {"score": 0.0}),
        ("  -1e3  \n\n", {"score": -1000.0}),
        ("warming up\n42\n", {"score": 42.0}),
        ('{"score": 2, "size": 12}', {"score": 2.0, "size": 12.0}),
        ('{"performance": 3.5, "note": "fine", "ok": true}', {"score": 3.5}),
        ('loading 3 files\n{"score": 1}\n', {"score": 1.0}),
        ('{\n  "score": 1.5\n}\n', {"score": 1.5}),
        ('{"sharpe": 1.2}', {"sharpe": 1.2}),
        ("done\nSCORE: 0.75\nbye\n", {"score": 0.75}),
    ],
)
def test_a_score_in_each_form(printed: str, metrics: dict[str, float]) -> None:
    assert read_metrics(printed) == metrics


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("", "it printed nothing"),
        ("\n \n", "it printed nothing"),
        ("fine\n", "its last line is no number"),
        ("1\n2\n", "it printed 2 numbers: 1, 2"),
        ("1\nbye\n", "its last line is no number"),
        ("SCORE: 1\nSCORE: 2\n", "it printed 2 SCORE: lines"),
        ("SCORE: high\n", "SCORE: is followed by no number"),
        ('{"name": "x"}', "there is no number in its JSON"),
        ('{"score": 1, "performance": 2}', "has both score and performance"),
        ("[1, 2]", "its last line is no number"),
        ("1 2", "its last line is no number"),
    ],
)
def test_what_is_no_score(printed: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        read_metrics(printed)


def test_what_is_no_number_is_read_as_such() -> None:
    assert math.isnan(read_metrics("nan")["score"])
    assert math.isinf(read_metrics('{"score": Infinity}')["score"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "sharpe,name,calmar\n1,a,2\n3,b,\n"),
        ("rows.json", '[{"sharpe": 1, "name": "a", "calmar": 2}, {"sharpe": 3, "name": "b"}]'),
        ("rows.jsonl", '{"sharpe": 1, "calmar": 2}\n\n{"sharpe": 3, "calmar": null}\n'),
        ("bom.csv", "\ufeffsharpe,calmar\n1,2\n3,x\n"),
    ],
)
def test_a_file_of_results_is_read_row_by_row(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_rows(tmp_path / name) == [{"sharpe": 1.0, "calmar": 2.0}, {"sharpe": 3.0}]


@pytest.mark.parametrize(("name", "text"), [("a.json", "{"), ("a.json", "7"), ("a.jsonl", "[1]\n"), ("a.csv", None)])
def test_a_file_that_is_none(tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(Unreadable):
        read_rows(tmp_path / name)
