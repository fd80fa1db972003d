"""The server beside a run whose events live in PostgreSQL."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from tests.cli.world import task
from tests.mcp import clients
from tests.mcp.clients import Call
from tests.mcp.talking import Talking
from tests.support.server import Server, name_of

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_a_task_creates_another_and_finds_the_database_by_itself(
    talking: Talking, postgres: Server, database: str
) -> None:
    secret = postgres.url(name_of(database), password="s3cret")
    calls: tuple[Call, ...] = (
        ("create_task", {"description": "Next", "run": "touch next"}),
        ("list_tasks", {}),
        ("report_progress", {"text": "half", "percent": 50}),
        ("get_budget", {}),
    )
    talking.plan(task("a", f"env > env; {talking.speaking(*calls)}"))
    env = {"DATABASE_URL": secret}
    said = talking.call("run", "plan.toml", env=env)
    created, listed, kept, _ = talking.answers()
    assert (created["task"], listed["found"], kept["said"]) == ("next", 2, "kept")
    assert (talking.root / "next").exists()
    assert "2 done" in said.err
    assert "s3cret" not in (talking.root / "env").read_text()
    run = json.loads(talking.call("ls", "--json", env=env).out)["runs"][0]["id"]
    access = talking.root / ".budwood" / "runs" / run / "access.json"
    assert access.stat().st_mode & 0o777 == 0o600


def test_from_inside_of_a_sandbox_the_database_is_asked_and_not_seen(
    talking: Talking, postgres: Server, database: str, bwrap: Path
) -> None:
    secret = postgres.url(name_of(database), password="s3cret")
    talking.speaking(("create_task", {"description": "Next", "run": "true"}), ("list_tasks", {}))
    talk = shlex.join([sys.executable, "clients.py", "talk.calls", "talk.answers"])
    shutil.copy(clients.__file__, talking.root)
    talking.plan(
        '[run]\nsandbox = "bwrap"\nnetwork = "none"\nworkspace = "copy"\nmcp = true\n',
        task("a", f"cat /proc/*/environ; {talk} && cat talk.answers"),
    )
    env = {"DATABASE_URL": secret, "PATH": f"{bwrap}:{talking.env['PATH']}"}
    assert "2 done" in talking.call("run", "plan.toml", env=env).err
    log = talking.call("logs", "plan", "a", env=env).out
    assert '"task": "next"' in log
    assert '"found": 2' in log
    assert "s3cret" not in log
