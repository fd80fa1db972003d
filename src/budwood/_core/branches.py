"""Names of lanes' branches: safe in every file system, on every platform, and in refs.

Knows names only.
"""

from budwood._core.ids import safe_name
from budwood._core.model import TaskId

MOST_CHARS = 200


def lane_branch(lane: TaskId, name: str, *, word: str = "lane") -> str:
    """Name the branch of a lane: `lane-api-users`; `word` is "epic" in plans that came with epics."""
    parts = [word, safe_name(str(lane), fallback=word)]
    if name.strip():
        parts.append(safe_name(name, fallback=word, most=MOST_CHARS))
    return "-".join(parts)[:MOST_CHARS].rstrip("-")
