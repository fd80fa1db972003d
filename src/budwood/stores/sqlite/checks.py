"""What can be wrong with the file itself, apart from what the events say.

Knows the tables; must not know what events mean.
"""

import sqlite3

_QUESTIONS = (
    (
        "run {}: {} events, but the last one's number is {}",
        "SELECT run.id, count(*), max(event.number) FROM event JOIN run ON run.number = event.run "
        "GROUP BY event.run HAVING count(*) <> max(event.number) OR min(event.number) <> 1",
    ),
    (
        "run {}: its row says that event {} is the last, but it is {}",
        "SELECT run.id, run.last_event, coalesce(max(event.number), 0) "
        "FROM run LEFT JOIN event ON event.run = run.number "
        "GROUP BY run.number HAVING run.last_event <> coalesce(max(event.number), 0)",
    ),
    (
        "run {}: event {} cannot be read",
        "SELECT run.id, event.number FROM event JOIN run ON run.number = event.run WHERE NOT json_valid(event.body)",
    ),
    (
        "run {}: attempt {} of task {}, but there is no such task",
        "SELECT run.id, attempt.number, attempt.task FROM attempt JOIN run ON run.number = attempt.run "
        "LEFT JOIN task ON task.run = attempt.run AND task.number = attempt.task WHERE task.number IS NULL",
    ),
    (
        "run {}: it has no fencing number",
        "SELECT run.id FROM run LEFT JOIN lease ON lease.run = run.number WHERE lease.run IS NULL",
    ),
)


def problems(connection: sqlite3.Connection) -> list[str]:
    """List them, a line each; empty when all is well."""
    found = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(100)") if line != "ok"]
    for text, question in _QUESTIONS:
        found.extend(text.format(*values) for values in connection.execute(question))
    return found
