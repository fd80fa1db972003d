"""Candidates beside each other as one HTML page that needs no other file, no network and no script.

Knows what was compared and HTML; everything that comes from a run is escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from budwood.cli.comparison import HEADS, NUMBERS, cells
from budwood.review.comparing import Compared, Variant

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --plus: #1a7f3722; --minus: #cf222e22; --best: #bf870022 }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
tr.best { background: var(--best); font-weight: 600 }
.wide { overflow-x: auto }
.sides { display: flex; gap: 1rem; overflow-x: auto; align-items: flex-start }
.side { flex: 1 1 24rem; min-width: 20rem; border: 1px solid var(--line); border-radius: 6px; overflow: hidden }
.side h3 { margin: 0; padding: .3rem .7rem; font-size: 1rem; border-bottom: 1px solid var(--line) }
pre { margin: 0; padding: .5rem 0; overflow-x: auto; font: 12.5px/1.45 ui-monospace, monospace }
pre span { display: block; padding: 0 .7rem; min-height: 1.45em }
.plus { background: var(--plus) } .minus { background: var(--minus) } .place { opacity: .6 }
summary { cursor: pointer; font-weight: 600; padding: .4rem 0 }
.remark { opacity: .75 }
"""


def comparison_page(run: str, compared: Sequence[Compared], files: Mapping[str, Sequence[Variant]]) -> str:
    """Write the page: a table of candidates, then every file with what each made of it, side by side."""
    heads = "".join(f"<th{_class(head)}>{head}</th>" for head in HEADS)
    rows = "".join(map(_row, compared))
    parts = "".join(_file(path, variants, len(compared)) for path, variants in files.items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(run)}: candidates</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(run)}: candidates</h1>"
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"<h2>Files</h2>{parts or '<p>None has changed a file.</p>'}</body></html>\n"
    )


def _class(head: str) -> str:
    return ' class="number"' if head in NUMBERS else ""


def _row(each: Compared) -> str:
    inside = "".join(f"<td{_class(head)}>{escape(cell)}</td>" for head, cell in zip(HEADS, cells(each), strict=True))
    return f"<tr{' class=best' if each.is_best else ''}>{inside}</tr>"


def _file(path: str, variants: Sequence[Variant], candidates: int) -> str:
    touched = sum(len(variant.tasks) for variant in variants)
    sides = "".join(
        f'<div class="side"><h3>{escape(", ".join(map(str, variant.tasks)))}</h3>'
        f"<pre>{''.join(_lines(variant.patch))}</pre></div>"
        for variant in variants
    )
    return (
        f"<details open><summary>{escape(path)} <span class='remark'>changed by {touched} of {candidates}</span>"
        f"</summary><div class='sides'>{sides}</div></details>"
    )


def _lines(patch: str) -> Iterable[str]:
    """Give each line its colour; what git writes above the first place is of no use here."""
    place = patch.find("\n@@")
    for line in (patch[place + 1 :] if place >= 0 else patch).splitlines():
        kind = {"+": "plus", "-": "minus", "@": "place"}.get(line[:1], "same")
        yield f"<span class='{kind}'>{escape(line)}</span>"
