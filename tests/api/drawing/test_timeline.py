"""The drawing of attempts over time: slots, ends, retries, pauses, and very many."""

from tests.api.drawing.nodes import Seen, attempt

from budwood._core.model import AttemptPhase
from budwood.api.drawing.timeline import draw_timeline

NAMES = {number: f"t{number}" for number in range(2000)}
DONE, FAILED = AttemptPhase.SUCCEEDED, AttemptPhase.FAILED


def test_attempts_are_bars_by_slot_and_time_with_how_they_ended() -> None:
    rows = [
        attempt(0, slot=0, begin_s=0, end_s=4, phase=DONE),
        attempt(1, slot=2, begin_s=1, end_s=3, phase=FAILED),
        attempt(1, slot=2, begin_s=5, end_s=6, phase=AttemptPhase.TIMED_OUT, number=2),
        attempt(2, slot=0, begin_s=5, end_s=None, phase=AttemptPhase.RUNNING),
    ]
    drawing = draw_timeline("night", NAMES, rows, 10_000)
    seen = Seen(drawing)
    assert drawing.text == "Attempts of run night: 4 in 2 slots, 10 s, 1 retry"
    assert {"slot 0", "slot 2", "0", "+2.0 s", "t0", "t1 (2)"} <= set(seen.texts)
    assert "slot 1" not in seen.texts
    assert seen.texts[-5:] == [
        "succeeded",
        "failed",
        "timed out",
        "running",
        "dashed: not the first attempt at its task",
    ]
    bars = {
        name: (seen.number(name, "rect", "x"), seen.number(name, "rect", "width"))
        for name in ("t0,", "t1, attempt 1", "t1, attempt 2", "t2,")
    }
    assert [round(wide) for _, wide in bars.values()] == [264, 132, 66, 330]
    assert bars["t2,"][0] == bars["t1, attempt 2"][0]
    assert (
        seen.number("t0,", "rect", "y") == seen.number("t2,", "rect", "y") < seen.number("t1, attempt 1", "rect", "y")
    )
    assert "stroke-dasharray" in seen.group("t1, attempt 2")[1].attrib
    assert "stroke-dasharray" not in seen.group("t1, attempt 1")[1].attrib
    assert [seen.shapes(name)[1] for name in bars] == ["circle", "path", "polygon", "polygon"]


def test_a_day_in_which_nothing_ran_is_cut_short_and_said() -> None:
    day = 86400
    rows = [
        attempt(0, slot=0, begin_s=0, end_s=60, phase=DONE),
        attempt(1, slot=0, begin_s=day, end_s=day + 60, phase=DONE),
    ]
    seen = Seen(draw_timeline("night", NAMES, rows, 0))
    assert "nothing ran for 23 h 59 min" in seen.titles
    assert seen.number("t1,", "rect", "width") == seen.number("t0,", "rect", "width") > 300
    assert {"0", "1 d"} <= set(seen.texts)


def test_what_has_not_begun_is_not_there_and_a_clock_that_was_set_back_breaks_nothing() -> None:
    assert "Nothing has begun yet." in Seen(draw_timeline("night", NAMES, [], 0)).texts
    seen = Seen(draw_timeline("night", NAMES, [attempt(0, slot=0, begin_s=5, end_s=4, phase=DONE)], 0))
    assert seen.number("t0,", "rect", "width") == 1.5


def test_of_very_many_the_longest_are_drawn_and_the_rest_is_counted() -> None:
    rows = [attempt(n, slot=n % 100, begin_s=n, end_s=n + 1 + n / 100, phase=DONE) for n in range(1500)]
    drawing = draw_timeline("night", NAMES, rows, 0)
    seen = Seen(drawing)
    assert seen.texts[-1] == "and 1,200 more that were shorter"
    assert {title.partition(",")[0] for title in seen.titles} == {f"t{n}" for n in range(1200, 1500)}
    assert float(seen.root.attrib["height"]) < 1100
    assert len(drawing.svg) < 200_000
