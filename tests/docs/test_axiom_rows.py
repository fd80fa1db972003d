"""Coming from Axiom: every row of that page has a trial of what it promises, and every trial a row."""

import json
import shlex
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.agents.starting import FAKES
from tests.cli.world import Said, wait_for
from tests.docs.trials import Trials, named
from tests.mcp import clients
from tests.search.conftest import SCORE, Halves
from tests.support.receiver import NO_PROXY, Receiver
from tests.workshop.site import task as prompt
from tests.workshop.site import toml

from budwood._core.events import AttemptEnded, Event, QuestionAsked, TasksAdded

PAGE: "Trials[Bench]" = Trials("docs/how-to/coming-from-axiom.md")
RUN = "best-of"


class Bench:
    """Two agents, each better at one half, and one that fails; what they made is there to look at."""

    def __init__(self, root: Path, *, bwrap: Path) -> None:
        self.site = Halves(root)
        self.site.setter("ann", "left", 5)
        self.site.setter("bob", "right", 7)
        self.site.setter("eve", "left", 9, fails=True)
        self.site.git("branch", "older")
        (root / "newer.txt").write_text("newer\n")
        self.site.git("add", "newer.txt")
        self.site.git("-c", "user.name=u", "-c", "user.email=u@h", "commit", "-qm", "newer")
        programs = root.parent / "programs"
        programs.mkdir()
        (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
        (programs / "python3").chmod(0o755)
        self.site.env |= {"PATH": f"{FAKES}:{programs}:{bwrap}:{self.site.env['PATH']}", **NO_PROXY}
        self.site.env["PYTHONDONTWRITEBYTECODE"] = "1"
        agents = ("--agent", "ann", "--agent", "bob", "--agent", "eve")
        words = ("best-of", "Make both larger.", "-n", "3", *agents, "--hint", "one", "--hint", "two", "--jsonl")
        self.ran = self.site.call(*words, "--score", SCORE, "--synthesise", "union", code=None)

    def call(self, *words: str, code: int | None = 0) -> Said:
        return self.site.call(*words, code=code)

    def shown(self, run: str = RUN) -> dict[str, dict[str, object]]:
        found = json.loads(self.call("show", run, "--json").out)["tasks"]
        return {str(task["id"]): task for task in found}

    def plan(self, name: str, *tasks: str, **keys: object) -> None:
        """Write a plan, named after its run."""
        head = "[run]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in keys.items())
        self.site.plan(head, *tasks, file=f"{name}.toml")

    def events(self, run: str) -> list[Event]:
        """List what has happened; nothing before the run is there."""
        return self.site.events(run) if any(row.name == run for row in self.site.runs()) else []

    def ends(self, run: str) -> list[AttemptEnded]:
        return [event for event in self.events(run) if isinstance(event, AttemptEnded)]

    def made(self, end: AttemptEnded, file: str) -> str:
        """Read a file of what an attempt made."""
        assert end.left is not None
        return self.site.git("show", f"{end.left.candidate}:{file}")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, bwrap: Path) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("bench") / "project", bwrap=bwrap)
    yield made
    made.site.end()


def task(name: str, run: str) -> str:
    """Write a [[task]] that is a command."""
    return f"[[task]]\nid = {toml(name)}\nrun = {toml(run)}\n"


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
    watched = bench.call("watch", RUN, code=None)
    assert "best    union-1-2" in watched.out + watched.err
    bench.plan("still", task("a", "true"))
    still = bench.call("run", "still.toml", "-q")
    assert (still.out, still.err) == ("", "")


@PAGE.tries("`axiom_output` (`tail`)")
def of_logs(bench: Bench) -> None:
    bench.plan("talk", task("a", "echo is under way; exec sleep 60"))
    driver = bench.site.start("run", "talk.toml")
    wait_for(lambda: "is under way" in bench.call("logs", "talk", "a", code=None).out, what="its words")
    bench.call("cancel", "talk", code=None)
    bench.site.finish(driver)


@PAGE.tries("`axiom_interrupt` (`followUp`)")
def of_stopping_one(bench: Bench) -> None:
    held = "touch began-$BUDWOOD_TASK; until [ -e go ]; do sleep 0.02; done"
    bench.plan("pair", task("a", held), task("b", held), slots=2)
    driver = bench.site.start("run", "pair.toml")
    wait_for(lambda: all((bench.site.root / f"began-{name}").exists() for name in "ab"), what="both to run")
    bench.call("cancel", "pair", "a")
    (bench.site.root / "go").touch()
    bench.site.finish(driver)
    assert [each["state"] for each in bench.shown("pair").values()] == ["cancelled", "done"]
    bench.call("retry", "pair", "a")
    assert bench.shown("pair")["a"]["state"] == "done"


@PAGE.tries("`axiom_send`", "usable by an agent while it works, over MCP", "`axiom_context_builder`")
def of_talking(bench: Bench) -> None:
    folder = bench.site.root.parent
    further = {"description": "Further work", "run": "echo further > further.txt"}
    calls = [("get_context", {}), ("create_task", further), ("ask_human", {"question": "How far?"})]
    (folder / "calls").write_text(json.dumps(calls))
    talk = shlex.join([sys.executable, clients.__file__, str(folder / "calls"), str(folder / "answers")])
    bench.site.agent("asker", f"cat >> heard.txt; [ -e '{folder}/answers' ] || {talk}")
    bench.plan("told", prompt("a", "Ask, then do it."), agent="asker", goal="Be faster.", mcp=True)
    driver = bench.site.start("run", "told.toml")
    wait_for(lambda: any(isinstance(event, QuestionAsked) for event in bench.events("told")), what="a question")
    bench.call("answer", "told", "a", "All the way.")
    assert bench.site.finish(driver).code == 0
    context, created, answer = json.loads((folder / "answers").read_text())
    assert "Be faster." in json.dumps(context)
    assert answer["answer"] == "All the way."
    assert bench.shown("told")[created["task"]]["state"] == "done"
    bench.call("revise", "told", "a", "Now shorter, please.")
    end = bench.ends("told")[-1]
    assert (str(end.task), end.attempt) == ("a", 2)
    assert "Now shorter, please." in bench.made(end, "heard.txt")


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


@PAGE.tries("`axiom_claude_orchestrate`: `add_pattern`, `get_interventions`", "hooks", "2 retries")
def of_hooks(bench: Bench) -> None:
    bench.site.agent("counts", 'echo "$BUDWOOD_ATTEMPT" >> tries.txt')
    reviewer = "test $BUDWOOD_ATTEMPT -ge 4 || { echo once more; exit 1; }"
    keys = {"check": "test $BUDWOOD_ATTEMPT -ge 3", "reviewer": reviewer, "retries": 2, "backoff": "10ms"}
    bench.plan("hooked", prompt("a", "Count."), agent="counts", **keys)
    with Receiver() as receiver:
        bench.call("run", "hooked.toml", "--notify", receiver.url)
    errors = [None if end.error is None else end.error.type for end in bench.ends("hooked")]
    assert errors == ["check", "check", "review", None]
    assert len(receiver.events) == len(bench.events("hooked"))
    bench.plan("rung", task("a", "true"))
    bench.call("run", "rung.toml", "--notify", "echo $BUDWOOD_RUN $BUDWOOD_STATE > bell")
    assert (bench.site.root / "bell").read_text() == "rung finished\n"


@PAGE.tries("`AXIOM_TASK_TIMEOUT` (300000 ms)", "`AXIOM_MAX_TASKS` (10)")
def of_limits(bench: Bench) -> None:
    bench.plan("late", task("a", "sh -c 'echo $$ > child; exec sleep 60' & wait"), timeout="1s")
    bench.call("run", "late.toml", code=1)
    assert [end.phase.value for end in bench.ends("late")] == ["timed_out"]
    assert not Path("/proc", (bench.site.root / "child").read_text().strip()).exists()
    together = "touch here-$BUDWOOD_TASK; until [ $(ls here-* | wc -l) -ge 10 ]; do sleep 0.02; done"
    bench.plan("ten", *(task(f"t{n}", together) for n in range(10)), timeout="60s")
    bench.call("run", "ten.toml", "--slots", "10")  # none of them ends before all have begun
    file = bench.site.root / "budwood.toml"
    text = file.read_text()
    file.write_text(f"[machine]\nmachine_slots = 1\n{text}")
    alone = "mkdir alone || exit 1; sleep 0.1; rmdir alone"
    bench.plan("one", task("a", alone), task("b", alone))
    bench.call("run", "one.toml", "--slots", "2")
    file.write_text(text)


@PAGE.tries("`AXIOM_TRUST_MODE`")
def of_trust(bench: Bench) -> None:
    # The programs that stand for the real ones fail if they are not told to ask nothing.
    asked = [prompt(name, f"behave: ok\nmakes: {name}.txt", agent=name) for name in ("claude", "codex", "gemini")]
    bench.plan("trusted", *asked, budget_usd=9)
    bench.call("run", "trusted.toml")
    there = bench.site.root / "left.txt"
    bench.site.agent("breaks", f"echo tried > tried.txt; echo broken > '{there}'; cat '{there}' > seen.txt; true")
    bench.call("best-of", "Break out.", "-n", "1", "--agent", "breaks", "--sandbox", "bwrap", "--name", "kept-in")
    assert there.read_text() == "left\n1\nend\n"
    [end] = bench.ends("kept-in")
    assert (bench.made(end, "tried.txt"), bench.made(end, "seen.txt")) == ("tried", "")


@PAGE.tries(
    "`axiom_claude_orchestrate_proper`: `useWorktree`",
    "`axiom_claude_orchestrate_proper`: `baseBranch`",
    "a temporary directory for each task",
    "no file conflicts between instances",
)
def of_workspaces(bench: Bench) -> None:
    assert (bench.site.root / "left.txt").read_text() == "left\n1\nend\n"  # nobody worked here
    bench.site.agent("linked", "test -f .git && ls > listed.txt")
    one = ("best-of", "Look.", "-n", "1", "--agent")
    bench.call(*one, "linked", "--workspace", "worktree", "--base", "older", "--name", "in-a-worktree")
    [end] = bench.ends("in-a-worktree")
    listed = bench.made(end, "listed.txt").split()
    assert "left.txt" in listed
    assert "newer.txt" not in listed
    where = bench.site.root.parent / "where"
    bench.site.agent("apart", f"git rev-parse HEAD > head.txt 2>&1; pwd > '{where}'")
    bench.call(*one, "apart", "--workspace", "copy", "--name", "in-a-copy")
    assert not Path(where.read_text().strip()).is_relative_to(bench.site.root)
    assert (bench.site.root / ".budwood" / "kept.git").exists()  # what was made there is not in your repository
    pool = bench.site.root / "none"
    pool.write_text("in the way\n")
    bench.site.env["BUDWOOD_POOL"] = str(pool)
    bench.call(*one, "linked", "--workspace", "worktree", "--name", "nowhere", code=None)
    del bench.site.env["BUDWOOD_POOL"]
    assert not (bench.site.root / "listed.txt").exists()  # and never here


@PAGE.tries(
    "`axiom_orthogonal_decompose`: `decompose`, `execute`, `status`, `merge`",
    '`axiom_orthogonal_decompose`: `strategy: "mcts"`',
    "evaluate and select paths as MCTS does, learn across attempts",
)
def of_plans(bench: Bench) -> None:
    bench.plan("parts", task("a", "true"), task("b", "true") + 'after = ["a"]\n')
    assert json.loads(bench.call("plan", "show", "parts.toml", "--json").out)["batches"] == [["a"], ["b"]]
    bench.call("run", "parts.toml")
    assert [each["state"] for each in bench.shown("parts").values()] == ["done", "done"]
    raises = 'n=$(sed -n 2p left.txt); sed -i "2s/.*/$((n + 1))/" left.txt; echo "was $n" > "$BUDWOOD_NOTES/lesson.md"'
    bench.site.agent("raiser", raises)
    options = {"prompt": "Raise it.", "attempts": 3, "synthesis": False}
    bench.plan("grown", strategy="mcts", agent="raiser", score=SCORE, slots=1, window=1, options=options)
    bench.call("run", "grown.toml")
    tree = json.loads(bench.call("tree", "grown", "--json").out)
    nodes = {node["id"]: node for node in tree["nodes"]}
    assert nodes[tree["best"]]["score"]["value"] > nodes["root"]["score"]["value"] + 1  # it grew from what had grown
    prompts = [spec.prompt for event in bench.events("grown") if isinstance(event, TasksAdded) for spec in event.tasks]
    assert any("was 1" in each for each in prompts)  # the lesson of another


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
    choice = '{"choice": "try-1", "why": "calmer"}'
    bench.site.agent("wise", f"grep -q +7 && echo '{choice}' > $BUDWOOD_NOTES/choice.json")
    two = ("best-of", "Make both larger.", "-n", "2", "--agent", "ann", "--agent", "bob", "--score", SCORE)
    said = bench.call(*two, "--judge", "wise", "--name", "judged").err
    assert "best    try-1  judge: calmer" in said  # though the other has the better score
    mason = "cat > asked; grep -q +5 asked && grep -q +7 asked && rm asked && sed -i '2s/.*/9/' left.txt right.txt"
    bench.site.agent("mason", mason)
    keys = {"strategy": RUN, "agent": "ann", "score": SCORE}
    options = {"n": 2, "agents": ["ann", "bob"], "synthesise": "agent", "synthesiser": "mason"}
    bench.plan("built", **keys, options={"prompt": "Make both larger.", **options})
    bench.call("run", "built.toml")
    assert json.loads(bench.call("best", "built", "--json").out)["best"]["task"] == "synthesis"


@PAGE.tries("`axiom_claude_orchestrate_proper`: `autoMerge`, `merge_all`", "selective merge")
def of_merging(bench: Bench) -> None:
    before = bench.site.git("rev-parse", "older", "main")
    bench.call("merge", RUN)
    merged = f"budwood/{RUN}"
    assert bench.site.git("show", f"{merged}:left.txt") == "left\n5\nend"
    assert bench.site.git("show", f"{merged}:right.txt") == "right\n7\nend"
    two = ("best-of", "Make both larger.", "-n", "2", "--agent", "ann", "--agent", "bob")
    bench.call(*two, "--choose", "person", "--name", "picked")
    assert bench.call("best", "picked", code=1).out == ""
    bench.call("approve", "picked", "try-2")
    bench.call("merge", "picked")
    assert bench.site.git("diff", "--name-only", "main", "budwood/picked") == "right.txt"
    assert bench.site.git("rev-parse", "older", "main") == before


def test_every_row_has_a_trial_and_every_trial_a_row() -> None:
    PAGE.check_whole()


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trial", PAGE.all, ids=named)
def test_what_a_row_promises_is_so(trial: Callable[[Bench], None], bench: Bench) -> None:
    trial(bench)
