"""`budwood mcp`: agents look at a run and ask things of it."""

import os

import click

from budwood.cli.complete import RunName
from budwood.cli.looking import note, store_option
from budwood.errors import SettingsError, UsageError
from budwood.mcp.opening import need_sdk, opened
from budwood.sandbox.door import DOOR, RELAY
from budwood.settings.kinds import Unfit, seconds

_WAIT = "50s"


@click.command()
@click.argument("run", type=RunName(), required=False)
@click.option("--http", metavar="[HOST:]PORT", help="Serve over HTTP, behind a token; by default on this machine only.")
@click.option("--wait", default=_WAIT, metavar="TIME", help=f"How long ask_human waits in one call; default: {_WAIT}.")
@store_option
def command(run: str | None, http: str | None, wait: str, where: str | None) -> int:
    """Serve the tools for RUN over MCP, on standard input and output or over HTTP.

    Inside an attempt it serves that attempt's own run, for that attempt; in a sandbox it leads to who does so outside.
    Elsewhere it acts for you.

    \b
    Example: budwood mcp night --http 8765
    """
    if DOOR in os.environ:
        if (run, http, wait, where) != (None, None, _WAIT, None):
            raise UsageError("in a sandbox the server is outside, for the attempt alone", hint="budwood mcp, no more")
        os.execv(RELAY[0], RELAY)
    need_sdk()
    try:
        wait_s = seconds(wait)
    except Unfit:
        raise SettingsError(f"--wait is {wait!r}; it takes a time", hint='like "50s" or "10m"') from None
    with opened(os.environ, run=run, store=where) as (store, meant, bearer):
        if bearer is not None and http is not None:
            raise UsageError("inside an attempt the server speaks to that attempt alone", hint="leave --http out")
        import anyio

        from budwood.mcp.desk import Desk
        from budwood.mcp.server import make_server
        from budwood.mcp.tools import Counter

        server = make_server(Counter(Desk(store, meant, bearer=bearer), wait_s=wait_s))
        if http is None:
            from budwood.mcp import stdio

            anyio.run(stdio.serve, server)
            return 0
        from budwood.mcp import http as over_http

        door = over_http.open_door(http)
        note(f"serves at {door.url}\nAuthorization: Bearer {door.token}")
        anyio.run(over_http.serve, server, door)
    return 0
