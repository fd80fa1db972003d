"""`budwood config`: every setting, its value and where that comes from."""

import textwrap
from pathlib import Path

import click
import msgspec

from budwood.cli.looking import json_option, write_json
from budwood.cli.tables import Column, terminal_width, write_table
from budwood.cli.text import bold, is_terminal
from budwood.plans import read_plan
from budwood.project.place import find_project
from budwood.settings import KEYS, TABLES, Key
from budwood.settings.addresses import shown as without_secrets
from budwood.stores.address import shown


@click.group("config")
def command() -> None:
    """Show settings: what they are, and where they come from.

    \b
    Example: budwood config show --origin
    """


@command.command("show")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@click.option("--plan", "file", type=click.Path(path_type=Path), metavar="FILE", help="With what this plan sets.")
@json_option
def show(origin: bool, file: Path | None, as_json: bool) -> None:
    """Show the value of every setting here.

    A flag wins over BUDWOOD_* variables, those over the plan, then budwood.toml, then your own file, then the default.
    The store is also looked for in DATABASE_URL, before the default.

    \b
    Example: budwood config show --origin
    """
    plan = None if file is None else read_plan(file)
    resolved = find_project().resolve(flags={}, plan=plan)
    settings = [(key, _public(key, value), where) for key, value, where in resolved.rows()]
    tables = [(name, _public_address(name, value), where) for name, value, where in resolved.table_rows()]
    if as_json:
        shown = [*((key.name, value, where) for key, value, where in settings), *tables]
        write_json({"settings": {name: {"value": value, "origin": where} for name, value, where in shown}})
        return
    columns = [Column("KEY"), Column("VALUE", flexible=True), *([Column("FROM", flexible=True)] if origin else [])]
    rows = [
        [key.name, _written(value) if value is not None else key.shown_default, *([where] if origin else [])]
        for key, value, where in settings
    ]
    rows += ([name, _written(value), *([where] if origin else [])] for name, value, where in tables)
    write_table(columns, rows)


def _public(key: Key, value: object) -> object:
    """Take the password out of a database's address."""
    return shown(value) if key.name == "store" and isinstance(value, str) else value


def _public_address(name: str, value: object) -> object:
    """Take off what may be a secret behind the path of an endpoint's address."""
    return without_secrets(value) if name.endswith(".base_url") and isinstance(value, str) else value


def _written(value: object) -> str:
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()


@command.command("keys")
@json_option
def keys(as_json: bool) -> None:
    """List every setting: what it takes, its default, what it means.

    \b
    Example: budwood config keys
    """
    if as_json:
        shapes = [
            {
                "key": key.name,
                "table": key.table,
                "takes": key.kind.wants,
                "default": key.shown_default,
                "variable": key.env,
                "flag": key.flag,
                "meaning": key.doc,
            }
            for key in KEYS.values()
        ]
        shapes += [
            {
                "key": key.name,
                "table": table,
                "takes": key.kind.wants,
                "default": key.shown_default,
                "variable": None,
                "flag": None,
                "meaning": key.doc,
            }
            for table, keys in TABLES.items()
            for key in keys.values()
        ]
        write_json({"keys": shapes})
        return
    room = terminal_width() if is_terminal() else 10_000
    named = [(key.name, key.shown_default, key.doc) for key in KEYS.values()]
    named += (
        (f"{table}.{key.name}", key.shown_default, key.doc) for table, keys in TABLES.items() for key in keys.values()
    )
    for name, default, doc in named:
        click.echo(f"{bold(name)} (default: {default})")
        click.echo(textwrap.fill(doc, room, initial_indent="  ", subsequent_indent="  "))
