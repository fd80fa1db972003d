"""The merge queue where attempts are kept in: its own tasks are too, and what attempts plant runs for nobody."""

import pytest
from tests.queue.plans import conflict_of, doing, published, solve
from tests.workshop.kept_in import box
from tests.workshop.site import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
__all__ = ["box"]
INSIDE = 'test "$IS_SANDBOX" = 1'


def writing(box: Site, text: str) -> str:
    """Write what conflicts, and plant in the workspace's git what would run outside."""
    mark = box.root.parent / "planted-ran"
    hooks = "post-checkout pre-commit post-merge prepare-commit-msg post-commit reference-transaction"
    return (
        f"echo {text} > README.md; git config core.fsmonitor \"touch '{mark}'\"; mkdir -p .git/hooks; "
        f"for hook in {hooks}; do printf \"#!/bin/sh\\ntouch '{mark}'\\n\" > .git/hooks/$hook; "
        "chmod +x .git/hooks/$hook; done"
    )


def test_verify_is_kept_in_and_where_a_person_solves_a_conflict_nothing_planted_runs(box: Site) -> None:
    verify = f"{INSIDE} && ! touch '{box.root}/evil.txt' && ! cat '{box.home}/.netrc'"
    lanes = (doing("x", writing(box, "x")), doing("y", writing(box, "y")))
    box.agents(*lanes, slots=1, verify=verify, setup=INSIDE, sandbox="bwrap")
    box.call("run", "plan.toml", code=5)
    solve(box, conflict_of(box, "lane y").path, "README.md", "both\n")
    box.call("resume", "plan")
    assert published(box, "README.md") == "both"
    assert not (box.root.parent / "planted-ran").exists()


def test_an_agent_that_solves_a_conflict_is_kept_in(box: Site) -> None:
    command = f"{INSIDE} && ! touch '{box.root}/evil.txt' && echo both > README.md"
    settings = f'[agents.solver]\nagent = "command"\ncommand = ["sh", "-c", """{command}"""]\n'
    (box.root / "budwood.toml").write_text(settings)
    box.agents(doing("x", "echo x > README.md"), doing("y", "echo y > README.md"), verify=INSIDE, resolve=["solver"])
    box.call("run", "plan.toml", "--sandbox", "bwrap")
    assert published(box, "README.md") == "both"
