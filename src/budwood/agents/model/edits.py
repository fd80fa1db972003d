"""What an answer makes of the workspace's files: worked out in memory, all of it or nothing.

Knows edits and files. Must not write: that is `changes`.
"""

from pathlib import Path

from budwood.agents.model import lines as line
from budwood.agents.model.answers import Delete, Edit, Replace, Unusable, Whole
from budwood.agents.model.changes import Change, change
from budwood.agents.model.lines import Text
from budwood.agents.model.places import place_of, read_text_file


def plan(edits: tuple[Edit, ...], *, root: Path) -> tuple[Change, ...]:
    """Work out what each file becomes; raises Unusable, which names file and block, if one edit does not fit."""
    files: dict[Path, _File] = {}
    for edit in edits:
        try:
            place = place_of(edit.path, root=root)
            if isinstance(edit, Delete) and (root / edit.path).is_symlink():
                raise Unusable("it is a symbolic link, which is not deleted")
            if place not in files:
                files[place] = _File(read_text_file(place, path=edit.path))
            files[place].take(edit)
        except Unusable as problem:
            raise Unusable(f"block {edit.number} of the answer ({edit.path}): {problem}") from None
    base = root.resolve()
    found = (change(str(place.relative_to(base)), file.before, after=file.after) for place, file in files.items())
    return tuple(made for made in found if made is not None)


class _File:
    """One file while edits are applied to it, each to what the ones before it left."""

    def __init__(self, before: bytes | None) -> None:
        self.before = before
        self._text = None if before is None else line.split(before)

    @property
    def after(self) -> bytes | None:
        return None if self._text is None else self._text.encode()

    def take(self, edit: Edit) -> None:
        """Apply one edit."""
        match edit:
            case Delete():
                after = None
                if self._text is None:
                    raise Unusable("there is no such file to delete")
            case Whole():
                after = line.fresh(edit.lines, like=self._text or Text())
            case Replace():
                after = self._replaced(edit)
        self._guard(after)
        self._text = after

    def _replaced(self, edit: Replace) -> Text:
        for wanted, lines in reversed(edit.ways):  # where more fits, less fits too, and more is meant
            after = self._way(wanted, lines)
            if after is not None:
                return after
        if self._text is None:
            raise Unusable("there is no such file to search in; an empty SEARCH makes a new one")
        wanted = edit.ways[0][0]
        if not wanted:
            raise Unusable("the file is there already; an empty SEARCH only makes new files")
        first = next((text.strip() for text in wanted if text.strip()), "")
        raise Unusable(f"the text to search for is not in the file; it begins with {first[:80]!r}")

    def _way(self, wanted: tuple[str, ...], lines: tuple[str, ...]) -> Text | None:
        """Apply a block as read in one way; None if it does not fit."""
        if not wanted:
            is_new = self._text is None or not self._text.lines
            return line.fresh(lines, like=self._text or Text()) if is_new else None
        if self._text is None:
            return None
        found = line.find(wanted, self._text)
        if len(found) > 1:
            at = ", ".join(str(match.at + 1) for match in found[:5])
            raise Unusable(f"the text to search for is there {len(found)} times (lines {at}); which is meant?")
        if not found:
            return None
        after = line.put(self._text, found[0], size=len(wanted), lines=lines)
        if after is None:
            raise Unusable("the text is indented less in the file, and the replacement cannot be indented so")
        return after

    def _guard(self, after: Text | None) -> None:
        """Refuse to change anything outside of EVOLVE-BLOCK markers."""
        if self._text is None:
            return
        try:
            kept = line.frozen(self._text)
        except ValueError as problem:
            raise Unusable(f"the file's EVOLVE-BLOCK markers do not pair, on line {problem}") from None
        if kept is None:
            return
        try:
            is_kept = after is not None and line.frozen(after) == kept
        except ValueError:
            is_kept = False
        if not is_kept:
            raise Unusable("it changes text outside of the file's EVOLVE-BLOCK markers, or the markers themselves")
