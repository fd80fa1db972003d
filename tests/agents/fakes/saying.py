"""What the fake programs share: their arguments, the prompt, records, and a loud end where they are called badly.

They print what the real ones print, on the same stream, with the same exit code. Which behaviour is wanted is told by
words in the prompt: `behave: NAME`; `first: NAME` for the first attempt at a task; `makes: FILE` has it write a file,
which tells how the program was called.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from typing import NoReturn

BAD_CALL = 99
SOON_S = 3
"""How soon a limit ends that ends soon."""


class Called:
    """The arguments of a program."""

    def __init__(self) -> None:
        self.words = sys.argv[1:]

    def needs(self, *words: str) -> None:
        """Fail loudly unless these stand beside each other."""
        size = len(words)
        if not any(tuple(self.words[at : at + size]) == words for at in range(len(self.words))):
            complain(f"called without {' '.join(words)}: {self.words}")

    def value(self, option: str) -> str | None:
        """Return what follows an option."""
        return self.words[self.words.index(option) + 1] if option in self.words else None


def complain(what: str) -> NoReturn:
    """End as no real program does."""
    sys.stderr.write(f"FAKE: {what}\n")
    sys.exit(BAD_CALL)


def needs_env(**wanted: str) -> None:
    """Fail loudly unless these variables are set so."""
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            complain(f"{name} is {os.environ.get(name)!r}, not {value!r}")


def read_prompt() -> str:
    """Read the prompt on standard input, as a program does that has no terminal."""
    if sys.stdin.isatty():
        complain("standard input is a terminal")
    return sys.stdin.read() or complain("no prompt on standard input")


def read_file(path: str) -> str:
    """Read a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_file(path: str, text: str) -> None:
    """Write a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def say(**record: object) -> None:
    """Print a record as a line."""
    print(json.dumps(record), flush=True)


def warn(text: str) -> None:
    """Print to standard error."""
    sys.stdout.flush()
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def crash(number: int = signal.SIGSEGV) -> None:
    """End by a signal."""
    sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)


def behave(prompt: str, behaviours: Mapping[str, Callable[[], int]]) -> NoReturn:
    """Do what the prompt asks for."""
    made = re.search(r"makes: (\S+)", prompt)
    if made:
        write_file(made[1], " ".join(sys.argv[1:]) + "\n")
    found = re.search(r"first: ([\w-]+)", prompt) if os.environ.get("BUDWOOD_ATTEMPT") == "1" else None
    found = found or re.search(r"behave: ([\w-]+)", prompt)
    name = found[1] if found else "ok"
    if name not in behaviours:
        complain(f"no behaviour {name}")
    code = behaviours[name]()
    sys.stdout.flush()
    sys.exit(code)
