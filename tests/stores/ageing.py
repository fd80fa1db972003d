"""Stores as an earlier version left them: what a later step of the schema added is taken out again."""

WITHOUT_SCORES = (
    "DROP VIEW tasks",
    "DROP VIEW attempts",
    *(f"ALTER TABLE task DROP COLUMN {column}" for column in ("score", "valid", "gain")),
    *(f"ALTER TABLE attempt DROP COLUMN {column}" for column in ("score", "valid")),
    "CREATE VIEW tasks AS SELECT id AS run FROM run",
    "CREATE VIEW attempts AS SELECT id AS run FROM run",
)
"""How a store of either kind loses what its step about scores brought."""
