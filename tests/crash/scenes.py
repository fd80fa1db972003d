"""The scenes of the crash suite, by name, so that a victim in another process can make the same one."""

from pathlib import Path

from tests.support.scene import LANES, Scene, thirty_tasks


def thirty(root: Path) -> Scene:
    """Thirty tasks with failures and retries."""
    return Scene(root, thirty_tasks(), LANES)
