"""Web addresses as settings give them: what is one, whether something can be posted to it, and how people see it.

Knows text. Must not open a connection.
"""

import re
from urllib.parse import urlsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(text: str) -> bool:
    """Tell an address, of whatever kind, from a shell command."""
    return _SCHEME.match(text.strip()) is not None


def can_be_posted_to(address: str) -> bool:
    """Say whether it is a whole http or https address; one with a password is not: settings are kept and shown."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    plain = address.isascii() and address.isprintable() and " " not in address
    return (
        plain and parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc and port != 0
    )


def shown(address: str) -> str:
    """Write an address for people and logs: what stands before its host or behind its path may be a secret."""
    try:
        parts = urlsplit(address)
        if "@" in address:
            parts.port  # noqa: B018  # raises if it is no number: then it may be the beginning of a password
    except ValueError:
        return "a malformed address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
