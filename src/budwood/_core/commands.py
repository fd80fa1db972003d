"""What the engine must do once an event is durable: the machine's only way to touch the world.

Knows ids and numbers. Must not know how anything is done.
"""

from msgspec import Struct


class StartAttempt(Struct, frozen=True, gc=False):
    """Hand the attempt to its slot's supervisor."""

    task: int
    attempt: int


class CancelAttempt(Struct, frozen=True, gc=False):
    """End the attempt's processes; it will report its end."""

    task: int
    attempt: int


class ForgetAttempt(Struct, frozen=True, gc=False):
    """Its end is in the store: its directory may go, its slot is free."""

    task: int
    attempt: int


class WakeTask(Struct, frozen=True, gc=False):
    """Look at the task again after its back-off."""

    task: int
    delay_s: float


class WakeAccount(Struct, frozen=True, gc=False):
    """Look at the tasks again that wait for the end of an account's limit."""

    account: str
    until_ms: int


class AcceptCandidate(Struct, frozen=True, gc=False):
    """Let the branch of a lane stand at what was accepted in it."""

    lane: str
    commit: str


Command = StartAttempt | CancelAttempt | ForgetAttempt | WakeTask | WakeAccount | AcceptCandidate
