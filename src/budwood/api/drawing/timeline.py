"""When attempts ran, drawn: a bar each, slot by slot, with how they ended; hours in which nothing ran are cut short.

Knows rows and SVG. Must not know stores, notebooks or clocks: what is now is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from budwood._core.model import OPEN_ATTEMPT, AttemptPhase
from budwood._core.rows import AttemptRow
from budwood.api.drawing.drawing import MOST, Drawing
from budwood.api.drawing.frame import HEAD_PX, MARGIN_PX, framed, left_out
from budwood.api.drawing.layout import TimeScale, seconds_between
from budwood.api.drawing.marks import MARKS, draw_mark
from budwood.api.drawing.svg import CHARACTER_PX, cut, element, path, title, width_of, words
from budwood.project.times import span
from budwood.project.words import counted, money

WIDTH_PX = 660.0
SLOT_PX = 56.0
PAUSE_PX = 26.0
_WORDS = {
    AttemptPhase.SUCCEEDED: "succeeded",
    AttemptPhase.FAILED: "failed",
    AttemptPhase.TIMED_OUT: "timed out",
    AttemptPhase.CANCELLED: "cancelled",
    AttemptPhase.ABANDONED: "abandoned",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bar:
    """An attempt and the time that it took."""

    attempt: AttemptRow
    task: str
    begin_ms: float
    end_ms: float

    @property
    def word(self) -> str:
        """Say how it ended."""
        return _WORDS.get(self.attempt.phase, "running")

    @property
    def name(self) -> str:
        """Name it."""
        return self.task if self.attempt.number == 1 else f"{self.task} ({self.attempt.number})"


def draw_timeline(run: str, names: Mapping[int, str], attempts: Sequence[AttemptRow], now_ms: int) -> Drawing:
    """Draw every attempt that has begun; names are those of tasks, by number."""
    bars = list(_bars(attempts, names, now_ms))
    said = f"Attempts of run {run}: {len(bars):,}"
    if not bars:
        return framed(said, [words(MARGIN_PX, HEAD_PX, "Nothing has begun yet.")], width=WIDTH_PX / 2, bottom=HEAD_PX)
    slots = sorted({bar.attempt.slot for bar in bars})
    left = MARGIN_PX + SLOT_PX
    scale = TimeScale(((bar.begin_ms, bar.end_ms) for bar in bars), left=left, width=WIDTH_PX, pause_px=PAUSE_PX)
    height = max(6.0, min(22.0, 900 / len(slots)))
    shown = sorted(bars, key=lambda bar: bar.begin_ms - bar.end_ms)[:MOST]
    bottom = HEAD_PX + height * len(slots)
    rows = {slot: HEAD_PX + height * (place + 0.5) for place, slot in enumerate(slots)}
    parts = [*_slots(rows, height, left), *_times(scale, bottom)]
    parts += (_drawn(bar, scale, rows[bar.attempt.slot], height) for bar in sorted(shown, key=lambda bar: bar.begin_ms))
    retries = sum(bar.attempt.number > 1 for bar in bars)
    notes = ["dashed: not the first attempt at its task"] if any(bar.attempt.number > 1 for bar in shown) else []
    return framed(
        f"{said} in {counted(len(slots), 'slot')}, {span((scale.end - scale.begin) / 1000)}"
        + (f", {counted(retries, 'retry') if retries == 1 else f'{retries:,} retries'}" if retries else ""),
        parts,
        width=SLOT_PX + WIDTH_PX,
        bottom=bottom + 18,
        used={bar.word for bar in shown},
        notes=[*notes, *left_out(len(bars) - len(shown), what=" that were shorter")],
    )


def _bars(attempts: Sequence[AttemptRow], names: Mapping[int, str], now_ms: int) -> Iterator[_Bar]:
    for attempt in attempts:
        begin = attempt.started_at_ms
        if begin is None:
            continue
        end = attempt.finished_at_ms
        if end is None:
            end = now_ms if attempt.phase in OPEN_ATTEMPT else begin
        name = names.get(attempt.task, f"task {attempt.task}")
        yield _Bar(attempt=attempt, task=name, begin_ms=begin, end_ms=max(begin, end))


def _slots(rows: Mapping[int, float], height: float, left: float) -> Iterator[str]:
    every = max(1, round(14 / height))
    for place, (slot, y) in enumerate(rows.items()):
        if place % every == 0:
            yield words(left - 8, y, f"slot {slot}", fill="faint", text_anchor="end")
        line = path([(left, y), (left + WIDTH_PX, y)])
        yield element("path", d=line, stroke="line", stroke_width=0.5, stroke_dasharray="1 3")


def _times(scale: TimeScale, bottom: float) -> Iterator[str]:
    """Write below how much time has gone by: since the beginning, and after a pause since that."""
    step_ms = 1000 * seconds_between(sum(end - begin for begin, end in scale.segments) / 1000)
    said = [(begin, span((begin - scale.begin) / 1000) if begin > scale.begin else "0") for begin, _ in scale.segments]
    for begin, end in scale.segments:
        steps = range(1, int((end - begin) / step_ms) + 1)
        said += ((begin + count * step_ms, f"+{span(count * step_ms / 1000)}") for count in steps)
    taken: list[tuple[float, float]] = []
    for time_ms, text in said:
        x, half = scale.at(time_ms), width_of(text) / 2 + CHARACTER_PX
        if all(x + half <= left or right <= x - half for left, right in taken):
            taken.append((x - half, x + half))
            yield words(x, bottom + 11, text, fill="faint", text_anchor="middle")
    for gap in scale.pauses:
        begin, end = scale.at(gap.begin), scale.at(gap.end)
        about = title(f"nothing ran for {span((gap.end - gap.begin) / 1000)}")
        box = {"x": begin, "y": HEAD_PX, "width": end - begin, "height": bottom - HEAD_PX}
        yield element("g", about, element("rect", **box, fill="line", opacity=0.4))


def _drawn(bar: _Bar, scale: TimeScale, y: float, height: float) -> str:
    begin, end = scale.at(bar.begin_ms), scale.at(bar.end_ms)
    wide = max(1.5, end - begin)
    colour = MARKS[bar.word].colour
    tall = height - min(6.0, height / 3)
    outline = "3 2" if bar.attempt.number > 1 else None
    box = {"x": begin, "y": y - tall / 2, "width": wide, "height": tall}
    parts = [
        title(*_told(bar)),
        element("rect", **box, rx=2, fill=colour, fill_opacity=0.22, stroke=colour, stroke_dasharray=outline),
    ]
    if wide >= 14 and tall >= 12:
        parts.append(draw_mark(bar.word, begin + wide - 7, y, radius=4.0))
        room = wide - 20
        if room >= min(width_of(bar.name), 10 * CHARACTER_PX):
            parts.append(words(begin + 5, y, cut(bar.name, room)))
    return element("g", *parts)


def _told(bar: _Bar) -> tuple[str, ...]:
    attempt = bar.attempt
    return (
        f"{bar.task}, attempt {attempt.number}: {bar.word}",
        span((bar.end_ms - bar.begin_ms) / 1000),
        money(attempt.cost_usd) if attempt.cost_usd else "",
        "" if attempt.error is None else attempt.error.message,
    )
