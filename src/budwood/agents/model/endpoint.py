"""Where a model is asked, and with which key: checked before anything is sent, and never shown whole.

Knows addresses and the form of keys. Must not know HTTP.
"""

from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from budwood.errors import UsageError

HIDDEN = "***"


class Endpoint(Struct, frozen=True, kw_only=True):
    """An address that takes chat completions, and what opens it; without a key none is sent."""

    url: str
    key: str = ""

    @property
    def shown(self) -> str:
        """The address as messages show it: no query, which may hold a secret."""
        parts = urlsplit(self.url)
        return self.hide(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))

    def hide(self, text: str) -> str:
        """Return a text without the key, wherever a server may have echoed it."""
        return text.replace(self.key, HIDDEN) if self.key else text


def endpoint_of(base_url: str, *, key: str = "") -> Endpoint:
    """Make an endpoint from the address that stands in front of /chat/completions; raises UsageError."""
    example = "give it as https://HOST/v1"
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise UsageError("the base URL cannot be understood", hint=example) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError("the base URL is no http:// or https:// address with a host", hint=example)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the base URL contains a user or a password", hint="put the key into a variable: --api-key-env NAME"
        )
    if not (base_url.isascii() and base_url.isprintable() and " " not in base_url):
        raise UsageError("the base URL contains characters that no address has", hint=example)
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return Endpoint(url=urlunsplit((parts.scheme, parts.netloc, f"{path}/chat/completions", parts.query, "")), key=key)


def is_sendable(key: str) -> bool:
    """Tell whether a key can stand in a header; libraries quote those that cannot in their errors."""
    return key.isascii() and key.isprintable() and " " not in key
