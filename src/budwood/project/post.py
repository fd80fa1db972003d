"""One POST of JSON to somebody's address: signed, bounded in time, checked by TLS, by way of the environment's proxies.

Follows no redirect: what is sent goes to the host that the user named, or nowhere. Knows HTTP; must not know runs.
"""

import hashlib
import hmac
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.error import URLError
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, UnknownHandler
from urllib.request import getproxies_environment as proxies_of_environment

from msgspec import Struct

from budwood import __version__

SIGNATURE = "Budwood-Signature"
LONGEST_RETRY_AFTER_S = 3600.0
_MOST_ANSWER_BYTES = 64 * 1024
_REDIRECTS = range(300, 400)


class Answer(Struct, frozen=True, kw_only=True):
    """What the receiver said, without the body. Status 0 is none that is HTTP; then `said` tells why."""

    status: int
    said: str
    retry_after_s: float | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether it has what was sent."""
        return 200 <= self.status < 300

    @property
    def can_be_tried_again(self) -> bool:
        """Whether the same may be taken later: the receiver is away, overloaded or broken, but not unwilling."""
        return self.status in (0, 429) or self.status >= 500


def sign(secret: str, body: bytes, *, at_s: int) -> str:
    """Write the signature's header: the time, and the HMAC-SHA256 of time, dot and body under the secret."""
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"


def printable(said: str) -> str:
    """Write somebody else's words so that they can do nothing to a terminal."""
    return "".join(char if char.isprintable() else "?" for char in said)


class Post:
    """Posts to one address, one thing at a time."""

    def __init__(self, address: str, *, secret: str = "", clock: Callable[[], float] = time.time) -> None:
        self._address = address
        self._secret = secret
        self._clock = clock
        self._socket: socket.socket | None = None
        self._expired = False
        self._opener = OpenerDirector()
        # No handler for redirects, and none that makes errors of what is not 2xx: every status is an answer.
        proxies = ProxyHandler(proxies_of_environment())
        for handler in (proxies, _Http(self._hold), _Https(self._hold), UnknownHandler()):
            self._opener.add_handler(handler)

    def send(self, body: bytes, *, within_s: float) -> Answer:
        """Post, and return the answer, whatever it is; raises nothing. Signed anew at every call."""
        headers = {"Content-Type": "application/json", "User-Agent": f"budwood/{__version__}"}
        at_s = self._clock()
        if self._secret:
            headers[SIGNATURE] = sign(self._secret, body, at_s=int(at_s))
        request = Request(self._address, data=body, headers=headers, method="POST")
        # A socket's own time limit begins again with every byte that drips in.
        self._expired = False
        limit = threading.Timer(within_s, self._expire)
        limit.daemon = True
        limit.start()
        try:
            with self._opener.open(request, timeout=within_s) as response:
                if self._expired:  # cut in the middle of its headers
                    raise TimeoutError
                answer = _answer(response, now_s=at_s)
                with suppress(OSError, HTTPException):  # only to leave politely: the answer is here
                    response.read(_MOST_ANSWER_BYTES)
                return answer
        except (OSError, HTTPException, ValueError) as error:
            return Answer(
                status=0, said=f"no answer within {within_s:.2g} s" if self._expired else printable(_why(error))
            )
        finally:
            limit.cancel()
            self._socket = None

    def abort(self) -> None:
        """End what is being sent, from any thread."""
        held = self._socket
        if held is not None:
            with suppress(OSError):
                socket.socket.shutdown(held, socket.SHUT_RDWR)  # below TLS, whose state is the sending thread's

    def _expire(self) -> None:
        self._expired = True
        self.abort()

    def _hold(self, connected: socket.socket) -> None:
        self._socket = connected


class _Http(HTTPHandler):
    def __init__(self, hold: Callable[[socket.socket], None]) -> None:
        super().__init__()
        self._hold = hold

    def http_open(self, req: Request) -> HTTPResponse:
        hold = self._hold

        class Connection(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                hold(self.sock)

        return self.do_open(Connection, req)


class _Https(HTTPSHandler):
    def __init__(self, hold: Callable[[socket.socket], None]) -> None:
        self._verified = ssl.create_default_context()
        super().__init__(context=self._verified)
        self._hold = hold

    def https_open(self, req: Request) -> HTTPResponse:
        hold, verified = self._hold, self._verified

        class Connection(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                hold(self.sock)

        return self.do_open(Connection, req, context=verified)


def _answer(response: HTTPResponse, *, now_s: float) -> Answer:
    said = f"{response.status} {response.reason}".strip()
    place = response.headers.get("Location")
    if response.status in _REDIRECTS and place:
        said += f", which leads to {place}"
    retry_after = response.headers.get("Retry-After")
    return Answer(
        status=response.status,
        said=printable(said),
        retry_after_s=None if retry_after is None else _seconds(retry_after.strip(), now_s=now_s),
    )


def _seconds(retry_after: str, *, now_s: float) -> float | None:
    """Read Retry-After: seconds, or a date; None if it is neither. At most an hour, whatever it says."""
    if retry_after.isascii() and retry_after.isdigit():
        wanted_s = float(retry_after)
    else:
        try:
            wanted_s = parsedate_to_datetime(retry_after).timestamp() - now_s
        except ValueError:
            return None
    return min(max(0.0, wanted_s), LONGEST_RETRY_AFTER_S)


def _why(error: Exception) -> str:
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror.lower()
    return str(cause) or type(cause).__name__
