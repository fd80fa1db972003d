"""The real Claude Code, where it is on the PATH, with a model on loopback that calls a tool. Left out elsewhere."""

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.workshop.site import Site, task

from budwood._core.events import TaskCreated

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("claude") is None, reason="claude is not here"),
]
CHILD = {"description": "Child", "run": "echo child > child.txt"}
TOOL = "mcp__budwood__create_task"


class _Model(BaseHTTPRequestHandler):
    """Calls a tool, and is content with whatever comes back; tells what it heard."""

    heard: list[str]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.heard.append(json.dumps(body.get("messages", [])))
        has_tool = any(tool.get("name") == TOOL for tool in body.get("tools", ()))
        block: dict[str, object] = {"type": "text", "text": ""}
        delta, stop = {"type": "text_delta", "text": "Done."}, "end_turn"
        if has_tool and "tool_result" not in self.heard[-1]:
            block = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}}
            delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(CHILD)}, "tool_use"
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": []}
        events: tuple[dict[str, object], ...] = (
            {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
            {"type": "message_stop"},
        )
        data = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path / "project")
    _Model.heard = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made.env |= {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "of-nobody",
        "IS_SANDBOX": "1",
        "no_proxy": "127.0.0.1",
    }
    try:
        yield made
    finally:
        made.end()
        server.shutdown()
        server.server_close()


def test_claude_code_creates_a_task_of_its_run(site: Site) -> None:
    site.agents(task("one", "Create a task.", agent="claude", allow_unchanged=True, timeout="120s"), mcp=True)
    site.call("run", "plan.toml")
    assert "created child" in _Model.heard[-1]
    [made] = [event for event in site.events() if isinstance(event, TaskCreated)]
    assert (made.task.id, made.parent) == ("child", "one")
    assert "child.txt" in site.candidate(site.end_of("child"))
