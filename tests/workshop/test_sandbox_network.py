"""What attempts in a sandbox can reach: everything, nothing, or named hosts through the proxy, which is a real one."""

import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.workshop.kept_in import box, end, kept_in, sh
from tests.workshop.site import Site, do, task

__all__ = ["box"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GET = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read().decode())"
TUNNEL = """
import http.client as h, os, sys, urllib.parse as p
at = p.urlsplit(os.environ["https_proxy"])
line = h.HTTPConnection(at.hostname, at.port, timeout=20)
line.set_tunnel(sys.argv[1], int(sys.argv[2]))
line.request("GET", "/tunnel")
print(line.getresponse().read().decode())
"""
DIRECT = "import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 10).recv(99).decode())"


class Page(BaseHTTPRequestHandler):
    """Says which host was asked for, and how."""

    def do_GET(self) -> None:
        text = f"page {self.path} of {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Greeter(socketserver.BaseRequestHandler):
    """Speaks first, as a database does."""

    def handle(self) -> None:
        self.request.sendall(b"greetings")


class NextProxy(socketserver.StreamRequestHandler):
    """A proxy that a machine needs: remembers what it was asked, and answers itself."""

    asked: list[str]

    def handle(self) -> None:
        self.asked.append(self.rfile.readline().decode().strip())
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 200 yes\r\n\r\n")
        self.rfile.readline()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")


@contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[int]:
    """Serve in a thread; give the port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.socket.getsockname()[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def page() -> Iterator[int]:
    """Serve pages at 127.0.0.2, which no program takes for its own machine."""
    with serving(ThreadingHTTPServer(("127.0.0.2", 0), Page)) as port:
        yield port


@pytest.fixture
def greeter() -> Iterator[int]:
    """Greet at 127.0.0.1."""
    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeter)) as port:
        yield port


def python(code: str, *words: object) -> str:
    """Write a command."""
    quoted = " ".join(f"'{word}'" for word in words)
    escaped = code.replace('"', '\\"')
    return f'python3 -c "{escaped}" {quoted}'


def test_without_a_network_there_is_only_a_loopback_of_its_own(box: Site, greeter: int, page: int) -> None:
    own = (
        "import socket as s; x = s.create_server(('127.0.0.1', 0)); s.create_connection(x.getsockname()); print('own')"
    )
    tries = (python(DIRECT, "127.0.0.1", greeter), python(GET, f"http://127.0.0.2:{page}/"), python(own))
    kept_in(box, sh("a", "; ".join(tries)), network="none", ports=1)
    said = box.call("run", "plan.toml")
    end(box)
    log = box.log_of("a")
    assert "greetings" not in log
    assert "page" not in log
    assert "own" in log
    assert "sandbox: bwrap, network: none;" in said.err
    assert "1 port for each attempt: only the attempt itself reaches what listens there" in said.err


def test_all_is_the_machines_own(box: Site, greeter: int) -> None:
    kept_in(box, sh("a", python(DIRECT, "127.0.0.1", greeter)))
    box.call("run", "plan.toml")
    assert "greetings" in box.log_of("a")


def test_named_hosts_are_reached_and_others_are_refused_by_name(box: Site, page: int, greeter: int) -> None:
    tries = (
        python(GET, f"http://127.0.0.2:{page}/x"),
        python(TUNNEL, "127.0.0.2", page),
        python(GET, f"http://127.0.0.3:{page}/x"),
        python(TUNNEL, "evil.example.org", 443),
        python(TUNNEL, "evil.example.org", 443),
        python(DIRECT, "127.0.0.2", page),
        python(DIRECT, "127.0.0.1", greeter),
        "git ls-remote https://evil.example.org/x.git",
    )
    kept_in(box, sh("a", "; ".join(tries)), network=[f"127.0.0.2:{page}", "*.example.net"])
    said = box.call("run", "plan.toml", env={"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "*"})
    log = box.log_of("a")
    assert f"page /x of 127.0.0.2:{page}" in log
    assert f"page /tunnel of 127.0.0.2:{page}" in log
    assert "greetings" not in log
    assert log.splitlines()[-2:] == [
        f"[budwood: the sandbox let nothing through to 127.0.0.3:{page}: it is not in network]",
        "[budwood: the sandbox let nothing through to evil.example.org:443, 3 times: it is not in network]",
    ]
    assert f"network: 127.0.0.2:{page}, *.example.net;" in said.err
    assert "sending what they read to the hosts of network" in said.err
    end(box)


def test_a_name_that_leads_inside_is_refused_though_it_is_in_the_list(box: Site, page: int) -> None:
    kept_in(box, sh("a", python(GET, f"http://127.2:{page}/")), network=[f"127.2:{page}"])
    box.call("run", "plan.toml")
    log = box.log_of("a")
    assert "page" not in log.replace(f":{page}", "")
    assert f"127.2:{page}: its address is not of the open network, and not in network itself]" in log


def test_a_port_of_this_machine_is_at_its_place_for_any_protocol(box: Site, greeter: int) -> None:
    kept_in(box, sh("a", python(DIRECT, "localhost", greeter)), network=[f"localhost:{greeter}"])
    box.call("run", "plan.toml")
    assert "greetings" in box.log_of("a")


def test_what_is_told_of_refusals_is_bounded(box: Site) -> None:
    many = 'for n in range(60):\n  try: u.urlopen(f"http://host{n}.example.org/")\n  except OSError: pass'
    kept_in(box, sh("a", python(f"import urllib.request as u\n{many}")), network=["example.net"])
    box.call("run", "plan.toml")
    log = box.log_of("a")
    assert log.count("let nothing through") == 50
    assert "[budwood: nor to other places, 10 times]" in log


def test_the_machines_own_proxy_is_asked(box: Site) -> None:
    NextProxy.asked = []
    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), NextProxy)) as port:
        kept_in(box, sh("a", f"{python(TUNNEL, 'api.example.org', 443)}; {python(TUNNEL, 'evil.example.org', 443)}"))
        plan = (box.root / "plan.toml").read_text().replace("[run]", '[run]\nnetwork = ["api.example.org"]')
        (box.root / "plan.toml").write_text(plan)
        box.call("run", "plan.toml", env={"HTTPS_PROXY": f"http://me:secret@127.0.0.1:{port}"})
    assert NextProxy.asked == ["CONNECT api.example.org:443 HTTP/1.1"]
    assert "next" in box.log_of("a")
    assert "secret" not in box.log_of("a")


def test_the_proxy_outlives_a_killed_driver(box: Site, page: int) -> None:
    hall = box.root.parent / "hall"
    hall.mkdir()
    wait = f"touch '{hall}/began'; until [ -e '{hall}/go' ]; do sleep 0.02; done; "
    got = do("run", command=wait + python(GET, f"http://127.0.0.2:{page}/later") + " > page.txt")
    kept_in(box, task("a", (got,)), network=[f"127.0.0.2:{page}"], sandbox_write=[str(hall)])
    driver = box.start("run", "plan.toml")
    wait_for((hall / "began").exists, what="it to begin")
    driver.kill()
    driver.communicate()
    (hall / "go").touch()
    box.call("run", "plan.toml")
    assert box.restored(end(box))["page.txt"] == f"page /later of 127.0.0.2:{page}\n".encode()


@pytest.mark.parametrize("agent", ["claude", "mine"])
def test_a_refusal_does_not_spoil_what_an_agent_says_of_itself(box: Site, agent: str, tmp_path: Path) -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "ok", "total_cost_usd": 0.5}
    program = tmp_path / "agent.sh"
    fetch = python(GET, "http://api.example.org/")
    program.write_text(f"#!/bin/sh\n{fetch} > /dev/null 2>&1\ntouch made\necho '{json.dumps(result)}'\n")
    program.chmod(0o755)
    tables = {"claude": "[agents.claude]\n", "mine": "[agents.mine]\nagent = 'command'\n"}
    (box.root / "budwood.toml").write_text(f"{tables[agent]}command = {json.dumps([str(program)])}\n")
    kept_in(box, task("a", "Do it.", agent=agent), network=["example.net"])
    box.call("run", "plan.toml")
    told = end(box).told
    assert told is not None
    assert told.outcome == "ok"
    assert "let nothing through to api.example.org:80" in box.log_of("a")


def test_nothing_listens_where_the_proxy_was(box: Site, page: int) -> None:
    kept_in(box, sh("a", "echo at $http_proxy"), network=[f"127.0.0.2:{page}"])
    box.call("run", "plan.toml")
    port = int(next(line for line in box.log_of("a").splitlines() if line.startswith("at ")).rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)
