"""The door of a sandbox, as it is seen from inside: where it is, and what leads there.

Knows where `budwood-supervisor sandbox` puts itself and the door. Must not know what serves outside.
"""

DOOR = "BUDWOOD_DOOR"
"""The variable that says where the door is; whoever has it is inside."""
PLACE = "/.budwood-door"
RELAY = ("/.budwood", "relay", PLACE)
"""What speaks on standard input and output for what is outside."""
