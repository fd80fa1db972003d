"""Parts of a large repository: only some directories are laid out, with all that is below them.

Git calls these cones: the files at the top, the files beside each directory on the way, and everything in the
directories themselves. Knows git's file of patterns; must not know directories of the file system.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from budwood.workspaces.bring import refuse_outside

SETTINGS = (("core.sparseCheckout", "true"), ("core.sparseCheckoutCone", "true"))
FILE = "info/sparse-checkout"


def cone_patterns(directories: Sequence[str]) -> str:
    """Write git's patterns for some directories; nothing if all is wanted."""
    if not directories:
        return ""
    refuse_outside(directories, key="sparse")
    wanted = sorted({PurePosixPath(each) for each in directories})
    above = sorted({parent for path in wanted for parent in path.parents if parent.parts} - set(wanted))
    lines = ["/*", "!/*/"]
    for path in above:
        lines += [f"/{_quoted(path)}/", f"!/{_quoted(path)}/*/"]
    lines += [f"/{_quoted(path)}/" for path in wanted if not any(parent in wanted for parent in path.parents)]
    return "".join(f"{line}\n" for line in lines)


def _quoted(path: PurePosixPath) -> str:
    return "".join(f"\\{char}" if char in "*?[\\" else char for char in str(path))
