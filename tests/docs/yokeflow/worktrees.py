"""Trials: branches, workspaces, what is left after a crash."""

import os
import signal
from pathlib import Path

import msgspec
from tests.cli.world import wait_for
from tests.docs.yokeflow.ground import RUN, Ground, tries, writing
from tests.workshop.site import Site, do, steps

from budwood._core.events import AttemptStarted


@tries(
    '`create_worktree(epic_id=42, epic_name="User Authentication")`',
    'branch of the epic 42 "CON"',
    'branch of the epic 42 "API: User & Admin"',
    "a name of more than 200 characters",
    "a branch of that name is there",
)
def of_names(ground: Ground) -> None:
    names = {
        42: "User Authentication",
        43: "CON",
        44: "API: User & Admin",
        45: "Very long epic name " * 20,
        46: "Taken",
    }
    site = ground.epics(*(writing(epic, epic, f"{epic}.txt") for epic in names), names=names)
    site.git("branch", "epic-46-taken")
    before = site.git("rev-parse", "epic-46-taken")
    site.call("run", "night.json")
    branches = {
        lane["lane"]: lane["branch"] for lane in msgspec.json.decode(site.call("lanes", RUN, "--json").out)["lanes"]
    }
    assert branches[42] == "epic-42-user-authentication"
    assert branches[43] == "epic-43-con-epic"
    assert branches[44] == "epic-44-api-user-admin"
    assert branches[45].startswith("epic-45-very-long-epic-name-very")
    assert 195 <= len(branches[45]) <= 200
    assert branches[46] == "epic-46-taken-2"
    assert site.git("rev-parse", "epic-46-taken") == before
    assert [site.git("show", f"{branches[epic]}:{epic}.txt") for epic in names] == [f"by task {epic}" for epic in names]


@tries("`.worktrees/epic-42-…/`", "`cd .worktrees/…; git status; git log`")
def of_looking(ground: Ground) -> None:
    night = ground.shared.night
    place = Path(night.call("open", RUN, "2").out.strip())
    assert not place.is_relative_to(night.root)
    assert (place / "made" / "2.txt").read_text() == "by task 2\n"
    assert (place / "ignored" / "2.bin").read_text() == "seen by nobody: 2\n"
    assert "made/2.txt" in night.call("diff", RUN, "2", "--name-only").out
    assert len(night.git("log", "--format=%s", "main..epic-1-backend-infrastructure").splitlines()) == 3


@tries("`git worktree list`")
def of_lists(ground: Ground) -> None:
    site = ground.epics(writing(1, 42, "a.txt"), names={42: "x"}, workspace="worktree", keep=True)
    site.call("run", "night.json")
    assert "epic-42-x" in site.call("lanes", RUN).out
    assert len(site.git("worktree", "list").splitlines()) == 2
    assert len(ground.shared.night.git("worktree", "list").splitlines()) == 1


@tries("`cleanup_worktree(epic_id=42)`, `git worktree remove`")
def of_cleaning(ground: Ground) -> None:
    site = ground.epics(writing(1, 42, "a.txt"), names={42: "x"})
    site.call("run", "night.json")
    opened = Path(site.call("open", RUN, "1").out.strip())
    (opened / "mine.txt").write_text("kept nowhere else\n")
    assert list(site.pool.glob("w[0-9]*"))
    assert "removed: " in site.call("gc", "--apply").err
    assert not list(site.pool.glob("w[0-9]*"))
    assert (opened / "mine.txt").exists()
    assert site.git("show", "epic-42-x:a.txt") == "by task 1"


def _found(site: Site) -> list[object]:
    """Say what open attempts have come to while nobody drives."""
    shown = msgspec.json.decode(site.call("status", RUN, "--json", code=None).out)
    return [attempt["found"] for attempt in shown["running"]]


@tries(
    "`git worktree prune`",
    "`manager.recover_state()`",
    "`recovery_result['recovered_count']`, `['cleaned_count']`",
)
def of_recovery(ground: Ground) -> None:
    waits = steps(
        do("write", path="a.txt", text="a\n"),
        do("run", command=f"until [ -e '{ground.folder}/go' ]; do sleep 0.02; done"),
    )
    after = writing(2, 42, "b.txt", depends_on=[1])
    site = ground.epics({"id": 1, "epic_id": 42, "action": waits}, after, names={42: "x"}, workspace="worktree")
    driver = site.start("run", "night.json")
    wait_for(lambda: site.has_runs and any(isinstance(event, AttemptStarted) for event in site.events(RUN)), what="it")
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    (ground.folder / "go").touch()
    wait_for(lambda: _found(site) == ["ended"], what="its result")
    found = msgspec.json.decode(site.call("recover", RUN, "--json").out)
    assert set(found) == {"run", "recovered", "cleaned", "left"}
    assert any("task 1" in each for each in found["recovered"]), found
    assert isinstance(found["cleaned"], list)
    assert site.call("recover", RUN).out == f"{RUN}: everything is in its place\n"
    assert "2 done" in site.call("resume", RUN).err
    assert site.git("show", "epic-42-x:b.txt") == "by task 2"


@tries("`wt['status']` `active`, `conflict`, `merged`")
def of_states(ground: Ground) -> None:
    site = ground.epics(
        writing(1, 1, "a.txt"),
        writing(2, 2, "a.txt"),
        writing(3, 3, "c.txt", depends_on=[1, 2]),
        {"id": 4, "epic_id": 4, "action": steps(do("fail"))},
        writing(5, 5, "e.txt"),
        writing(6, 6, "f.txt"),
        names={number: f"e{number}" for number in range(1, 7)},
        slots=1,
        max_attempts=5,
    )
    site.call("run", "night.json", code=3)
    site.git("stash", "-q")
    assert "hint: epic-1-e1 is the lane, 1.1 is the task" in site.call("merge", RUN, "1", code=2).err
    site.call("merge", RUN, "epic-1-e1")
    lanes = msgspec.json.decode(site.call("lanes", RUN, "--json").out)["lanes"]
    states = {lane["lane"]: lane["state"] for lane in lanes}
    assert states == {1: "merged", 2: "waiting", 3: "conflict", 4: "held", 5: "waiting", 6: "open"}
