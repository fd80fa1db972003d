"""What can be wrong with the tables themselves, apart from what the events say.

Knows the tables; must not know what events mean.
"""

from budwood.stores.postgres.connect import Connection
from budwood.stores.questions import QUESTIONS, UNREADABLE

_ASKS_JSON = 160_000
"""The version of the server from which on it can tell what is JSON; before, that is left to who folds the events."""
_NO_JSON = "SELECT run.id, event.number FROM event JOIN run ON run.number = event.run WHERE event.body IS NOT JSON"


def problems(connection: Connection) -> list[str]:
    """List them, a line each; empty when all is well."""
    questions = QUESTIONS if connection.info.server_version < _ASKS_JSON else (*QUESTIONS, (UNREADABLE, _NO_JSON))
    return [text.format(*values) for text, question in questions for values in connection.execute(question)]
