"""The one table of others' names for our keys, tested row by row.

Knows words only. A key that stands in no table of its format is refused, so that a slip of the pen is no lost wish.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alias:
    """Their key, and ours; None when theirs has no meaning in a plan."""

    theirs: str
    ours: str | None


YOKEFLOW_TASK = (
    Alias("id", "id"),
    Alias("epic_id", "lane"),
    Alias("description", "description"),
    Alias("action", "prompt"),
    Alias("depends_on", "after"),
    Alias("dependency_type", "prefer_after"),
    Alias("priority", "priority"),
    Alias("done", None),
    Alias("status", None),
    Alias("project_id", None),
    Alias("epic_name", None),
    Alias("epic_description", None),
    Alias("session_id", None),
    Alias("session_notes", None),
    Alias("metadata", None),
    Alias("tests", None),
    Alias("created_at", None),
    Alias("started_at", None),
    Alias("updated_at", None),
    Alias("completed_at", None),
)
"""Tasks of YokeFlow. With `dependency_type = "soft"` what `depends_on` names goes into prefer_after. There the lower
priority comes first, here the higher: its sign is turned. What is `done` is left out."""

YOKEFLOW_EPIC = (
    Alias("id", "id"),
    Alias("name", "name"),
    Alias("depends_on", "after"),
    Alias("depends_on_epics", "after"),
    Alias("description", None),
    Alias("priority", None),
    Alias("status", None),
    Alias("epic_type", None),
    Alias("domain", None),
    Alias("project_id", None),
    Alias("metadata", None),
    Alias("created_at", None),
    Alias("started_at", None),
    Alias("updated_at", None),
    Alias("completed_at", None),
)

YOKEFLOW_DEPENDENCY = (
    Alias("task_id", "id"),
    Alias("depends_on", "after"),
    Alias("dependency_type", "prefer_after"),
)
"""Rows of `task_dependencies`: one dependency each, hard or soft, beside what tasks say themselves."""

YOKEFLOW_TOP = (
    Alias("tasks", "task"),
    Alias("epics", "lane"),
    Alias("task_dependencies", "task"),
    Alias("parallel_batches", None),
    Alias("worktrees", None),
    Alias("project", None),
    Alias("project_id", None),
    Alias("project_name", None),
    Alias("exported_at", None),
    Alias("created_at", None),
    Alias("version", None),
)
