"""Candidates beside each other as one HTML page that needs no other file, no network and no script.

Knows what was compared and HTML; everything that comes from a run is escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from budwood.cli.comparison import HEADS, LONG, NUMBERS, cells
from budwood.review.comparing import Compared, Variant

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --plus: #1a7f3722; --minus: #cf222e22; --best: #bf870022 }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem }
h1, h3, summary { overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top }
th, td { white-space: nowrap }
td.text { white-space: normal; min-width: 16rem; overflow-wrap: anywhere }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
tr.best { background: var(--best); font-weight: 600 }
.wide { overflow-x: auto }
.sides { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)) }
.side { border: 1px solid var(--line); border-radius: 6px; overflow: hidden; min-width: 0; align-self: start }
.side h3 { margin: 0; padding: .3rem .7rem; font-size: 1rem; border-bottom: 1px solid var(--line) }
.side p { margin: 0; padding: .5rem .7rem }
pre { margin: 0; padding: .5rem 0; overflow-x: auto; font: 12.5px/1.45 ui-monospace, monospace; tab-size: 4 }
pre code { display: inline-block; min-width: 100%; font: inherit }
pre span { display: block; padding: 0 .7rem; min-height: 1.45em }
.plus { background: var(--plus) } .minus { background: var(--minus) } .place { opacity: .7 }
details { margin-bottom: 1rem }
summary { cursor: pointer; font-weight: 600; padding: .4rem 0 }
.remark { opacity: .75; font-weight: 400 }
"""
_HEADER = ("diff --git ", "index ", "--- ", "+++ ")
"""What git writes above a difference, and the page says elsewhere."""
_WORDS = {"new file mode ": "new", "deleted file mode ": "deleted", "Binary files ": "no text"}
"""What git says of a file without lines, in fewer words."""


def comparison_page(run: str, compared: Sequence[Compared], files: Mapping[str, Sequence[Variant]]) -> str:
    """Write the page: a table of candidates, then every file with what each made of it, side by side."""
    table = [cells(each) for each in compared]
    shown = [place for place in range(len(HEADS)) if any(row[place] for row in table)]
    heads = "".join(f"<th{_class(HEADS[place])}>{HEADS[place]}</th>" for place in shown)
    rows = "".join(_row(row, shown, is_best=each.is_best) for each, row in zip(compared, table, strict=True))
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
    return ' class="number"' if head in NUMBERS else ' class="text"' if head in LONG else ""


def _row(row: Sequence[str], shown: Sequence[int], *, is_best: bool) -> str:
    inside = "".join(f"<td{_class(HEADS[place])}>{escape(row[place])}</td>" for place in shown)
    return f"<tr{' class=best' if is_best else ''}>{inside}</tr>"


def _file(path: str, variants: Sequence[Variant], candidates: int) -> str:
    touched = sum(len(variant.tasks) for variant in variants)
    sides = "".join(
        f'<div class="side"><h3>{escape(", ".join(map(str, variant.tasks)))}</h3>{_difference(variant.patch)}</div>'
        for variant in variants
    )
    return (
        f"<details open><summary>{escape(path)} <span class='remark'>changed by {touched} of {candidates}</span>"
        f"</summary><div class='sides'>{sides}</div></details>"
    )


def _difference(patch: str) -> str:
    """Write the lines of a difference; of what has none, such as a binary file, what git says of it in words."""
    place = patch.find("\n@@")
    if place >= 0:
        return f"<pre><code>{''.join(_lines(patch[place + 1 :]))}</code></pre>"
    said = [line for line in patch.splitlines() if not line.startswith(_HEADER)]
    words = [next((word for head, word in _WORDS.items() if line.startswith(head)), line) for line in said]
    whole = f"{words[0]}, and empty" if words in (["new"], ["deleted"]) else "; ".join(words)
    return f'<p class="remark">{escape(whole)}</p>'


def _lines(text: str) -> Iterable[str]:
    """Give each line its colour."""
    for line in text.split("\n")[:-1]:
        kind = {"+": "plus", "-": "minus", "@": "place"}.get(line[:1], "same")
        yield f"<span class='{kind}'>{escape(line)}</span>"
