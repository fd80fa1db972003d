"""Every random number of a run, derived from what it is for.

Two processes that ask for the same purpose get the same number on any machine and in any order. Knows hashing only;
must not know a clock, a process id or Python's own salted hash.
"""

import hashlib


def derive(run_seed: int, key: str, *, retry: int = 0, purpose: str) -> int:
    """Return 63 bits for one purpose of one try at one task."""
    text = f"budwood\0{run_seed}\0{key}\0{retry}\0{purpose}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def fraction(run_seed: int, key: str, *, retry: int = 0, purpose: str) -> float:
    """Return a number in [0, 1) for one purpose of one try at one task."""
    return derive(run_seed, key, retry=retry, purpose=purpose) / 2**63
