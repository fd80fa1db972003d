"""A sandbox that cannot be had, or could not keep its word, is refused before anything starts."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.world import Budwood, task

TASK = task("a", "true")


def refused(budwood: Budwood, *tables: str, path: str | None = None) -> str:
    """Run a plan that is refused; return what was said."""
    budwood.plan(*tables)
    said = budwood.call("run", "plan.toml", env={} if path is None else {"PATH": path}, code=2)
    assert not budwood.has_store or budwood.runs() == []
    return said.err


def bare_path(folder: Path) -> str:
    """Make a PATH with git, and without bwrap."""
    folder.mkdir()
    for name in ("git", "sh"):
        found = next(p for p in os.environ["PATH"].split(":") if Path(p, name).exists())
        (folder / name).symlink_to(Path(found, name))
    return str(folder)


def test_without_bwrap_it_is_refused_with_what_to_install(budwood: Budwood, tmp_path: Path) -> None:
    said = refused(
        budwood, '[run]\nsandbox = "bwrap"\nworkspace = "copy"\n', TASK, path=bare_path(tmp_path / "programs")
    )
    assert 'error: sandbox is "bwrap", and there is no program bwrap on the PATH' in said
    assert "hint: install bubblewrap" in said


@pytest.mark.parametrize(
    ("settings", "tasks", "words"),
    [
        ('sandbox = "bwrap"', TASK, "attempts would work in your own directory"),
        ('sandbox = "bwrap"\nworkspace = "worktree"', TASK, "a linked worktree writes into the .git of your own"),
        (
            'sandbox = "bwrap"\nworkspace = "copy"',
            "[[task]]\nid = 'f'\nfunction = 'os:getcwd'\n",
            "task 'f' calls a function",
        ),
        ('network = "none"', TASK, "network is limited, and sandbox is none"),
        (
            'sandbox = "bwrap"\nworkspace = "copy"\nsandbox_read = ["gone"]',
            TASK,
            "sandbox_read names 'gone', and there is",
        ),
        ('sandbox = "bwrap"\nworkspace = "copy"\nsandbox_write = ["/"]', TASK, "sandbox_write names the whole machine"),
        ('sandbox = "docker"', TASK, 'it takes "none" or "bwrap"'),
        ('network = ["https://a.org"]', TASK, 'it takes "all", "none", or a list of hosts'),
    ],
)
def test_what_it_could_not_keep_is_refused(budwood: Budwood, settings: str, tasks: str, words: str) -> None:
    budwood.env["HOME"] = str(budwood.root.parent)
    subprocess.run(["git", "init", "-q"], cwd=budwood.root, check=True)
    assert words in refused(budwood, f"[run]\n{settings}\n", tasks)


def test_the_flag_asks_for_it_as_the_key_does(budwood: Budwood, tmp_path: Path) -> None:
    budwood.plan('[run]\nworkspace = "copy"\n', TASK)
    env = {"PATH": bare_path(tmp_path / "programs")}
    assert "there is no program bwrap" in budwood.call("run", "plan.toml", "--sandbox", "bwrap", env=env, code=2).err
    budwood.call("run", "plan.toml", "--sandbox", "none", env=env)
