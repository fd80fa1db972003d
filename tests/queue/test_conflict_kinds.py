"""Every kind of conflict that git knows: said with its files, published by nobody, and solved by a commit."""

from pathlib import Path

import pytest
from tests.queue.plans import conflict_of, doing, lanes
from tests.workshop.site import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KINDS = {
    "content": ("echo x > text", "echo y > text"),
    "delete-modify": ("git rm -q text", "echo y >> text"),
    "modify-delete": ("echo x >> text", "git rm -q text"),
    "rename-rename": ("git mv text x", "git mv text y"),
    "rename-add": ("git mv text new", "echo y > new"),
    "add-add": ("echo x > both", "echo y > both"),
    "file-directory": ("echo x > thing", "mkdir thing && echo y > thing/y"),
    "mode": ("rm text && ln -s other text", "chmod +x text && echo y >> text"),
    "binary": ("printf 'x\\0x' > text", "printf 'y\\0y' > text"),
    "symlink": ("ln -s a link", "ln -s b link"),
}
"""What two lanes do, each kind in a folder of its own that has a file `text`. Of submodules see `test_joining`."""


def test_each_is_said_and_can_be_solved(site: Site) -> None:
    for kind in KINDS:
        (site.root / kind).mkdir()
        (site.root / kind / "text").write_text(f"what {kind} begins with\n")
        (site.root / kind / "other").write_text(f"as long as text, and something else: {kind}\n")
    site.git("add", *KINDS)
    site.git("commit", "-qm", "folders", "--", *KINDS)
    ours = [_lane(f"x-{kind}", kind, one) for kind, (one, _) in KINDS.items()]
    theirs = [_lane(f"y-{kind}", kind, other) for kind, (_, other) in KINDS.items()]
    site.agents(*ours, *theirs, review="auto", slots=4)
    before = site.belongings()
    site.call("run", "plan.toml", code=5)
    assert {name: state for name, state in lanes(site).items() if state == "merged"}.keys() == {f"x-{k}" for k in KINDS}
    tree = site.git("rev-parse", "budwood/plan^{tree}")
    for kind in KINDS:
        conflict = conflict_of(site, f"lane y-{kind}")
        assert conflict.files, kind
        assert all(file.startswith(f"{kind}/") for file in conflict.files), kind
        # As the user calls them, not as git puts them aside.
        assert all("~" not in file for file in conflict.files), kind
        # Whatever it is, the person takes what was merged.
        solve = f"git read-tree --reset -u {conflict.onto} && git commit -qm solved"
        site.git("-c", f"alias.solve=!{solve}", "solve", cwd=Path(conflict.path))
    site.call("resume", "plan")
    assert site.git("rev-parse", "budwood/plan^{tree}") == tree
    assert set(lanes(site).values()) == {"merged"}
    assert site.belongings() == before


def test_marks_in_a_file_that_git_put_aside_are_published_by_nobody(site: Site) -> None:
    lines = [f"{number}\n" for number in range(20)]
    (site.root / "q").write_text("".join(lines))
    site.git("add", "q")
    site.git("commit", "-qm", "q", "--", "q")
    ours = _lane("x", ".", "git mv q p && sed -i '10s/.*/by x/' p")
    theirs = _lane("y", ".", "sed -i '10s/.*/by y/' q && mkdir p && echo y > p/inner")
    site.agents(ours, theirs, review="auto", into="main")
    site.call("run", "plan.toml", code=5)
    conflict = conflict_of(site, "lane y")
    assert conflict.files == ("p",)
    site.git("add", "-A", cwd=Path(conflict.path))
    site.git("commit", "-qm", "solved", cwd=Path(conflict.path))
    assert "marks of the conflict were committed: p~" in site.call("resume", "plan", code=5).err
    assert lanes(site) == {"x": "merged", "y": "conflict"}


def _lane(name: str, folder: str, command: str) -> str:
    return doing(name, f"cd {folder} && {command} && git add -A . && git commit -qm made")
