"""The server over HTTP, for clients that cannot start one: behind a token, and for this machine unless told otherwise.

Knows the SDK's application and uvicorn. Must not print: who starts it says where it is.
"""

import hmac
import ipaddress
import logging
import secrets
import socket
from dataclasses import dataclass
from typing import Any

import msgspec
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from budwood.errors import UsageError
from budwood.mcp.caps import MESSAGE_BYTES

PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class Door:
    """Where a server is reached, and what it takes to come in."""

    socket: socket.socket
    host: str
    token: str

    @property
    def url(self) -> str:
        """Write the address for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.socket.getsockname()[1]}{PATH}"


def open_door(address: str) -> Door:
    """Listen at [HOST:]PORT, on this machine alone if no host is named."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{address!r} is no address to listen at", hint="--http 8765, or --http 127.0.0.1:8765")
    try:
        where = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise UsageError(f"{host!r} is no address of this machine", hint="name it in numbers") from None
    if where.is_unspecified:
        raise UsageError(
            f"{host} is every address of this machine, and who asks for which could not be checked",
            hint="name the address that clients use",
        )
    family = socket.AF_INET6 if where.version == 6 else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((str(where), int(port)))
        listening.listen()  # whoever is told the address may come before anybody serves
    except OSError as error:
        listening.close()
        raise UsageError(f"nothing can listen at {address}: {error.strerror}", hint="choose another port") from error
    return Door(listening, str(where), secrets.token_urlsafe(32))


async def serve(server: "Server[Any]", door: Door) -> None:
    """Serve until somebody interrupts it."""
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_worth_saying)
    config = uvicorn.Config(make_app(server, door), log_level="warning", access_log=False, lifespan="on", ws="none")
    await uvicorn.Server(config).serve(sockets=[door.socket])


def _is_worth_saying(record: logging.LogRecord) -> bool:
    """Leave out that a client went away in the middle of what it said: that is its own affair."""
    return record.exc_info is None or not isinstance(record.exc_info[1], ClientDisconnect)


def make_app(server: "Server[Any]", door: Door) -> ASGIApp:
    """Put the SDK's application behind the token, with a bound on what it reads and a check of whom a page asks for."""
    names = {door.host, "localhost"} if ipaddress.ip_address(door.host).is_loopback else {door.host}
    hosts = [f"[{name}]" if ":" in name else name for name in names]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MESSAGE_BYTES,
        stateless_http=True,  # sessions that clients leave behind would keep others out
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{host}:*" for host in hosts], allowed_origins=[f"http://{host}:*" for host in hosts]
        ),
    )
    return _Guarded(app, door.token)


class _Guarded:
    """Lets in who has the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        body = msgspec.json.encode({"error": "unauthorized", "message": "budwood mcp printed the token when it began"})
        headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _is_known(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        kind, _, token = given[0].partition(b" ")
        return hmac.compare_digest(kind.lower() + b" " + token, self._wanted)
