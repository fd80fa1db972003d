"""What can be wrong with the file itself, apart from what the events say.

Knows the tables; must not know what events mean.
"""

import sqlite3

from budwood.stores.questions import QUESTIONS, UNREADABLE

_NO_JSON = "SELECT run.id, event.number FROM event JOIN run ON run.number = event.run WHERE NOT json_valid(event.body)"


def problems(connection: sqlite3.Connection) -> list[str]:
    """List them, a line each; empty when all is well."""
    found = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(100)") if line != "ok"]
    for text, question in (*QUESTIONS, (UNREADABLE, _NO_JSON)):
        found.extend(text.format(*values) for values in connection.execute(question))
    return found
