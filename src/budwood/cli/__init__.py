"""The command line: one file per command, thin. The only part that prints, and the only one that reads the environment."""

from budwood.cli.app import main

__all__ = ["main"]
