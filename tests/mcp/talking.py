"""A project, runs whose tasks speak to the MCP server, and a test that does.

Knows the program as a user calls it, and the SDK's client.
"""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence

import anyio
from tests.cli.world import Budwood, wait_for
from tests.mcp import clients
from tests.mcp.clients import SERVER, Answer, Call, connected, told

PRINT_ENV = "env > env-$BUDWOOD_TASK.new; mv env-$BUDWOOD_TASK.new env-$BUDWOOD_TASK"
"""Lets a test have what an attempt has."""


class Talking(Budwood):
    """One project and the program."""

    within_s = 60.0

    def speaking(self, *calls: Call, name: str = "talk", options: Sequence[str] = ()) -> str:
        """Write the command of a task that makes these calls, one after another."""
        (self.root / f"{name}.calls").write_text(json.dumps(calls))
        words = [sys.executable, clients.__file__, f"{self.root}/{name}.calls", f"{self.root}/{name}.answers", *options]
        return shlex.join(words)

    def answers(self, name: str = "talk") -> list[Answer]:
        """Read what came back so far."""
        path = self.root / f"{name}.answers"
        found: list[Answer] = json.loads(path.read_text()) if path.exists() else []
        return found

    def wait_answers(self, number: int, name: str = "talk") -> None:
        """Wait until so many calls were answered."""
        wait_for(lambda: len(self.answers(name)) >= number, what=f"{number} answers", within_s=self.within_s)

    def attempt_env(self, task: str) -> dict[str, str]:
        """Return the environment of an attempt that printed it."""
        path = self.root / f"env-{task}"
        wait_for(path.exists, what=f"the environment of {task}")
        lines = (line.partition("=") for line in path.read_text().splitlines())
        return {name: value for name, _, value in lines if name.isidentifier()}

    def call_tools(
        self, *calls: Call, env: Mapping[str, str] | None = None, options: Sequence[str] = ()
    ) -> list[Answer]:
        """Start a server as a client does, here or with an attempt's environment, and make calls."""

        async def talk() -> list[Answer]:
            given = self.env if env is None else env
            async with connected((*SERVER, *options), env=given, cwd=self.root) as client:
                return [told(await client.call_tool(name, dict(keys))) for name, keys in calls]

        return anyio.run(talk)

    def status(self) -> dict[str, object]:
        """Read where the run stands."""
        found: dict[str, object] = json.loads(self.call("status", "--json").out)
        return found


def error(answer: Answer) -> str:
    """Return what went wrong."""
    return str(answer["error"])
