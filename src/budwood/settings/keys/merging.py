"""Settings of the merge queue: how finished lanes are merged, what judges them, and who solves conflicts."""

from budwood.settings import kinds
from budwood.settings.keys.key import Key

MERGING = (
    Key(
        name="into",
        kind=kinds.TEXT,
        default="",
        default_doc="the branch that you stand on",
        doc="The branch of yours that moves to what was merged: when you give `budwood merge`, or with `review` auto.",
        example='"main"',
    ),
    Key(
        name="merge",
        kind=kinds.choice("regular", "squash"),
        default="regular",
        doc="How lanes are merged: with the history of what was made, agents' own commits included, or as one commit.",
        example='"squash"',
    ),
    Key(
        name="merge_order",
        kind=kinds.choice("plan", "finished"),
        default="plan",
        doc="Which lane is merged first: by the plan, or who finished first; what a lane stands on comes before it.",
        example='"finished"',
    ),
    Key(
        name="verify",
        kind=kinds.SOME_TEXT,
        doc="A shell command that judges merged lanes in a workspace of its own, before any branch moves.",
        example='"pytest -q"',
    ),
    Key(
        name="verify_timeout",
        kind=kinds.DURATION,
        default=3600.0,
        default_doc="1h",
        field="verify_timeout_s",
        doc="Time limit of `verify`.",
        example='"20m"',
    ),
    Key(
        name="review",
        kind=kinds.choice("person", "auto"),
        default_doc='"auto" where `verify` is set, else "person"',
        doc="Whether finished lanes are merged when a person asks for it, or at the end of the run.",
        example='"auto"',
    ),
    Key(
        name="resolve",
        kind=kinds.NAMES,
        default=(),
        default_doc="nobody",
        doc="Agents that may try to solve a conflict between lanes before a person is asked.",
        example='["claude"]',
    ),
)
