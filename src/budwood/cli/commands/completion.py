"""`budwood completion`: what a shell needs to complete commands, runs and tasks."""

import click

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Write the completion script of a shell.

    It completes commands and options, and runs and tasks from the store.

    \b
    bash: eval "$(budwood completion bash)"  in ~/.bashrc
    zsh:  eval "$(budwood completion zsh)"   in ~/.zshrc
    fish: budwood completion fish > ~/.config/fish/completions/budwood.fish

    \b
    Example: budwood completion bash
    """
    from click.shell_completion import get_completion_class

    known = get_completion_class(shell)
    assert known is not None
    complete = known(ctx.find_root().command, {}, "budwood", "_BUDWOOD_COMPLETE")
    # Not its `source()`: that asks the bash of this machine for its version first, and the script is the same for all.
    click.echo(complete.source_template % complete.source_vars())
