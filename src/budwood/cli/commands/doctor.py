"""`budwood doctor`: is everything there that budwood needs, and what would go wrong."""

import textwrap
from collections.abc import Sequence

import click
import msgspec

from budwood import __version__
from budwood.agents.finding import VERSION_TIMEOUT_S
from budwood.cli import agents_checkup, checkup
from budwood.cli.checkup import Finding
from budwood.cli.containment import containment, logout, supervisor
from budwood.cli.looking import json_option, store_option, write_json
from budwood.cli.sandbox import sandbox
from budwood.cli.tables import terminal_width
from budwood.cli.text import bold, is_terminal, one_line, tinted
from budwood.project.place import Project, find_project
from budwood.project.words import counted

_TINTS = {"ok": "done", "warning": "paused", "missing": "failed", "unknown": "waiting", "absent": "waiting"}


@click.command("doctor")
@json_option
@store_option
def command(as_json: bool, where: str | None) -> int:
    """Look whether everything is there that budwood needs.

    Also tells which agents are here, what holds attempts and how many slots are sensible. Programs of agents are asked
    for their version, for at most 5 seconds. The exit code is 1 only if something is missing without which nothing
    runs.

    \b
    Example: budwood doctor
    """
    project = find_project()
    configured, wrong = agents_checkup.settings(project)
    findings = look(project, where) + wrong
    agents = agents_checkup.agents(project, configured, timeout_s=VERSION_TIMEOUT_S)
    slots = checkup.recommended_slots()
    missing = [finding for finding in findings if finding.state == "missing"]
    if as_json:
        shapes, found = ([msgspec.structs.asdict(each) for each in part] for part in (findings, agents))
        write_json({"version": __version__, "ok": not missing, "checks": shapes, "agents": found, "slots": slots})
    else:
        _write(findings)
        click.echo(f"\n{bold('agents')}")
        _write(agents)
        for_commands, for_agents = (counted(slots[what], "slot") for what in ("commands", "agents"))
        click.echo(f"\nrecommended: {for_commands} for commands, {for_agents} for agents")
        click.echo(_verdict([*findings, *agents]))
    return 1 if missing else 0


def look(project: Project, where: str | None) -> list[Finding]:
    """Look at everything."""
    found, probe = supervisor()
    return [
        checkup.system(),
        checkup.python(),
        found,
        checkup.shell(),
        checkup.git(),
        checkup.store(project, where),
        checkup.runtime(),
        checkup.disk(project),
        *(containment(probe) if probe is not None else ()),
        sandbox(project),
        logout(),
        checkup.open_files(),
        checkup.inotify(),
    ]


def _write(findings: Sequence[Finding]) -> None:
    room = terminal_width() if is_terminal() else 10_000
    for finding in findings:
        head = f"{finding.state:8} {finding.name:11} "
        lines = textwrap.wrap(one_line(finding.text), room - len(head), break_long_words=False, break_on_hyphens=False)
        if finding.fix:
            fix = f"fix: {one_line(finding.fix)}"
            lines += textwrap.wrap(fix, room - len(head), break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(lines):
            start = tinted(head, _TINTS[finding.state]) if number == 0 else " " * len(head)
            click.echo(f"{start}{line}")


def _verdict(findings: Sequence[Finding]) -> str:
    missing = sum(finding.state == "missing" for finding in findings)
    warnings = sum(finding.state == "warning" for finding in findings)
    if missing:
        return f"budwood cannot run here: {counted(missing, 'thing')} missing"
    return f"budwood can run here; {counted(warnings, 'warning')}" if warnings else "budwood can run here"
