"""How programs are told of budwood's MCP server: what all of their forms have in common.

A token stands in no file and no argument: programs hand it on by the name of its variable. Knows names and times; must
not know any program.
"""

from msgspec import Struct

NAME = "budwood"
VARIABLES = ("BUDWOOD_ACCESS", "BUDWOOD_TOKEN")
"""By what a server knows whose attempt it is."""
START_S = 60
"""A server that is not there by then is done without."""
CALL_S = 3600
"""A call may wait for a person."""
WAIT = "58m"
"""How long the server waits itself: shorter, so that it is the one who says so."""


class Server(Struct, frozen=True):
    """How an agent's program starts the server."""

    words: tuple[str, ...]
    variables: tuple[str, ...] = ()
    """What it needs of the attempt's environment; most programs start it with a cleaned one."""
