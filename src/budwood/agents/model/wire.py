"""One POST of JSON by httpx, bounded in time and size; whatever the status is, it is a reply.

The only place that knows httpx, which is loaded when it is used. Must not know what is asked, or what a reply means.
"""

import ipaddress
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from urllib.parse import urlsplit

from msgspec import Struct

from budwood.errors import MissingExtra

MOST_REPLY_BYTES = 64 * 1024 * 1024
_CONNECT_S = 10.0


class Reply(Struct, frozen=True, kw_only=True):
    """What a server said. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Unsent(Exception):
    """Nothing was sent: nobody was there to take it."""


class Broken(Exception):
    """It was sent, or may have been, and no whole reply came."""


class _Late(Exception):
    """The time is over."""


def post(url: str, sent: bytes, *, headers: dict[str, str], within_s: float) -> Reply:
    """Post once and return the whole reply; follows no redirect, since the key is for the host that the user named.

    Proxies of the environment are used, but not for this machine itself.
    """
    try:
        import httpx
    except ImportError as error:
        raise MissingExtra("model", needed_for="what calls models (httpx)") from error
    try:
        transport = httpx.HTTPTransport() if is_loopback(url) else None
        limits = httpx.Timeout(within_s, connect=min(_CONNECT_S, within_s))
        with (
            _deadline(within_s),
            httpx.Client(transport=transport, timeout=limits, follow_redirects=False) as client,
            client.stream("POST", url, content=sent, headers=headers) as response,
        ):
            said = {name.lower(): value for name, value in response.headers.items()}
            body = _read(response.iter_bytes())
            signal.setitimer(signal.ITIMER_REAL, 0)  # it is here, and was paid for: nothing may come between
            return Reply(status=response.status_code, headers=said, body=body)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise Unsent(_words(error)) from error
    except (httpx.TimeoutException, _Late) as error:
        raise Broken(f"no whole answer within {within_s:.3g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Broken(_words(error)) from error


def is_loopback(url: str) -> bool:
    """Tell whether an address is this machine's own."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _read(chunks: Iterator[bytes]) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > MOST_REPLY_BYTES:
            raise Broken(f"the answer is larger than {MOST_REPLY_BYTES >> 20} MiB")
    return bytes(body)


@contextmanager
def _deadline(within_s: float) -> Iterator[None]:
    """Raise when the time is over: limits of httpx begin again with every byte that drips in."""

    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, within_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
