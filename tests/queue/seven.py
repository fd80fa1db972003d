"""Seven tasks in three lanes, merged into a trunk that has moved on: two conflict with it.

Those of lane 2 an agent solves; it gives up on those of lane 3, which a person solves.
"""

import json
from pathlib import Path

from tests.queue.plans import conflict_of, events, shell, solve
from tests.workshop.seven import AFTER, EPIC_OF, made_by
from tests.workshop.site import Site, do, steps, task

from budwood._core.events import LanesMerged

SOLVER = """
import os, re, sys
prompt = open(os.environ["BUDWOOD_PROMPT_FILE"]).read()
if "lane 3" in prompt:
    sys.exit("this is too hard")
for path in re.findall(r"^- (.*)$", prompt, re.M):
    if not os.path.exists(path):
        continue
    text = open(path).read()
    solved = re.sub(r"<{7}.*?\\n(.*?)={7}\\n(.*?)>{7}[^\\n]*\\n", r"\\2\\1", text, flags=re.S)
    open(path, "w").write(solved)
"""
VERIFY = "test $(ls made | wc -l) -ge 3 && ! grep -rq '<<<<<<<' made trunk.txt"
BY_HAND = "ahead, then 6\n"


def make_site(root: Path) -> Site:
    """Make a repository, a trunk that is ahead of what the run starts from, and the plan."""
    root.parent.mkdir(exist_ok=True)  # the user's home is beside it, one for each
    site = Site(root)
    shell(
        site,
        "export GIT_INDEX_FILE=../index; git read-tree main; "
        "git update-index --add --cacheinfo 100644,$(echo base | git hash-object -w --stdin),trunk.txt; "
        "git update-index --add --cacheinfo 100644,$(echo base | git hash-object -w --stdin),title.txt; "
        "git branch start $(git commit-tree -p main -m start $(git write-tree)); "
        "git update-index --cacheinfo 100644,$(echo ahead | git hash-object -w --stdin),trunk.txt; "
        "git update-index --cacheinfo 100644,$(echo ahead | git hash-object -w --stdin),title.txt; "
        "git branch trunk $(git commit-tree -p start -m ahead $(git write-tree))",
    )
    (root / "solver.py").write_text(SOLVER)
    agent = {"agent": "command", "command": ["python3", str(root / "solver.py")]}
    (root / "budwood.toml").write_text(
        "[agents.solver]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in agent.items())
    )
    lanes = "".join(f"[[lane]]\nid = {epic}\n" for epic in (1, 2, 3))
    tasks = [task(number, _steps(number), lane=EPIC_OF[number], after=list(AFTER[number])) for number in AFTER]
    keys = {"base": "start", "into": "trunk", "verify": VERIFY, "resolve": ["solver"], "backoff": "10ms"}
    site.agents(lanes, *tasks, **keys)  # type: ignore[arg-type]
    return site


def _steps(number: int) -> str:
    more = {
        4: [do("write", path="trunk.txt", text="by 4\n")],
        6: [do("write", path="title.txt", text="6\n")],
    }
    made = do("write", path=made_by(number), text=f"by task {number}\n")
    return steps(made, *more.get(number, []), do("sleep", seconds=0.1))


def solve_by_hand(site: Site) -> None:
    """Solve what is left, as a person does."""
    conflict = conflict_of(site, "lane 3")
    assert conflict.files == ("title.txt",)
    solve(site, conflict.path, "title.txt", BY_HAND)


def check_landed(site: Site) -> str:
    """See that everything is in the trunk, once; return the tree."""
    assert site.git("show", "trunk:trunk.txt") == "ahead\nby 4"
    assert site.git("show", "trunk:title.txt") + "\n" == BY_HAND
    assert site.git("ls-tree", "-r", "--name-only", "trunk", "made/").splitlines() == [made_by(n) for n in AFTER]
    merged = [line for event in events(site, LanesMerged) for line, _ in event.lines]
    assert sorted(merged) == ["lane 1", "lane 2", "lane 3"]
    assert site.git("rev-parse", "trunk") == site.git("rev-parse", "budwood/plan")
    return site.git("rev-parse", "trunk^{tree}")
