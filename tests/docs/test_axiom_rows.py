"""Coming from Axiom: every row of that page has a trial of what it promises, and every trial a row."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.world import Said, wait_for
from tests.docs.trials import Trials
from tests.search.conftest import SCORE, Halves

from budwood.mcp.tools import TOOLS
from budwood.project.planned import read_planned
from budwood.strategies import BUILT_IN

PAGE: "Trials[Bench]" = Trials("docs/how-to/coming-from-axiom.md")
RUN = "best-of"


class Bench:
    """Two agents, each better at one half, and one that fails; what they made is there to look at."""

    def __init__(self, root: Path) -> None:
        self.site = Halves(root)
        self.site.setter("ann", "left", 5)
        self.site.setter("bob", "right", 7)
        self.site.setter("eve", "left", 9, fails=True)
        self.site.git("branch", "older")
        agents = ("--agent", "ann", "--agent", "bob", "--agent", "eve")
        words = ("best-of", "Make both larger.", "-n", "3", *agents, "--hint", "one", "--hint", "two", "--jsonl")
        self.ran = self.site.call(*words, "--score", SCORE, "--synthesise", "union", code=None)

    def call(self, *words: str, code: int | None = 0) -> Said:
        return self.site.call(*words, code=code)

    def shown(self) -> dict[str, dict[str, object]]:
        found = json.loads(self.call("show", RUN, "--json").out)["tasks"]
        return {str(task["id"]): task for task in found}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("bench") / "project")
    yield made
    made.site.end()


def helps(bench: Bench, command: str, *names: str) -> None:
    """The command has these options or words."""
    said = bench.call(*command.split(), "--help").out
    for name in names:
        assert name in said


@PAGE.tries(
    "`axiom_spawn`: `prompt`",
    '`spawnPattern: "parallel"`, `spawnCount: 3`',
    '`spawnPattern: "single"`',
    "`axiom_status`",
    "`axiom_claude_orchestrate`: `spawn`, `prompt`, `steer`, `get_output`, `status`",
    "track success and failure",
)
def of_spawning(bench: Bench) -> None:
    tasks = bench.shown()
    assert {"try-1", "try-2", "try-3"} <= set(tasks)
    assert [tasks[f"try-{n}"]["state"] for n in (1, 2, 3)] == ["done", "done", "failed"]
    assert "exit code 3" in bench.call("why", RUN, "try-3").out
    assert json.loads(bench.call("status", RUN, "--json").out)["run"]["name"] == RUN
    one = bench.call("best-of", "Only one.", "-n", "1", "--agent", "ann", "--name", "single").err
    assert "single: 1 done" in one


@PAGE.tries("`verboseMasterMode`", "`AXIOM_LOG_LEVEL`")
def of_events(bench: Bench) -> None:
    kinds = [json.loads(line)["event"] for line in bench.ran.out.splitlines()]
    assert kinds[0] == "run_created"
    assert "candidates_judged" in kinds
    bench.call("watch", RUN, code=None)
    helps(bench, "best-of", "--quiet", "--jsonl")


@PAGE.tries("`axiom_output` (`tail`)")
def of_logs(bench: Bench) -> None:
    bench.site.plan('[[task]]\nid = "a"\nrun = "echo is under way; exec sleep 60"\n', file="talk.toml")
    driver = bench.site.start("run", "talk.toml")
    wait_for(lambda: "is under way" in bench.call("logs", "talk", "a", code=None).out, what="its words")
    bench.call("cancel", "talk", code=None)
    bench.site.finish(driver)


@PAGE.tries("`axiom_interrupt` (`followUp`)")
def of_stopping_one(bench: Bench) -> None:
    held = "while [ ! -e go ]; do sleep 0.05; done"
    bench.site.plan(f'[[task]]\nid = "a"\nrun = "{held}"\n[[task]]\nid = "b"\nrun = "{held}"\n', file="pair.toml")
    driver = bench.site.start("run", "pair.toml")
    wait_for(lambda: '"active"' in bench.call("show", "pair", "--json", code=None).out, what="both to run")
    bench.call("cancel", "pair", "a")
    (bench.site.root / "go").touch()
    bench.site.finish(driver)
    tasks = json.loads(bench.call("show", "pair", "--json").out)["tasks"]
    assert [task["state"] for task in tasks] == ["cancelled", "done"]
    bench.call("retry", "pair", "a")
    helps(bench, "revise", "TEXT")


@PAGE.tries("`axiom_send`", "usable by an agent while it works, over MCP", "`axiom_context_builder`")
def of_talking(bench: Bench) -> None:
    helps(bench, "answer", "TEXT")
    helps(bench, "revise", "TEXT")
    helps(bench, "mcp", "Inside an attempt")
    assert {"create_task", "get_context", "ask_human", "report_progress"} <= set(TOOLS)
    bench.site.plan('[run]\ngoal = "Faster"\nmcp = true\n[[task]]\nid = "a"\nrun = "true"\n', file="told.toml")
    settings = read_planned(str(bench.site.root / "told.toml"), {}).settings
    assert (settings.goal, settings.mcp) == ("Faster", True)


@PAGE.tries(
    "`axiom_claude_orchestrate`: `cleanup`",
    "preserve all work: commit before any cleanup",
    "branches `axiom/<id>/<ms>`",
)
def of_keeping(bench: Bench) -> None:
    bench.call("gc", "--apply")
    opened = Path(bench.call("open", RUN, "try-3.1").out.strip())
    assert (opened / "left.txt").read_text() == "left\n9\nend\n"  # what failed is kept as well
    assert "axiom" not in bench.site.git("branch", "--list")
    bench.call("branch", RUN, "try-2", "second")
    assert bench.site.git("show", "second:right.txt") == "right\n7\nend"


@PAGE.tries("`axiom_claude_orchestrate`: `add_pattern`, `get_interventions`", "hooks", "2 retries",
            "`AXIOM_TASK_TIMEOUT` (300000 ms)", "`AXIOM_MAX_TASKS` (10)", "`AXIOM_TRUST_MODE`")  # fmt: skip
def of_keys(bench: Bench) -> None:
    keys = 'check = "make test"\nreviewer = "./review"\nretries = 2\ntimeout = "5m"\nslots = 10\nagent = "ann"\n'
    bench.site.plan(f'[run]\n{keys}[[task]]\nid = "a"\nprompt = "x"\n', file="keys.toml")
    planned = read_planned(str(bench.site.root / "keys.toml"), {})
    [task] = planned.plan.tasks
    assert (task.check, task.reviewer, task.retries, task.timeout_s) == ("make test", "./review", 2, 300)
    assert planned.settings.slots == 10
    helps(bench, "run", "--notify", "--sandbox", "bwrap")
    assert "machine_slots" in bench.call("config", "keys").out


@PAGE.tries(
    "`axiom_claude_orchestrate_proper`: `useWorktree`",
    "`axiom_claude_orchestrate_proper`: `baseBranch`",
    "a temporary directory for each task",
    "no file conflicts between instances",
)
def of_workspaces(bench: Bench) -> None:
    assert (bench.site.root / "left.txt").read_text() == "left\n1\nend\n"  # nobody worked here
    for kind in ("worktree", "copy"):
        keys = f'workspace = "{kind}"\nagent = "ann"\n' + ('base = "older"\n' if kind == "worktree" else "")
        bench.site.plan(f'[run]\n{keys}[[task]]\nid = "a"\nprompt = "x"\n', file="where.toml")
        terms = read_planned(str(bench.site.root / "where.toml"), {}).equipped().settings.workspace
        assert terms is not None
        assert terms.kind == kind
        if kind == "worktree":
            assert terms.base == bench.site.git("rev-parse", "older")


@PAGE.tries(
    "`axiom_orthogonal_decompose`: `decompose`, `execute`, `status`, `merge`",
    '`axiom_orthogonal_decompose`: `strategy: "mcts"`',
    "evaluate and select paths as MCTS does, learn across attempts",
)
def of_plans(bench: Bench) -> None:
    plan = '[[task]]\nid = "a"\nrun = "true"\n[[task]]\nid = "b"\nrun = "true"\nafter = ["a"]\n'
    bench.site.plan(plan, file="parts.toml")
    batches = json.loads(bench.call("plan", "show", "parts.toml", "--json").out)["batches"]
    assert len(batches) == 2
    assert bench.call("run", "parts.toml").err.count("done ") == 3
    assert "mcts" in BUILT_IN


@PAGE.tries("tables `conversations`, `actions`, `streams`, `observation_views`")
def of_tables(bench: Bench) -> None:
    assert "try-1" in bench.call("story", RUN).out
    with closing(sqlite3.connect(f"file:{bench.site.root}/.budwood/store.db?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("select name from runs")]
    assert RUN in names


@PAGE.tries(
    "compare the results",
    "scoring: correctness, performance, readability, completeness, innovation",
    "select the best",
    "synthesise the best parts of each",
)
def of_comparing(bench: Bench) -> None:
    found = bench.site.compared()
    scores = {name: each["score"] for name, each in found.items()}
    assert scores["try-1"] != scores["try-2"]
    best = json.loads(bench.call("best", RUN, "--json").out)
    assert str(best["best"]["task"]).startswith("union")
    assert "right.txt" in bench.call("diff", RUN, "try-1", "try-2").out
    helps(bench, "best-of", "--judge", "--synthesise [agent|union]")


@PAGE.tries("`axiom_claude_orchestrate_proper`: `autoMerge`, `merge_all`", "selective merge")
def of_merging(bench: Bench) -> None:
    before = bench.site.git("rev-parse", "older")
    bench.call("merge", RUN)
    merged = f"budwood/{RUN}"
    assert bench.site.git("show", f"{merged}:left.txt") == "left\n5\nend"
    assert bench.site.git("show", f"{merged}:right.txt") == "right\n7\nend"
    assert bench.site.git("rev-parse", "older") == before
    helps(bench, "approve", "TASKS")


def named(trial: Callable[[Bench], None]) -> str:
    return trial.__name__


def test_every_row_has_a_trial_and_every_trial_a_row() -> None:
    PAGE.check_whole()


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trial", PAGE.all, ids=named)
def test_what_a_row_promises_is_so(trial: Callable[[Bench], None], bench: Bench) -> None:
    trial(bench)
