"""The server over HTTP: behind its token, for the names of this machine, with a bound on what it reads."""

import re
import socket
import subprocess

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.cli.world import HELD, task, wait_for
from tests.mcp.clients import Answer, told
from tests.mcp.talking import Talking

from budwood.errors import UsageError
from budwood.mcp.http import open_door

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


class Served:
    """A server and its token."""

    def __init__(self, url: str, token: str, server: "subprocess.Popen[str]") -> None:
        self.url = url
        self.token = token
        self.server = server

    def post(self, *, body: object = HELLO, token: str | None = None, **headers: str) -> int:
        """Send a message; return the status."""
        given = {**ACCEPT, "authorization": f"Bearer {self.token if token is None else token}", **headers}
        return httpx.post(self.url, json=body, headers=given, timeout=30).status_code


@pytest.fixture
def served(talking: Talking) -> Served:
    talking.plan(task("a", HELD))
    talking.start("run", "plan.toml")
    talking.wait_began("a")
    server = talking.start("mcp", "plan", "--http", "0")
    assert server.stderr is not None
    url, token = server.stderr.readline(), server.stderr.readline()
    found = re.fullmatch(r"serves at (http://127\.0\.0\.1:\d+/mcp)\n", url)
    assert found is not None
    return Served(found[1], token.removeprefix("Authorization: Bearer ").strip(), server)


@pytest.mark.slow
def test_the_sdks_client_speaks_to_it(talking: Talking, served: Served) -> None:
    async def talk() -> list[Answer]:
        headers = {"authorization": f"Bearer {served.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as web,
            Client(streamable_http_client(served.url, http_client=web)) as client,
        ):
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "ask_human" not in names
            far: dict[str, object] = {"description": "Far", "run": "touch far"}
            return [told(await client.call_tool("create_task", far)), told(await client.call_tool("list_tasks", {}))]

    created, listed = anyio.run(talk)
    assert created["task"] == "far"
    assert listed["found"] == 2


@pytest.mark.slow
def test_who_has_no_token_comes_from_a_page_or_sends_too_much_is_refused(talking: Talking, served: Served) -> None:
    assert served.post() == 200
    assert served.post(token="wrong") == 401
    assert served.post(authorization=f"Basic {served.token}") == 401
    assert httpx.post(served.url, json=HELLO, headers=ACCEPT, timeout=30).status_code == 401
    assert served.post(host="evil.example:80") == 421
    assert served.post(origin="http://evil.example") == 403
    assert served.post(origin="http://localhost:1") == 200
    assert served.post(body={"x": "y" * 1_000_001}) == 413
    assert served.post() == 200


@pytest.mark.slow
def test_clients_that_go_away_without_a_word_keep_nobody_out(talking: Talking, served: Served) -> None:
    assert {served.post() for _ in range(50)} == {200}
    url = httpx.URL(served.url)
    for _ in range(20):
        head = f"POST {url.path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nAuthorization: Bearer {served.token}\r\n"
        with socket.create_connection((url.host, url.port or 0), timeout=5) as half:
            half.sendall(f'{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"jsonrpc'.encode())
    assert served.post(body={"x": "y" * 10_000_000}) == 413
    assert served.post() == 200
    served.server.terminate()
    assert "Traceback" not in served.server.communicate(timeout=60)[1]


@pytest.mark.slow
def test_one_that_floods_is_slowed_down_and_so_is_its_next_session(talking: Talking, served: Served) -> None:
    async def flood() -> list[Answer]:
        found: list[Answer] = []
        headers = {"authorization": f"Bearer {served.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as web,
            Client(streamable_http_client(served.url, http_client=web)) as client,
        ):

            async def one() -> None:
                found.append(told(await client.call_tool("list_tasks", {})))

            async with anyio.create_task_group() as group:
                for _ in range(100):
                    group.start_soon(one)
        return found

    answers = anyio.run(flood) + anyio.run(flood)
    slowed = [answer for answer in answers if "too many calls" in str(answer.get("error"))]
    assert len(answers) == 200
    assert len(slowed) >= 60
    talking.let_go()
    wait_for(lambda: talking.runs()[0].phase.value == "finished", what="the end")


@pytest.mark.parametrize("address", ["x", "0.0.0.0:1", "[::]:1", "example.org:1", "70000", "127.0.0.1:"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        open_door(address)


def test_by_default_only_this_machine_is_listened_to() -> None:
    door = open_door("0")
    with door.socket:
        assert door.socket.getsockname()[0] == "127.0.0.1"
    six = open_door("[::1]:0")
    with six.socket:
        assert six.url.startswith("http://[::1]:")


def test_who_is_told_the_address_may_come_before_anybody_serves() -> None:
    door = open_door("0")
    with door.socket, socket.create_connection(door.socket.getsockname(), timeout=5):
        pass
