"""The official SDK's client: as one that a test is, and as a program that a task of a run starts.

As a program it makes the calls that a file lists, in order, and writes what came back into another, call by call. It is
started inside an attempt, and hands that attempt's environment on. Further words are options for the server or, behind
`--`, what starts it.
"""

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

SERVER = (sys.executable, "-m", "budwood", "mcp")
Call = tuple[str, Mapping[str, object]]
Answer = dict[str, object]


@asynccontextmanager
async def connected(words: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> AsyncIterator[Client]:
    """Start a server and speak to it over its standard streams."""
    program, *rest = words
    given = StdioServerParameters(command=program, args=rest, env=dict(env), cwd=cwd)
    async with Client(stdio_client(given), mode="legacy") as client:
        yield client


def told(result: types.CallToolResult) -> Answer:
    """Return what a tool gave back, or the text of what went wrong."""
    text = "".join(part.text for part in result.content if isinstance(part, types.TextContent))
    answer: Answer = {"error": text} if result.is_error else json.loads(text)
    return answer


async def _follow(calls: Sequence[Call], out: Path) -> None:
    answers: list[Answer] = []
    more = sys.argv[3:]
    words = more[1:] if more[:1] == ["--"] else (*SERVER, *more)
    async with connected(words, env=os.environ) as client:
        for name, given in calls:
            answers.append(told(await client.call_tool(name, dict(given))))
            draft = out.with_suffix(".new")
            draft.write_text(json.dumps(answers))
            draft.rename(out)


if __name__ == "__main__":
    anyio.run(_follow, json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
