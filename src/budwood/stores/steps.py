"""Numbered SQL files that lead a database from one version of the schema to the next.

What the SQL backends share. Knows files and numbers; must not know any database.
"""

from pathlib import Path

from budwood.errors import StoreTooNew


def steps_in(folder: Path) -> dict[int, Path]:
    """List the files by the version that each leads to."""
    return {int(path.name[:4]): path for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))}


def refuse_newer(version: int, where: str, *, newest: int) -> None:
    """Raise if this budwood is too old for the store."""
    if version > newest:
        raise StoreTooNew(
            f"{where} was written by a newer budwood (schema {version}; this one knows {newest}); nothing was touched",
            hint="pip install --upgrade budwood",
        )
