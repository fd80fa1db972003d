"""Trials: flags, variables, advice."""

import shutil
import sys

import pytest
from tests.agents.starting import FAKES
from tests.docs.yokeflow.ground import RUN, Ground, asked, tries
from tests.workshop.seven import BRANCHES, FILE, make_site
from tests.workshop.site import task

from budwood._core.replay import fold
from budwood.stores import open_store

HELD = {"task": [{"id": number, "run": "sleep 0.1"} for number in range(3)]}


@tries("`run_self_enhancement.py --coding`", "`--parallel`")
def of_running(ground: Ground) -> None:
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.02; done"
    ground.write("plan.json", {"task": [{"id": pair, "run": meet.format(*pair)} for pair in ("ab", "ba")]})
    first = ground.call("run", "plan.json", "--slots", "2")  # each waits for the other, so both run at once
    assert (first.code, "2 done" in first.err) == (0, True)
    again = ground.call("run", "plan.json")
    assert (again.code, "2 done" in again.err, "hint: " in again.err) == (0, True, True)


@tries("`--max-concurrency 5` (1 to 10, default 3)", "`--max-concurrency 0`")
def of_slots(ground: Ground) -> None:
    ground.write("plan.json", HELD)
    assert "5 slots" in ground.call("run", "plan.json", "--slots", "5").err
    ground.write("tasks.json", [{"id": 1, "action": "x"}])
    assert "3 slots" in ground.call("run", "tasks.json", "--agent", "script", "--dry-run").out
    for wrong in ("0", "4097"):
        ran = ground.call("run", "plan.json", "--slots", wrong, "--again")
        assert (ran.code, "takes a whole number from 1 to 4096" in ran.err) == (2, True)


@tries('`--max-concurrency 1` ("still uses worktrees")')
def of_one_slot(ground: Ground) -> None:
    site = make_site(ground.folder / "project")
    site.call("run", FILE, "--slots", "1")
    assert site.decisions(RUN) == ground.shared.night.decisions(RUN)
    for branch in BRANCHES:
        trees = [each.git("rev-parse", f"{branch}^{{tree}}") for each in (site, ground.shared.night)]
        assert trees[0] == trees[1]
    site.end()


@tries("`DATABASE_URL`")
def of_the_database(ground: Ground) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
        ground.write("plan.json", HELD)
        assert ground.call("run", "plan.json").code == 4  # the server that it names is not there
        shown = ground.call("config", "show", "--origin", "--json").json
        settings = shown["settings"]
        assert isinstance(settings, dict)
        assert settings["store"]["origin"] == "DATABASE_URL"
    assert ground.call("run", "plan.json").code == 0
    assert (ground.folder / ".budwood" / "store.db").exists()


@tries("`CLAUDE_CODE_OAUTH_TOKEN`", "`start_coding_sessions(project_id=…, coding_model='sonnet')`")
def of_claude(ground: Ground) -> None:
    site = ground.epics(names={1: "x"})
    programs = ground.folder / "programs"
    programs.mkdir()
    shutil.copy(FAKES / "claude", programs / "claude-fake")
    shutil.copy(FAKES / "saying.py", programs / "saying.py")
    (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    token = '"$CLAUDE_CODE_OAUTH_TOKEN"'
    claude = f'#!/bin/sh\necho {token} > token.txt; echo "$@" > words.txt; echo "token: "{token} >&2\n'
    (programs / "claude").write_text(f'{claude}exec "{programs}/claude-fake" "$@"\n')
    for name in ("python3", "claude", "claude-fake"):
        (programs / name).chmod(0o755)
    site.env["PATH"] = f"{programs}:{site.env['PATH']}"
    site.agents(task("a", "behave: ok\nmakes: made.txt\n"), agent="claude", model="sonnet")
    site.call("run", "plan.toml", env={"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-secret-token"})
    left = site.restored(site.end_of("a"))
    assert left["token.txt"] == b"sk-ant-secret-token\n"
    assert b"--model sonnet" in left["words.txt"]
    assert "sk-ant-secret-token" not in site.log_of("a")


@tries("agents by cores and memory (laptop 2 to 3, server 10)")
def of_doctor(ground: Ground) -> None:
    slots = ground.call("doctor", "--json").json["slots"]
    assert isinstance(slots, dict)
    assert slots["agents"] >= 1
    ground.write("tasks.json", [{"id": number, "action": "x"} for number in range(400)])
    ground.write("budwood.toml", '[run]\nslots = 400\nagent = "script"\n')
    assert "400 agents at once on" in ground.call("plan", "check", "tasks.json").out


@tries("start with `--max-concurrency 2`, then scale up")
def of_scaling(ground: Ground) -> None:
    ground.write("plan.json", HELD)
    assert ground.call("run", "plan.json", "--slots", "2", "--max-attempts", "1").code == 3
    ran = ground.call("resume", "plan", "--slots", "5", "--max-attempts", "9")
    assert (ran.code, "slots is now 5" in ran.err) == (0, True)


@tries("cheaper models for simple tasks (`ModelSelector`)")
def of_models(ground: Ground) -> None:
    ground.write(
        "plan.json", {"task": [{"id": "a", "prompt": "x", "model": "haiku"}, {"id": "simple-b", "prompt": "x"}]}
    )
    ground.write("budwood.toml", '[run]\nagent = "script"\n[[model_rule]]\nmatch = "^simple-"\nmodel = "small"\n')
    assert ground.call("run", "plan.json").code == 1  # the script agent does not understand these prompts
    with open_store(ground.folder / ".budwood" / "store.db", create=False) as store:
        [row] = store.runs()
        state = fold(store.read(row.id))
    assert [(task.spec.id, task.spec.model) for task in state.tasks] == [("a", "haiku"), ("simple-b", "small")]


@tries('budget limits ("coming in v1.4.0")')
def of_budgets(ground: Ground) -> None:
    spend = """echo '{"cost_usd": 0.5, "tokens": 10}' > "$BUDWOOD_USAGE" """
    ground.write(
        "plan.json", {"task": [{"id": n, "run": spend, "reserve_usd": 0.5, "reserve_tokens": 10} for n in range(4)]}
    )
    for number, (flag, most) in enumerate((("--budget-usd", "1"), ("--budget-tokens", "20"), ("--max-attempts", "2"))):
        ran = ground.call("run", "plan.json", "--slots", "1", "--again", flag, most)
        assert (ran.code, "budget spent" in ran.err, "2 done of 4" in ran.err) == (3, True, True), (number, ran.err)


@tries("cost per task")
def of_costs(ground: Ground) -> None:
    night = ground.shared.night
    assert night.call("cost", RUN).out.count("$0.25") == 7
    for view, count in (("tasks", 7), ("lanes", 3), ("batches", 4)):
        assert asked(night.root, f"SELECT count(*), sum(cost_usd) FROM {view}") == [(count, 1.75)]
