"""What can be wrong with tables, apart from what the events say: each question finds what should not be there.

What the SQL backends share. Knows the tables; must not know what events mean.
"""

QUESTIONS = (
    (
        "run {}: {} events, but the last one's number is {}",
        "SELECT run.id, count(*), max(event.number) FROM event JOIN run ON run.number = event.run "
        "GROUP BY run.number HAVING count(*) <> max(event.number) OR min(event.number) <> 1",
    ),
    (
        "run {}: its row says that event {} is the last, but it is {}",
        "SELECT run.id, run.last_event, coalesce(max(event.number), 0) "
        "FROM run LEFT JOIN event ON event.run = run.number "
        "GROUP BY run.number HAVING run.last_event <> coalesce(max(event.number), 0)",
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
"""What to say, and the query that gives what is to be filled in."""
UNREADABLE = "run {}: event {} cannot be read"
"""For the question that each backend asks in its own words: which event's body is no JSON."""
