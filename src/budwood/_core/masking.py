"""Secrets kept out of what is shown, where all of it is there.

Pure. What an attempt prints bit by bit is masked by its supervisor, by the same rules: every byte of every occurrence
goes, and occurrences that overlap have one mark.
"""

from collections.abc import Iterable, Iterator
from typing import AnyStr

LEAST_BYTES = 6
"""What is shorter would be found in ordinary words."""
_MARK = "[masked]"


def maskable(secrets: Iterable[str]) -> tuple[str, ...]:
    """Leave out what is too short to be told from ordinary words; name each once."""
    return tuple(dict.fromkeys(secret for secret in secrets if len(_bytes(secret)) >= LEAST_BYTES))


def mask_bytes(data: bytes, secrets: Iterable[str]) -> bytes:
    """Put a mark in the place of each secret."""
    return b"".join(_pieces(data, [_bytes(secret) for secret in maskable(secrets)], mark=_MARK.encode()))


def mask_text(text: str, secrets: Iterable[str]) -> str:
    """Put a mark in the place of each secret."""
    return "".join(_pieces(text, list(maskable(secrets)), mark=_MARK))


def _bytes(secret: str) -> bytes:
    return secret.encode(errors="surrogateescape")


def _pieces(whole: AnyStr, secrets: list[AnyStr], *, mark: AnyStr) -> Iterator[AnyStr]:
    shown = 0
    for start, end in sorted(place for secret in secrets for place in _places(whole, secret)):
        if start >= shown:
            yield whole[shown:start]
            yield mark
        shown = max(shown, end)
    yield whole[shown:]


def _places(whole: AnyStr, secret: AnyStr) -> Iterator[tuple[int, int]]:
    start = whole.find(secret)
    while start >= 0:
        yield start, start + len(secret)
        start = whole.find(secret, start + 1)
