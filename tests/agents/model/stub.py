"""A model's endpoint: a real HTTP server on loopback that notes what it is asked and answers as a test wants.

Also the program that asks it, as an attempt runs it.
"""

import io
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from tests.agents.ran import Ran
from tests.support.listening import Listening

from budwood.agents.model.__main__ import main

KEY = "sk-this-is-the-secret"
EDIT = "app.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"


@dataclass(frozen=True, slots=True)
class Got:
    """One request."""

    target: str
    headers: dict[str, str]
    json: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `cut` hangs up before its last bytes, `hang` never ends it, without a status nothing is said."""

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    chunked: bool = False
    cut: bool = False
    hang: bool = False


def completion(text: str | None, *, reason: str = "stop", **more: object) -> Reply:
    """Answer as a model does that consumed 1,000 tokens and made 100, of a million that cost what the test says."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 600}}
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **more}, "finish_reason": reason}
    body = {"id": "chatcmpl-7", "object": "chat.completion", "model": "m-2", "choices": [choice], "usage": usage}
    return Reply(body=msgspec.json.encode(body), headers={"Content-Type": "application/json", "X-Request-Id": "req-9"})


def refusal(status: int, message: str, *, code: str | None = None, **headers: str) -> Reply:
    """Answer as a server does that will not."""
    body = msgspec.json.encode({"error": {"message": message, "type": "some_error", "code": code}})
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


class Stub(Listening):
    """Gives the replies in turn, the last one again and again."""

    def __init__(self, *replies: Reply | Callable[[Got], Reply]) -> None:
        super().__init__(_Handler)
        self.replies = replies
        self.got: list[Got] = []
        self.base_url = f"http://127.0.0.1:{self.server_port}/v1"

    def take(self, got: Got) -> Reply:
        """Note a request and decide on the answer."""
        self.got.append(got)
        reply = self.replies[min(len(self.got), len(self.replies)) - 1]
        return reply if isinstance(reply, Reply) else reply(got)


class _Handler(BaseHTTPRequestHandler):
    server: Stub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.take(Got(self.path, headers, msgspec.json.decode(sent, type=dict[str, Any])))
        self.close_connection = True
        with suppress(OSError):
            if reply.status is not None:
                self._answer(reply)
            if reply.hang:
                while not self.server.over.wait(0.02):
                    self.wfile.write(b" ")
            self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, reply: Reply) -> None:
        self.send_response(reply.status or 0)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        if reply.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            pieces = [reply.body[at : at + 7] for at in range(0, len(reply.body), 7)]
            body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(reply.body) + 1000 * reply.hang))
            body = reply.body
        self.end_headers()
        self.wfile.write(body[:-10] if reply.cut else body)

    def log_message(self, format: str, *args: object) -> None:
        return


class Desk:
    """A workspace with app.py, and beside it the prompt, the answer and the usage of one attempt."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.app = self.workspace / "app.py"
        self.app.write_text("x = 1\ny = 1\n")
        self.prompt = folder / "prompt.md"
        self.prompt.write_text("Make x two.\n")
        self.answer = folder / "answer.json"
        self.usage = folder / "usage.json"

    def arguments(self, base_url: str, *more: str) -> list[str]:
        """Write the command line."""
        files = ["--prompt-file", str(self.prompt), "--answer-file", str(self.answer)]
        return [*files, "--base-url", base_url, "--model", "m", "--api-key-env", "THE_KEY", *more]

    def environ(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return what the program finds around it."""
        given = {"BUDWOOD_TASK": "t", "BUDWOOD_USAGE": str(self.usage), "THE_KEY": KEY, **(env or {})}
        kept = {name: value for name, value in os.environ.items() if "proxy" not in name.casefold()}
        return {**kept, **given}

    def run(self, base_url: str, *more: str, env: Mapping[str, str] | None = None) -> Ran:
        """Call the program here, which is quick, with the key, which it must never show."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with (
            chdir(self.workspace),
            patch.dict(os.environ, self.environ(env), clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(self.arguments(base_url, *more))
        return _ran(code, *(text.buffer.getvalue() for text in (out, err)))

    def start(self, base_url: str, *more: str) -> Ran:
        """Run the program as an attempt does."""
        command = [sys.executable, "-m", "budwood.agents.model", *self.arguments(base_url, *more)]
        done = subprocess.run(
            command, cwd=self.workspace, env=self.environ(), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return _ran(done.returncode, done.stdout, done.stderr)


def _ran(code: int, out: bytes, err: bytes) -> Ran:
    assert KEY.encode() not in out + err
    return Ran(code, out.decode(), err.decode())
