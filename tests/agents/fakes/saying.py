"""What the fake programs share: their arguments, the prompt, records, and a loud end where they are called badly.

They print what the real ones print, on the same stream, with the same exit code. Which behaviour is wanted is told by
words in the prompt: `behave: NAME`; `first: NAME` for the first attempt at a task; `makes: FILE` has it write a file,
which tells how the program was called. Asked for a review, `verdict: TEXT` in what it is to look at is what it answers;
asked to judge, `chooses: TASK` in the task says which it takes.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

BAD_CALL = 99
_CLIENT = {"name": "fake", "version": "1"}
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


def use_server(words: Sequence[str], env: Mapping[str, str]) -> None:
    """Start an MCP server as a real program does: with few variables of one's own and those that were declared for it.

    What it lists is written into a file, and so is what it says of the task; a task is created.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    server = subprocess.Popen([*words], env={**kept, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    created = {"description": "Further work", "run": "echo further > further.txt"}
    answers = []
    for number, (method, params) in enumerate(
        (
            ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}),
            ("tools/list", {}),
            ("tools/call", {"name": "get_context", "arguments": {}}),
            ("tools/call", {"name": "create_task", "arguments": created}),
        )
    ):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        answers.append(json.loads(server.stdout.readline() or complain(f"the server {words} went away")))
    server.stdin.close()
    if server.wait(30):
        complain(f"the server ended with {server.returncode}")
    names = [tool["name"] for tool in answers[1]["result"]["tools"]]
    told = [json.loads(answer["result"]["content"][0]["text"]) for answer in answers[2:]]
    write_file("tools.txt", json.dumps({"tools": names, "task": told[0]["task"]["task"], "created": told[1]["task"]}))


def crash(number: int = signal.SIGSEGV) -> None:
    """End by a signal."""
    sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)


def behave(prompt: str, behaviours: Mapping[str, Callable[[], int]]) -> NoReturn:
    """Do what the prompt asks for."""
    review = re.search(r"Write it to the file (\S+),", prompt)
    if review:
        prompt = prompt[: review.start()]  # what follows was for somebody else
        verdict = re.search(r"verdict: (.*)", prompt)
        if verdict:
            write_file(review[1], verdict[1].replace("; ", "\n"))
    judges, choice = (
        re.search(r"Write your choice to the file (\S+), as JSON", prompt),
        re.search(r"chooses: (\S+)", prompt),
    )
    if judges and choice:
        write_file(judges[1], json.dumps({"choice": choice[1], "why": "fake"}))
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
