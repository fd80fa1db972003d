"""Names that are safe in files, refs and on a command line, and how they are found by a prefix.

Must not know randomness or stores: who needs a fresh id passes the random bits in.
"""

import re
import unicodedata
from collections.abc import Iterable

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_WINDOWS = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))}
LAST = "last"
"""On the command line, the newest run; so no run may be called that."""


def run_id(bits: int) -> str:
    """Write 48 random bits as ten characters that nobody misreads; the first is a digit, so it looks like no word."""
    return f"{bits >> 45 & 7}" + "".join(_ALPHABET[(bits >> shift) & 31] for shift in range(40, -1, -5))


def attempt_id(task: int, attempt: int) -> str:
    """Name an attempt's directory: short, and safe whatever the task is called."""
    return f"{task}.{attempt}"


def task_number(attempt: str) -> int:
    """Read from an attempt's name which task it is of."""
    return int(attempt.partition(".")[0])


def safe_name(text: str, *, fallback: str = "run", most: int = 60) -> str:
    """Make a name of letters, digits and dashes that every file system and git accept, at most so many characters."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:most].strip("-")
    if not name:
        return fallback
    return f"{name}-{fallback}" if name in _WINDOWS or name == LAST else name


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return the wanted name, or the first of name-2, name-3, … that is not taken."""
    names = set(taken)
    if wanted not in names:
        return wanted
    return next(name for n in range(2, len(names) + 3) if (name := f"{wanted}-{n}") not in names)


def by_prefix(given: str, names: Iterable[str]) -> list[str]:
    """Find the names that a prefix means: the exact one alone, else all that begin with it."""
    found = [name for name in names if name.startswith(given)]
    return [given] if given in found else found
