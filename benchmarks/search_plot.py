"""A picture of how the best score grew, as SVG: a line for each search, and the quartiles of its seeds around it."""

from collections.abc import Mapping, Sequence
from html import escape
from statistics import mean, quantiles

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 40, 48
COLOURS = ("#1f5fa8", "#c4431a", "#2c8a4b", "#7a4fa3", "#8a6d1d", "#3d8f9b", "#666666")


def plot(curves: Mapping[str, Sequence[Sequence[float]]], *, title: str, across: str, up: str) -> str:
    """Draw curves: for each name, one list of values for each seed."""
    length = min(len(curve) for seeds in curves.values() for curve in seeds)
    low = min(curve[0] for seeds in curves.values() for curve in seeds)
    high = max(curve[length - 1] for seeds in curves.values() for curve in seeds)

    def x(place: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * place / (length - 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low))

    def line(values: Sequence[float], places: Sequence[int]) -> str:
        return " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in zip(places, values, strict=True))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
    for step in range(6):
        value, place = low + (high - low) * step / 5, (length - 1) * step // 5
        parts += [
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#e4e4e4"/>',
            f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>',
            f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{place}</text>',
        ]
    parts += [
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(across)}</text>',
        f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(up)}</text>",
    ]
    places = range(length)
    labels: list[tuple[float, str, str]] = []
    for (name, seeds), colour in zip(curves.items(), COLOURS, strict=False):
        at = [[curve[place] for curve in seeds] for place in places]
        quarters = [quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3 for values in at]
        band = f"{line([q[2] for q in quarters], places)} {line([q[0] for q in quarters][::-1], places[::-1])}"
        middle = [mean(values) for values in at]
        parts += [
            f'<polygon points="{band}" fill="{colour}" opacity="0.12"/>',
            f'<polyline points="{line(middle, places)}" fill="none" stroke="{colour}" stroke-width="2"/>',
        ]
        labels.append((y(middle[-1]), f"{name} {middle[-1]:.3f}", colour))
    floor = 0.0
    for height, label, colour in sorted(labels):
        floor = max(height, floor + 15)  # labels of lines that end close together stand below each other
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{floor + 4:.1f}" fill="{colour}">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>", ""])
