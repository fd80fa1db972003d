"""Pages of documentation as tests see them: their samples, their links, their words.

A sample in a ```console fence is a shell's: lines after "$ " are typed ("> " goes on with the line before), the others
are what is printed, and a line "..." stands for any lines. A ```toml or ```python fence whose first line is "# NAME" is
a file of that name.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# ([\w./-]+\.(?:toml|json|py))\b")
_END = "-- end of sample --"

# What differs from run to run, and what stands for it when two lines are compared.
_LOOSE = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<when>"),
    (re.compile(r"just now|\b\d+(?:\.\d+)? (?:ms|s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?(?: ago)?"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:B|kB|MB|GB|TB|MiB)\b"), "<size>"),
    (re.compile(r"(?<!\S)~?/\S+/"), ""),
    (re.compile(r"\b[0-9a-f]{24}\b"), "<key>"),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{10,12}\b"), "<commit>"),
    (re.compile(r"\b\d[a-z0-9]{9}\b"), "<id>"),
    (re.compile(r"\b(done|failed|skipped|cancelled) \d+/"), r"\1 <n>/"),
    (re.compile(r"\b\d+ (slot|event)s?\b"), r"<n> \1s"),
    (re.compile(r"\b\d{3,}\b"), "<n>"),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One fence of a page: its language, its text, and the line it begins at."""

    language: str
    text: str
    line: int

    @property
    def file_name(self) -> str | None:
        """Return the name of the file that the sample is; None if it is none."""
        named = _NAMED.match(self.text) if self.language in ("toml", "json", "python") else None
        return named.group(1) if named else None

    @property
    def is_plan(self) -> bool:
        """Say whether it has tasks."""
        return self.language == "toml" and "[[task]]" in self.text

    @property
    def commands(self) -> list[str]:
        """List what is typed."""
        found: list[str] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append(line[2:])
            elif line.startswith("> "):
                found[-1] += "\n" + line[2:]
        return found

    @property
    def output(self) -> list[str]:
        """List the lines that are shown as printed."""
        return [line for line in self.text.splitlines() if line.strip() and not line.startswith(("$ ", "> "))]


def pages(*folders: str) -> list[Path]:
    """List pages by their place in the repository: files as they are, folders with all that is below."""
    found: list[Path] = []
    for folder in folders:
        path = ROOT / folder
        found += [path] if path.is_file() else sorted(path.rglob("*.md"))
    return found


def page_name(path: Path) -> str:
    """Name a page by its path in the repository."""
    return path.relative_to(ROOT).as_posix()


def samples(text: str) -> Iterator[Sample]:
    """Give the fences of a page in order."""
    for match in _FENCE.finditer(text):
        yield Sample(match.group(1), match.group(2), text.count("\n", 0, match.start()) + 1)


def without_code(text: str) -> str:
    """Take fences and code spans out, so that only what is said is left."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def loose(line: str) -> str:
    """Write a line without what differs from run to run."""
    for pattern, instead in _LOOSE:
        line = pattern.sub(instead, line)
    return line.strip()


def differences(expected: Sequence[str], printed: Sequence[str]) -> list[str]:
    """Say in which lines a sample and what was really printed differ; their order is not compared: slots race."""
    open_ended = "..." in [line.strip() for line in expected]
    wanted = Counter(loose(line) for line in expected if line.strip() != "...")
    found = Counter(loose(line) for line in printed if line.strip() and not _is_shells_own(line))
    missing = [f"shown, but not printed: {line}" for line in (wanted - found).elements()]
    return missing + ([] if open_ended else [f"printed, but not shown: {line}" for line in (found - wanted).elements()])


def _is_shells_own(line: str) -> bool:
    """Tell what a shell says of a process that was killed, each in its own words."""
    return re.match(r"\S*bash: .*\bKilled\b", line) is not None


class Shell:
    """One shell for a page: directories and variables last from sample to sample; what it started ends with it."""

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        self._home = str(folder / "home")
        env = {name: value for name, value in os.environ.items() if not name.startswith(("BUDWOOD_", "XDG_"))}
        env |= {
            "PATH": f"{Path(sys.executable).parent}:{env['PATH']}",
            "HOME": self._home,
            "LC_ALL": "C.UTF-8",
            **(more or {}),
        }
        self._process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, commands: Sequence[str]) -> list[str]:
        """Type commands; return the lines that came until the last of them was over."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for command in commands:
            self._process.stdin.write(f"{{ {command}\n}} < /dev/null\n")
        self._process.stdin.write(f"printf '\\n%s\\n' '{_END}'\n")
        self._process.stdin.flush()
        printed: list[str] = []
        for line in self._process.stdout:
            if line.rstrip("\n") == _END:
                return printed
            printed.append(line.rstrip("\n"))
        raise AssertionError("the shell ended:\n" + "\n".join(printed))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.kill()
        self._process.wait()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("HOME") == self._home:
                    process.kill()
