"""The command line: one file per command, thin. The only part that prints or reads the environment."""

from budwood.cli.app import main

__all__ = ["main"]
