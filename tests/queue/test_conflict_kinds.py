"""Every kind of conflict that git knows: said with its files, published by nobody, and solved by a commit."""

from pathlib import Path

import pytest
from tests.queue.plans import conflict_of, doing, published
from tests.workshop.site import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COMMIT = "git add -A && git commit -qm made"
KINDS = {
    "content": ("echo x > README.md", "echo y > README.md"),
    "delete/modify": ("git rm -q README.md", "echo y >> README.md"),
    "modify/delete": ("echo x >> README.md", "git rm -q README.md"),
    "rename/rename": ("git mv README.md x.md", "git mv README.md y.md"),
    "rename/add": ("git mv notes.txt new.txt", "echo y > new.txt"),
    "add/add": ("echo x > both.txt", "echo y > both.txt"),
    "file/directory": ("echo x > thing", "mkdir thing && echo y > thing/y"),
    "mode": ("rm README.md && ln -s src README.md", "chmod +x README.md && echo y >> README.md"),
    "binary": ("printf 'x\\0x' > notes.txt", "printf 'y\\0y' > notes.txt"),
    "symlink": ("ln -s a link", "ln -s b link"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_said_and_can_be_solved(site: Site, kind: str) -> None:
    one, other = KINDS[kind]
    site.agents(doing("x", f"{one} && {COMMIT}"), doing("y", f"{other} && {COMMIT}"), review="auto")
    before = site.belongings()
    site.call("run", "plan.toml", code=5)
    conflict = conflict_of(site, "lane y")
    assert conflict.files
    tree = site.git("rev-parse", "budwood/plan^{tree}")
    assert tree == site.git("rev-parse", "lane-x^{tree}")
    # Whatever it is, the person takes what lane x made.
    shell = f"git read-tree --reset -u {conflict.onto} && git commit -qm solved"
    site.git("-c", f"alias.solve=!{shell}", "solve", cwd=Path(conflict.path))
    site.call("resume", "plan")
    assert site.git("rev-parse", "budwood/plan^{tree}") == tree
    assert published(site, ".gitignore")
    assert site.belongings() == before
