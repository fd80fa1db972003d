"""Small file systems of our own, for tests that need a full or a read-only disk. Linux, root; skipped elsewhere."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(where: Path, *, size: str, options: str = "") -> Iterator[Path]:
    """Mount a tmpfs of this size and take it away afterwards, whatever is in it."""
    where.mkdir(exist_ok=True)
    given = f"size={size},mode=777{options}"
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", given, "tmpfs", str(where)], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("mounting needs root")
    try:
        yield where
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=True)


def remount_read_only(where: Path) -> None:
    """Make what `mounted` gave read-only."""
    subprocess.run(["mount", "-o", "remount,ro", str(where)], check=True)
