"""What a program of ours that performs an attempt left when it had run."""

from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Ran:
    """Its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """Its last line."""
        return msgspec.json.decode(self.out.splitlines()[-1], type=dict[str, Any])

    @property
    def outcome(self) -> tuple[str, int]:
        """How it says that it ended, and its exit code."""
        return self.report["outcome"], self.code

    @property
    def end(self) -> tuple[int, str, str]:
        """Its exit code, its outcome and its message."""
        return self.code, self.report["outcome"], self.report["message"]
