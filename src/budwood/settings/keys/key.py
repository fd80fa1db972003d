"""One setting: what it is called, what it takes, its default and its meaning.

Knows names and kinds. Must not know which settings there are, or where values come from.
"""

from dataclasses import dataclass
from enum import StrEnum

from budwood.settings.kinds import Kind


class Scope(StrEnum):
    """Where a key may stand, and whom it concerns."""

    RUN = "run"
    """[run] of a plan, of budwood.toml and of the user's file: one run."""
    TASK = "task"
    """The same places, and each task may say otherwise."""
    MACHINE = "machine"
    """[machine] of budwood.toml and of the user's file: all runs; never a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting."""

    name: str
    kind: Kind
    doc: str
    default: object = None
    """None: not set, or what the machine has (then `default_doc` says what)."""
    default_doc: str = ""
    scope: Scope = Scope.RUN
    flag: str | None = None
    field: str | None = None
    """What it is called in RunSettings or TaskSpec, where that differs; "" when it is in neither."""
    example: str

    @property
    def env(self) -> str:
        """Name its environment variable."""
        return f"BUDWOOD_{self.name.upper()}"

    @property
    def table(self) -> str:
        """Name the table of a TOML file that it stands in."""
        return "machine" if self.scope is Scope.MACHINE else "run"

    @property
    def target(self) -> str:
        """Name the field that it ends up in."""
        return self.name if self.field is None else self.field

    @property
    def shown_default(self) -> str:
        """Say the default in words."""
        return self.default_doc or ("none" if self.default is None else str(self.default))
