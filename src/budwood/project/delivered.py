"""How far the events of a run have come at one web address, remembered from drive to drive in a small file.

Lost or unreadable, it only means that events are sent again. Knows files; must not know how anything is sent.
"""

import hashlib
import os
from pathlib import Path

import msgspec
from msgspec import Struct


class _Mark(Struct, frozen=True):
    delivered: int


class Delivered:
    """The number of the last event that an address has confirmed; another address has another file."""

    def __init__(self, folder: Path, address: str) -> None:
        # By digest: the address itself may hold a token, and may not be fit for a file's name.
        self._path = folder / f"webhook-{hashlib.sha256(address.encode()).hexdigest()[:16]}.json"
        self.problem = ""
        """Why it cannot be remembered."""

    def read(self, *, before: int) -> int:
        """Return the number; 0 if none is known, or if it cannot be one of this run before its event `before`."""
        try:
            number = msgspec.json.decode(self._path.read_bytes(), type=_Mark).delivered
        except (OSError, msgspec.MsgspecError):
            return 0
        # A store that was brought back from an old copy has other events under the numbers behind that copy.
        return number if 0 <= number < before else 0

    def write(self, number: int) -> None:
        """Remember a number, all of it or not at all. A disk that refuses is no reason to stop."""
        draft = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(_Mark(number)))
            os.replace(draft, self._path)
            self.problem = ""
        except OSError as error:
            self.problem = (
                f"{self._path} cannot be written ({error.strerror}), so they are sent again in the next drive"
            )
