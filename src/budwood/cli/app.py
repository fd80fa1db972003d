"""The command `budwood`: its groups of subcommands, near misses, and how errors end.

Commands are loaded when they are called, so that `budwood run` does not pay for what it does not use.
"""

import errno
import sys
from contextlib import suppress
from importlib import import_module

import click

from budwood import __version__
from budwood.cli.streams import OUTPUT, keep_streams, leave_streams
from budwood.errors import BudwoodError

SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": ("init", "run", "best-of", "plan", "demo"),
    "Look": (
        *("ls", "status", "watch", "show", "review", "diff", "compare", "best", "lanes", "tree"),
        *("story", "why", "logs", "cost", "export"),
    ),
    "Decide": ("answer", "approve", "reject", "revise", "merge", "pr", "retry"),
    "Stop and resume": ("pause", "resume", "cancel"),
    "Care": ("open", "apply", "branch", "recover", "gc", "mcp", "store", "config", "doctor", "completion"),
}
NAMES = tuple(name for names in SECTIONS.values() for name in names)
GUESSES = {
    "list": "ls",
    "ps": "status",
    "stop": "pause",
    "continue": "resume",
    "kill": "cancel",
    "abort": "cancel",
    "start": "run",
    "exec": "run",
    "log": "logs",
    "tail": "logs",
    "events": "story",
    "history": "story",
    "info": "show",
    "describe": "show",
    "check": "plan check",
    "graph": "plan show",
    "validate": "plan check",
    "verify": "store verify",
    "settings": "config show",
    "rerun": "retry",
    "explain": "why",
    "follow": "watch",
    "accept": "approve",
    "decline": "reject",
    "pull-request": "pr",
    "clean": "gc",
    "prune": "gc",
    "restore": "open",
    "reply": "answer",
}
REFUSED, INTERNAL_ERROR, INTERRUPTED = 4, 70, 130
_MACHINES = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE),
    *(errno.ENOMEM, errno.EAGAIN),
}
"""What the machine refuses is no bug of ours, wherever it does."""


class Commands(click.Group):
    """The subcommands, by section; each is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in NAMES:
            return None
        module = import_module(f"budwood.cli.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in NAMES and not name.startswith("-"):
            from budwood._core.suggest import nearest  # a run that was spelled right starts sooner without it

            meant = GUESSES.get(name) or nearest(name, NAMES)
            hint = f"did you mean budwood {meant}?" if meant else "budwood --help lists the commands"
            raise click.UsageError(f"there is no command {name!r}\n\nhint: {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, names in SECTIONS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                assert command is not None
                rows.append((name, command.get_short_help_str(90)))
            with formatter.section(section):
                formatter.write_dl(rows)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="budwood %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Run many attempts at once and keep the best.

    Bare `budwood` shows what needs you, what runs and what ended. Every command that reads has --json.
    """
    if ctx.invoked_subcommand is None:
        from budwood.cli.commands.overview import show_overview

        show_overview()


def main() -> None:
    """Run the command line; every ending has an exit code."""
    keep_streams()
    code = _run()
    leave_streams()
    sys.exit(code)


def _run() -> int:
    platform: str = sys.platform
    if platform == "win32":
        return _tell("budwood needs a POSIX system", "on Windows, install and run it inside WSL", 2)
    try:
        code = app.main(prog_name="budwood", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BudwoodError as error:
        return _tell(error.message, error.hint, error.exit_code)
    except click.UsageError as error:
        return _tell_usage(error)
    except click.ClickException as error:
        return _tell(error.format_message(), None, 2)
    except (KeyboardInterrupt, click.Abort):
        return _tell("interrupted; what was recorded is safe", None, INTERRUPTED)
    except OSError as error:
        return _tell_refused(error)
    except Exception:
        return _tell_bug()


def _tell(message: str, hint: str | None, code: int) -> int:
    with suppress(OSError):  # nobody hears; the exit code is all that is left
        click.echo(f"error: {message}" + (f"\n\nhint: {hint}" if hint else ""), err=True)
    return code


def _tell_refused(error: OSError) -> int:
    """Tell what the machine refused: writing our output, or something else that is not our fault."""
    if error.filename == OUTPUT:
        if isinstance(error, BrokenPipeError):  # its reader went away, which is its right
            return 0
        return _tell(f"{OUTPUT} cannot be written: {error.strerror}", "write it to another place", REFUSED)
    if error.errno not in _MACHINES:
        return _tell_bug()
    what = f"{error.filename} cannot be used" if error.filename else "the machine refuses"
    return _tell(f"{what}: {error.strerror}; what was recorded is safe", "budwood doctor looks for the cause", REFUSED)


def _tell_bug() -> int:
    import traceback

    with suppress(OSError):
        traceback.print_exc()
    return _tell(
        "this is a bug in budwood; what was recorded is safe", "budwood store verify checks it", INTERNAL_ERROR
    )


def _tell_usage(error: click.UsageError) -> int:
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # a group alone: its message is its help
        with suppress(OSError):
            click.echo(message, err=True)
        return 2
    if "\n\nhint: " not in message and error.ctx is not None:
        message += f"\n\nhint: {error.ctx.command_path} --help"
    return _tell(message, None, 2)
