"""How programs are told of budwood's MCP server: what all of their forms have in common.

A token stands in no file and no argument: programs hand it on by the name of its variable. Knows names and times; must
not know any program.
"""

NAME = "budwood"
VARIABLES = ("BUDWOOD_ACCESS", "BUDWOOD_TOKEN")
"""What the server needs of an attempt's environment; most programs start it with a cleaned one."""
START_S = 60
"""A server that is not there by then is done without."""
CALL_S = 3600
"""A call may wait for a person."""
WAIT = "58m"
"""How long the server waits itself: shorter, so that it is the one who says so."""
