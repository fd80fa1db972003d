"""Flags of the tree runner: how much is tried, within which limits, and how it is measured."""

import json
import tomllib

import pytest
from tests.cli.world import wait_for
from tests.docs.tree_runner.yard import PAGE, Yard
from tests.search.values import beam, ideas, play, tried

from budwood._core.model import TaskPhase
from budwood._core.scores import Metric, Score, Stage, gate, rank_of
from budwood._core.state import RunState
from budwood.errors import UsageError
from budwood.project.planned import Planned
from budwood.strategies.beam import BeamStrategy


def option_of(planned: Planned, name: str) -> object:
    assert isinstance(planned.strategy, BeamStrategy)
    return getattr(planned.strategy, f"_{name}")


@PAGE.tries("`--tree-run-id night`", "`--config FILE`")
def of_names(yard: Yard) -> None:
    assert (yard.planned().name, yard.planned({"name": "night"}).name) == ("try", "night")
    shared = (yard.grove.root / "budwood.toml").read_text()
    (yard.grove.root / "budwood.toml").write_text(f"[run]\nmax_attempts = 77\n{shared}")
    assert yard.planned().settings.max_attempts == 77
    (yard.grove.root / "budwood.toml").write_text(shared)


@PAGE.tries("`--runs-root DIR`")
def of_the_store(yard: Yard) -> None:
    here = yard.grove.root / ".budwood" / "store.db"
    assert here.exists()
    yard.grove.call("store", "export", "plan", "carried.jsonl")
    yard.grove.call("store", "import", "carried.jsonl", "--store", "elsewhere.db")
    runs = json.loads(yard.grove.call("ls", "--store", "elsewhere.db", "--json").out)["runs"]
    assert [run["name"] for run in runs] == ["plan"]


@PAGE.tries(
    "`--ideas-per-node 7`",
    "`--max-depth 3`",
    "`--beam-width 1`",
    "`--max-total-idea-evals 40`",
    "`--dedupe-scope node_plus_ancestors`",
    "`--dedupe-scope global`, `--dedupe-scope none`",
    "`--iterations 5`",
)
def of_sizes(yard: Yard) -> None:
    planned = yard.planned()
    named = ("ideas_per_node", "max_depth", "beam_width", "max_evals", "dedupe", "one_depth")
    assert [option_of(planned, name) for name in named] == [7, 3, 1, None, "ancestors", False]
    given = {"ideas_per_node": 2, "max_depth": 5, "beam_width": 4, "max_evals": 40, "dedupe": "node", "one_depth": True}
    planned = yard.planned(options=given)
    assert {name: option_of(planned, name) for name in given} == given
    eight = ideas(**{name: f"+{worth}" for worth, name in enumerate("abcdefgh", start=1)})
    assert [len(each) for each in play(beam(eight)).answers[1:4]] == [7, 7, 6]  # of eight, without what is in it
    assert [len(each) for each in play(beam(eight, ideas_per_node=2, max_depth=1)).answers[1:]] == [2]
    deep = play(beam(eight, max_depth=5, beam_width=1, dedupe="none"))
    assert (len({str(task.after[0]) for each in deep.answers[1:] for task in each}), deep.reason) == (5, "max_depth")
    assert {parent for _, parent, _ in tried(play(beam(eight, beam_width=2)), 2)} == {"d1-e0006", "d1-e0007"}
    few = play(beam(eight, max_evals=9))
    assert sum(map(len, few.answers[1:])) == 9
    again = {scope: names_at_depth_2(scope) for scope in ("ancestors", "node", "global", "none")}
    # Two nodes grew, from b and from c, and a was rejected.
    assert again["ancestors"] == {"d1-e0002": ["a", "c"], "d1-e0003": ["a", "b"]}
    assert again["global"] == {}
    assert again["none"] == again["node"] == {"d1-e0002": ["a", "b", "c"], "d1-e0003": ["a", "b", "c"]}


def names_at_depth_2(dedupe: str) -> dict[str, list[str]]:
    """Say which ideas were tried again at which node."""
    played = play(beam(ideas(a="-1", b="+1", c="+2"), beam_width=2, max_depth=2, dedupe=dedupe))
    found: dict[str, list[str]] = {}
    for _, parent, name in tried(played, 2) if len(played.answers) > 2 else ():
        found.setdefault(parent, []).append(name.removesuffix(".md"))
    return found


@PAGE.tries(
    "`--max-parallel-evals 1`",
    "`--max-parallel-per-node 2`",
    "`--eval-retries 0`",
    "`--eval-timeout-seconds 600`",
    "`--strict-fail-depth`",
    "`--keep-worktrees`",
)
def of_limits(yard: Yard) -> None:
    planned = yard.planned()
    assert (planned.settings.slots, planned.settings.strict, planned.settings.groups) == (1, False, {})
    planned = yard.planned({"slots": 4, "strict": True, "retries": 0, "timeout": "10m"}, {"per_node": 2})
    assert (planned.settings.slots, planned.settings.strict) == (4, True)
    assert planned.settings.groups == {"node-1": 2}
    grove, alone = yard.grove, yard.grove.root.parent / "alone"
    lone = f"mkdir '{alone}' && sleep 0.1 && rmdir '{alone}'"  # fails where two are at it
    yard.search("lone", {"per_node": 1}, slots=3, check=lone, keep=True, x="worth 1", y="worth 2", z="worth 3")
    assert [grove.state("lone").task(f"d1-e000{n}").phase.value for n in (1, 2, 3)] == ["done"] * 3
    assert list(grove.pool.glob("*/tree/worth/z.md"))  # `keep`
    yard.search("tight", {}, strict=True, timeout="1s", retries=0, code=1, x="hang at depth 1", y="worth 1")
    assert [(str(end.task), end.phase.value) for end in grove.ends("tight")[1:]] == [("d1-e0001", "timed_out")]
    assert grove.state("tight").task("d1-e0002").phase is TaskPhase.SKIPPED
    [created] = planned.opening(run="1", name="x")(RunState())
    assert created.task_defaults["timeout_s"] == 600  # type: ignore[union-attr]
    [created] = yard.planned().opening(run="1", name="x")(RunState())
    assert created.task_defaults["retries"] == 1  # type: ignore[union-attr]


@PAGE.tries("`--parallel-backend threadpool`", "`--lock-stale-seconds 600`", "`--force`", "`run.lock.json`")
def of_supervisors(yard: Yard) -> None:
    grove = yard.grove
    grove.plan(
        '[[task]]\nid = "a"\nrun = "echo x >> began; while [ ! -e go ]; do sleep 0.05; done"\n', file="held.toml"
    )
    driver = grove.start("run", "held.toml")
    wait_for((grove.root / "began").exists, what="the task to begin")
    assert "is already driven" in grove.call("resume", "held", code=2).err
    driver.kill()
    driver.wait()
    second = grove.start("resume", "held")
    (grove.root / "go").touch()
    assert grove.finish(second).code == 0
    assert (grove.root / "began").read_text() == "x\n"  # the first attempt went on without its driver
    assert not list(grove.root.rglob("run.lock.json"))


@PAGE.tries(
    "`--sweep-config-limit 25`",
    "`--results-csv FILE`",
    "all rows present and ok",
    "gate against the parent: no loss of the primary metric",
    "rank against the root: weighted relative changes, clamped to 2",
    "drawdown more than 10 % worse blocks",
    "ties: primary delta, then the number",
    'grades ("should explore", mixed)',
)
def of_scores(yard: Yard) -> None:
    text = PAGE.text.partition("```toml\n")[2].partition("```")[0]
    score = tomllib.loads(text)["run"]["score"]
    scoring = yard.scoring(score)
    assert scoring.stages == (Stage(run="python sweep.py --configs 25", results="out/results.csv", rows=25),)
    assert (scoring.gate, scoring.rank, Metric().clamp) == ("parent", "root", 2.0)
    root = Score(value=1, metrics=dict.fromkeys(scoring.metrics, 1.0))
    better = Score(value=9, metrics={**root.metrics, "sharpe": 9.0})
    rank = rank_of(scoring, better, root)
    assert rank == pytest.approx(2.0 * 1.5 / 6.5)
    assert gate(scoring, Score(value=0.9, metrics=root.metrics), root) == "sharpe is 0.9, its parent's 1"
    sunk = Score(value=2, metrics={**root.metrics, "drawdown": 1.2})
    assert gate(scoring, sunk, root) == "drawdown is 1.2, its parent's 1"
    assert yard.scoring({"run": "x", "sweep": ["bull", "bear"]}).stages[0].sweep == ("bull", "bear")
    with pytest.raises(UsageError, match="grade"):
        yard.scoring({"run": "x", "grade": "mixed"})
