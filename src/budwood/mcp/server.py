"""The table of tools as a server of the official SDK, whatever it speaks over.

Knows the SDK's messages. What goes wrong in a call is answered in words, and ends neither the server nor the run.
"""

from typing import Any

import msgspec
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from budwood import __version__
from budwood.errors import BudwoodError
from budwood.mcp import caps
from budwood.mcp.looking import Told
from budwood.mcp.tools import TOOLS, Counter, Tool

NAME = "budwood"
_INSTRUCTIONS = (
    "budwood runs tasks with dependencies, each attempted by an agent in a workspace of its own. These tools let you "
    "look at the run, add tasks to it, and ask its people."
)
_OF_ATTEMPTS = (
    " You are one of its attempts: get_context tells you about your own task. Report progress now and then, and ask "
    "a person only what you cannot decide."
)
Context = ServerRequestContext[Any]


def make_server(counter: Counter) -> "Server[Any]":
    """Make a server for one client; those of a server with several share what one may ask for."""
    tools = {name: tool for name, tool in TOOLS.items() if counter.desk.is_attempt or not tool.of_attempts}
    calls = caps.Allowance(caps.CALLS_PER_S, caps.CALLS_BURST)
    writes = caps.Allowance(caps.WRITES_PER_S, caps.WRITES_BURST)

    async def list_tools(_context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in tools.values()])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _problem(f"there is no tool {params.name!r}; there are {', '.join(tools)}")
        wait_s = calls.take() or (writes.take() if tool.writes else 0.0)
        if wait_s:
            return _problem(f"too many calls; the next one is heard in {wait_s:.1f} s")
        try:
            return _answer(await tool.call(counter, params.arguments or {}, context.session.report_progress))
        except BudwoodError as error:
            return _problem(str(error))
        except OSError as error:
            return _problem(f"the machine refuses: {error}")

    return Server(
        NAME,
        version=__version__,
        instructions=_INSTRUCTIONS + (_OF_ATTEMPTS if counter.desk.is_attempt else ""),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=not tool.writes, destructive_hint=tool.name == "cancel_task", open_world_hint=False
    )
    return types.Tool(name=tool.name, description=tool.doc, input_schema=tool.schema, annotations=hints)


def _answer(told: Told) -> types.CallToolResult:
    plain = msgspec.to_builtins(told)
    text = msgspec.json.format(msgspec.json.encode(plain), indent=1).decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=plain)


def _problem(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
