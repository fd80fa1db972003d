"""A client that is not the SDK's: the inspector of the protocol's makers, from npm. Left out where it cannot be had."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.world import HELD, task
from tests.mcp.clients import SERVER
from tests.mcp.talking import PRINT_ENV, Talking

from budwood.mcp.tools import TOOLS

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it, if there is npm and a registry."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not here")
    place = tmp_path_factory.mktemp("npm")
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place)]
    try:
        done = subprocess.run(
            [*words, "@modelcontextprotocol/inspector"], capture_output=True, text=True, timeout=240, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the inspector cannot be installed in time")
    if done.returncode:
        pytest.skip(f"the inspector cannot be installed: {done.stderr[-200:]}")
    return place / "node_modules" / ".bin" / "mcp-inspector"


def test_another_client_lists_and_calls_the_tools(talking: Talking, inspector: Path) -> None:
    talking.plan(task("a", f"{PRINT_ENV}; {HELD}"))
    driver = talking.start("run", "plan.toml")
    env = talking.attempt_env("a")
    given = [word for name in ("BUDWOOD_TOKEN", "BUDWOOD_ACCESS") for word in ("-e", f"{name}={env[name]}")]

    def inspect(*words: str) -> dict[str, object]:
        done = subprocess.run(
            [str(inspector), "--cli", *SERVER, *given, *words],
            cwd=talking.root,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    tools = inspect("--method", "tools/list")["tools"]
    assert isinstance(tools, list)
    assert [tool["name"] for tool in tools] == list(TOOLS)
    words = ["--tool-arg", "description=Next", "--tool-arg", "run=touch next"]
    created = inspect("--method", "tools/call", "--tool-name", "create_task", *words)
    assert created["structuredContent"] == {"task": "next", "said": "created next"}
    talking.let_go()
    assert talking.finish(driver).code == 0
    assert (talking.root / "next").exists()
