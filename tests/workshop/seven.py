"""The seven tasks of YokeFlow's example, in their three epics, done by the script agent in a real repository.

Tasks 4, 5 and 7 stand on tasks of other epics: they read what those wrote, and fail if it is not there.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.workshop.site import Site, do, steps

FILE = "night.json"
RUN = "night"
EPICS = {1: "Backend Infrastructure", 2: "Authentication", 3: "Frontend"}
BRANCHES = {
    "epic-1-backend-infrastructure": (1, 2, 3),
    "epic-2-authentication": (1, 2, 3, 4, 5),
    "epic-3-frontend": (1, 2, 3, 6, 7),
}
"""By branch, the tasks whose files are on it at the end."""
AFTER: Mapping[int, tuple[int, ...]] = {1: (), 2: (1,), 3: (2,), 4: (2,), 5: (3, 4), 6: (), 7: (3,)}
EPIC_OF = {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3, 7: 3}


def made_by(number: int) -> str:
    """Name the file that a task writes."""
    return f"made/{number}.txt"


def _action(number: int) -> str:
    reads = [do("read", path=made_by(other), contains=f"by task {other}") for other in AFTER[number]]
    changes = [
        do("write", path=made_by(number), text=f"by task {number}\n"),
        do("write", path=f"ignored/{number}.bin", text=f"seen by nobody: {number}\n"),
        do(
            "append",
            path="CHANGES.txt" if EPIC_OF[number] == 1 else f"CHANGES-{EPIC_OF[number]}.txt",
            text=f"{number}\n",
        ),
    ]
    return steps(*reads, *changes, do("cost", usd=0.25, tokens=100), do("sleep", seconds=0.2))


def write_plan(site: Site) -> str:
    """Write the plan as YokeFlow has it."""
    tasks = [
        {
            "id": number,
            "epic_id": EPIC_OF[number],
            "description": f"task {number}",
            "action": _action(number),
            "depends_on": after,
        }
        for number, after in AFTER.items()
    ]
    epics = [{"id": number, "name": name} for number, name in EPICS.items()]
    (site.root / FILE).write_text(json.dumps({"epics": epics, "tasks": tasks}))
    return FILE


def make_site(root: Path) -> Site:
    """Make a repository with the plan in it."""
    site = Site(root)
    (root / "budwood.toml").write_text('[run]\nagent = "script"\nbackoff = "10ms"\n')
    write_plan(site)
    return site


def check_done(site: Site) -> None:
    """See that every task is done once, and that each lane's branch has the files that belong there and no others."""
    assert [task.phase.value for task in site.state(RUN).tasks] == ["done"] * 7
    for branch, numbers in BRANCHES.items():
        listed = site.git("ls-tree", "-r", "--name-only", branch, "made/").splitlines()
        assert listed == [made_by(number) for number in numbers], branch
        assert site.git("show", f"{branch}:README.md") == "a project"
    branches = site.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()
    assert sorted(branches) == sorted([*BRANCHES, "main", "side"])
