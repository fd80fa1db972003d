"""A file as lines: found in spite of white space, changed, and written with the line ends that it had.

Knows text. Must not know where it comes from.
"""

from collections.abc import Sequence

from msgspec import Struct

_BOM = "\ufeff"
_START, _END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"


class Text(Struct, frozen=True, kw_only=True):
    """The lines of a file without their ends, each with its end; only the last may have none."""

    lines: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    bom: bool = False

    @property
    def end(self) -> str:
        """How new lines end here: as most others do."""
        return "\r\n" if self.ends.count("\r\n") > self.ends.count("\n") else "\n"

    def encode(self) -> bytes:
        """Write it out."""
        body = "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))
        return (_BOM + body if self.bom else body).encode()


class Match(Struct, frozen=True, kw_only=True):
    """Where lines were found, and by how much they are indented otherwise there: added, or taken away if `less`."""

    at: int
    indent: str = ""
    less: bool = False


def split(content: bytes) -> Text:
    """Take a file apart; `encode` gives the same bytes again."""
    text = content.decode()
    bom = text.startswith(_BOM)
    *whole, last = text.removeprefix(_BOM).split("\n")
    lines = [line.removesuffix("\r") for line in whole]
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in whole]
    if last:
        lines.append(last)
        ends.append("")
    return Text(lines=tuple(lines), ends=tuple(ends), bom=bom)


def fresh(lines: Sequence[str], *, like: Text) -> Text:
    """Make a file of whole lines, with the line ends and the mark at the beginning of the one that it replaces."""
    return Text(lines=tuple(lines), ends=(like.end,) * len(lines), bom=like.bom)


def find(wanted: Sequence[str], text: Text) -> list[Match]:
    """Return every place of the lines: as they are, else without white space at their ends, indented uniformly."""
    lines, size = text.lines, len(wanted)
    starts = range(len(lines) - size + 1)
    first = wanted[0]
    exact = [Match(at=at) for at in starts if lines[at] == first and lines[at : at + size] == tuple(wanted)]
    if exact:
        return exact
    bare = [line.rstrip() for line in wanted]
    if not any(bare):
        return []
    stripped = [line.rstrip() for line in lines]
    core = bare[0].lstrip()
    near = (at for at in starts if stripped[at].lstrip() == core)
    return [match for at in near if (match := _fit(bare, stripped[at : at + size], at=at)) is not None]


def _fit(bare: list[str], there: list[str], *, at: int) -> Match | None:
    pairs = [pair for pair in zip(bare, there, strict=True) if any(pair)]
    if not all(ours and theirs for ours, theirs in pairs):
        return None
    ours, theirs = pairs[0]
    less = len(ours) > len(theirs)
    longer, shorter = (ours, theirs) if less else (theirs, ours)
    indent = longer[: len(longer) - len(shorter)]
    if indent.strip():
        return None
    fits = all((ours == indent + theirs) if less else (theirs == indent + ours) for ours, theirs in pairs)
    return Match(at=at, indent=indent, less=less) if fits else None


def put(text: Text, match: Match, *, size: int, lines: Sequence[str]) -> Text | None:
    """Put lines in the place of those found; None if theirs cannot be indented as the others are."""
    shifted = [_shift(line, match) for line in lines]
    if None in shifted:
        return None
    fitting = tuple(line for line in shifted if line is not None)
    at, behind = match.at, match.at + size
    ends = (text.end,) * len(fitting)
    if behind == len(text.lines) and text.ends[-1] == "" and ends:
        ends = (*ends[:-1], "")
    return Text(
        lines=text.lines[:at] + fitting + text.lines[behind:],
        ends=text.ends[:at] + ends + text.ends[behind:],
        bom=text.bom,
    )


def _shift(line: str, match: Match) -> str | None:
    if not match.indent or not line.strip():
        return line
    if not match.less:
        return match.indent + line
    return line.removeprefix(match.indent) if line.startswith(match.indent) else None


def frozen(text: Text) -> list[str | None] | None:
    """Return what must not change in a file with EVOLVE-BLOCK markers, None for each block; None without markers.

    Raises ValueError with the number of the line where markers do not pair.
    """
    kept: list[str | None] = []
    inside = False
    for number, line in enumerate(text.lines, 1):
        if (_START in line) is not (_END in line):  # a line that names both speaks of them
            if (_START in line) is inside:
                raise ValueError(number)
            if inside:
                kept.append(None)
            inside = not inside
            kept.append(line)
        elif not inside:
            kept.append(line)
    if inside:
        raise ValueError(len(text.lines))
    return kept if None in kept else None
