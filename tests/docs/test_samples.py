"""Every plan and every command that the documentation shows is tried, page by page, with the real program."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.docs.pages import ROOT, Sample, Shell, differences, page_name, pages, samples
from tests.support.receiver import free_port


def has_samples(page: Path) -> bool:
    return any(sample.is_plan or sample.language == "console" for sample in samples(page.read_text(encoding="utf-8")))


FOLDERS = ("README.md", "examples/README.md", "docs/index.md", "docs/tutorial", "docs/how-to", "docs/explanation")
PAGES = [page for page in pages(*FOLDERS) if has_samples(page)]
ON_POSTGRES = "docs/how-to/postgresql.md"
"""The page whose reader has set DATABASE_URL."""
IN_A_SANDBOX = "docs/how-to/sandbox.md"
"""The page whose reader has bubblewrap."""
PORT = "8737"
"""Where a page's reader has a program listen; whoever runs the tests may have another there."""


def marked(page: Path) -> ParameterSet:
    """Mark the page that needs a server."""
    return pytest.param(page, marks=pytest.mark.postgres if page_name(page) == ON_POSTGRES else ())


@pytest.fixture
def variables(page: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """What the reader of a page has set."""
    if page_name(page) == IN_A_SANDBOX:
        return {"PATH": f"{request.getfixturevalue('bwrap')}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return {"DATABASE_URL": request.getfixturevalue("database")} if page_name(page) == ON_POSTGRES else {}


@pytest.mark.slow
@pytest.mark.parametrize("page", [*map(marked, PAGES)], ids=page_name)
def test_every_sample_of_a_page_does_what_the_page_shows(page: Path, tmp_path: Path, variables: dict[str, str]) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    text = page.read_text(encoding="utf-8").replace(PORT, str(free_port()))
    with Shell(tmp_path, variables) as shell:
        wrong: list[str] = []
        for sample in samples(text):
            found = try_sample(sample, shell)
            wrong += (f"{page_name(page)}:{sample.line}: {line}" for line in found)
    assert wrong == []


def try_sample(sample: Sample, shell: Shell) -> list[str]:
    """Write what is a file, type what is typed; return what is not as shown."""
    if sample.file_name is not None:
        # Into the directory that the page's commands are in by now.
        printed = shell.run([f"cat > {sample.file_name} << '-- end of file --'\n{sample.text}-- end of file --"])
        return differences([], printed)
    if sample.language == "console":
        return differences(sample.output, shell.run(sample.commands))
    return ["a plan must begin with its file's name"] if sample.is_plan else []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_plan_of_a_page_is_used_by_a_command_of_that_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    typed = [command for sample in samples(text) if sample.language == "console" for command in sample.commands]
    plans = [sample.file_name or f"line {sample.line}" for sample in samples(text) if sample.is_plan]
    assert [name for name in plans if not any(name in command for command in typed)] == []


def test_the_readme_lists_the_targets_of_the_makefile() -> None:
    targets = re.findall(r"^(\w+):[^#\n]*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    listed = re.findall(r"^\| `make (\w+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [target for target in targets if target != "help"]


def test_lines_are_compared_without_what_differs_from_run_to_run() -> None:
    shown = ["done 1/2  a  2 ms", "done 2/2  b  0.5 s", "night  active  366je84hrd", "  pid 5822, 3 s ago"]
    assert differences(shown, [*reversed(shown[:2]), "night active 0j711j96r9", "pid 77, just now"]) == [
        "shown, but not printed: pid <n>, <time>",
        "printed, but not shown: pid 77, <time>",
    ]
    assert differences(["done 1/1  a  2 ms"], ["done 1/1  b  2 ms"]) != []
    assert differences(["...", "last"], ["first", "second", "last"]) == []
