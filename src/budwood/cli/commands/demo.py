"""`budwood demo`: a run is killed and goes on before the viewer's eyes."""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from budwood.cli.demo.plan import NAME, TASKS, write_plan
from budwood.cli.demo.proof import findings
from budwood.cli.demo.stage import Stage, is_alive
from budwood.project.times import span
from budwood.project.words import counted, some


@click.command()
def command() -> int:
    """Watch a run being killed with -9 and going on, with nothing lost. Takes a quarter of a minute and needs no key.

    \b
    Example: budwood demo
    """
    began_s = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="budwood-demo-"))
    stage = Stage(folder / "project", environ=os.environ, say=_say)
    undisturbed = Stage(folder / "undisturbed", environ=os.environ, say=_say)
    holds: bool | None = None
    try:
        holds = _play(stage, undisturbed)
    finally:
        for each in (stage, undisturbed):
            each.clear()
        if holds is not False:  # also when somebody pressed Ctrl-C
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _say(f"\nwhat there is to look at is kept in {folder}")
    if holds:
        _say(f"\nThat took {span(time.monotonic() - began_s)}. Next:")
        if shutil.which("budwood") is None:  # as after `make demo`
            _say(f'  export PATH="{Path(sys.argv[0]).absolute().parent}:$PATH"')
        _say("  budwood init hello && cd hello   makes a project with a plan to try")
        _say("  budwood run plan.toml            runs it; stop it with Ctrl-C, run it again")
        _say("  budwood status                   shows what runs, what ended, what needs you")
    return 0 if holds else 1


def _play(stage: Stage, undisturbed: Stage) -> bool:
    plan = write_plan(stage.project, slots=3)
    write_plan(undisturbed.project, slots=8)
    _say(f"A plan of {len(TASKS)} tasks, one of which fails at first, is run with 3 slots in {stage.project}.")
    _say("(The same plan runs undisturbed beside it, with 8 slots, to compare the decisions in the end.)\n")
    beside = undisturbed.start("run", plan.name, "--quiet")
    _say(f"$ budwood run {plan.name}")
    driver = stage.start("run", plan.name)
    stage.show(driver, until=lambda line: line.startswith("done") and "clean" in line)
    running = stage.kill_in_the_middle(driver)
    _say(f"\n$ kill -9 {driver.pid}        # the driver, while {some(running)} run\n")
    alive = {task: row for task, row in running.items() if is_alive(row.pid)}
    for task, row in alive.items():
        _say(f"  process {row.pid} of {task} lives: its supervisor is independent of the driver")
    _say(f"  {stage.worked_alone(list(running))} has done its work meanwhile, with no driver there\n")
    _say(f"$ budwood resume {NAME}")
    stage.show(stage.start("resume", NAME))
    beside.communicate()
    _say("\nIs that so?")
    found = list(findings(stage, undisturbed, killed_while=len(running)))
    for finding in found:
        _say(f"  {'yes' if finding.holds else 'NO '}  {finding.text}")
    wrong = [finding for finding in found if not finding.holds]
    _say(f"\n{counted(len(wrong), 'promise')} broken." if wrong else "\nNothing was lost, nothing was done twice.")
    return not wrong


def _say(text: str) -> None:
    click.echo(text)
