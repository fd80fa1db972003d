"""The official SDK's client, as a program that a task of a run can start, and as one that a test is.

As a program it follows a small script: each line of its standard input is a call, what came back is a line of its
output. It is started inside an attempt, with that attempt's environment.
"""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

SERVER = (sys.executable, "-m", "budwood", "mcp")


@asynccontextmanager
async def connected(words: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> AsyncIterator[Client]:
    """Start a server and speak to it over its standard streams."""
    program, *rest = words
    given = StdioServerParameters(command=program, args=rest, env=dict(env), cwd=cwd)
    async with Client(stdio_client(given), mode="legacy") as client:
        yield client


def told(result: types.CallToolResult) -> object:
    """Return what a tool gave back: its content, or the text of what went wrong."""
    text = "".join(part.text for part in result.content if isinstance(part, types.TextContent))
    return {"error": text} if result.is_error else json.loads(text)


async def _follow(calls: Sequence[Sequence[object]]) -> list[object]:
    import os

    answers = []
    async with connected(SERVER, env=dict(os.environ)) as client:
        for name, given in calls:
            assert isinstance(name, str)
            assert isinstance(given, dict)
            answers.append(told(await client.call_tool(name, given)))
    return answers


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(anyio.run(_follow, json.loads(Path(sys.argv[1]).read_text()))))
