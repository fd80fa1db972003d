"""What all kinds of events have in common."""

from typing import ClassVar

from msgspec import Struct


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing that happened.

    Python does not look for garbage among them (`gc=False`): there are many, and nothing in one leads back to it.
    """

    version: ClassVar[int] = 1
