"""Others' files, brought into the shape of ours.

Knows what those files look like. Must not know plans, runs or settings: a reader returns plain tables.
"""
