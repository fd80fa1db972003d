"""The server on standard input and output, for whoever started it.

A message that is too long is refused in words, and the next one is heard. Knows the SDK's transport.
"""

import os
import sys
from contextlib import suppress
from typing import Any, BinaryIO, cast

import anyio
import anyio.to_thread
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from budwood.mcp.caps import MESSAGE_BYTES

_HEARD_BYTES = 32 * MESSAGE_BYTES
"""What is longer is not even read to its end: the client is left."""
_INVALID_REQUEST = -32600


class _Named(msgspec.Struct):
    id: int | str | None = None


class _Out:
    """What is written, message by message."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._turn = anyio.Lock()

    async def write(self, text: str) -> None:
        """Write a message at once."""
        async with self._turn:
            await anyio.to_thread.run_sync(self._write, text.encode())

    async def flush(self) -> None:
        """Do nothing: all is written."""

    def _write(self, data: bytes) -> None:
        with suppress(BrokenPipeError):  # nobody reads any more; the end of what we read comes by itself
            self._file.write(data)
            self._file.flush()


class _Lines:
    """What is read, message by message."""

    def __init__(self, file: BinaryIO, out: _Out) -> None:
        self._file = file
        self._out = out

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> str:
        while True:
            line = await anyio.to_thread.run_sync(self._file.readline, _HEARD_BYTES, abandon_on_cancel=True)
            if not line:
                raise StopAsyncIteration
            if len(line) <= MESSAGE_BYTES:
                return line.decode("utf-8", "replace")
            await self._refuse(line)
            if not line.endswith(b"\n"):
                raise StopAsyncIteration

    async def _refuse(self, line: bytes) -> None:
        try:
            named = msgspec.json.decode(line, type=_Named).id
        except msgspec.MsgspecError:
            named = None
        text = f"a message of {len(line)} bytes was not read; at most {MESSAGE_BYTES} are"
        error = {"code": _INVALID_REQUEST, "message": text}
        answer = msgspec.json.encode({"jsonrpc": "2.0", "id": named, "error": error})
        await self._out.write(answer.decode() + "\n")


async def serve(server: "Server[Any]") -> None:
    """Serve until standard input is closed. What else this process prints goes to standard error meanwhile."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)  # noqa: SIM115 nobody else may read what is the server's
    out = _Out(target)
    stdin = cast("anyio.AsyncFile[str]", _Lines(source, out))
    async with stdio_server(stdin, cast("anyio.AsyncFile[str]", out)) as (read, write):
        await server.run(read, write, server.create_initialization_options())
