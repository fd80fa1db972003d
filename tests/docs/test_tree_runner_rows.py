"""Coming from the tree runner: every row of that page has a trial of what it promises, and every trial a row."""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.cli.world import wait_for
from tests.docs.trials import Trials, named
from tests.formats.tree_runner import TreeRun
from tests.search.grove import Grove
from tests.search.values import beam, ideas, play, tried
from tests.workshop.site import do, steps, toml

from budwood._core.model import TaskPhase
from budwood._core.scores import Metric, Score, Scoring, Stage, gate, rank_of
from budwood._core.state import RunState
from budwood.agents.base import Assignment
from budwood.agents.config import AgentConfig
from budwood.agents.making import make_agent
from budwood.errors import UsageError
from budwood.formats.tree_reading import read_manifest
from budwood.project.planned import Planned, read_planned
from budwood.strategies.beam import BeamStrategy

CHECK = 'case "$BUDWOOD_RUN" in plan*) ;; *) exit 1 ;; esac'
PAGE: "Trials[Yard]" = Trials("docs/how-to/coming-from-tree-runner.md")


class Yard:
    """One search that has ended, which trials look at, and plans that they try beside it."""

    def __init__(self, root: Path) -> None:
        self.grove = Grove(root)
        self.grove.ideas(a="worth 1", b="never succeed")
        self.grove.beam(options={"max_depth": 2, "one_depth": True}, check=CHECK)
        self.before = self.ideas()
        self.grove.call("run", "plan.toml", code=4)  # after the first depth; a trial lets it go on

    def ideas(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.grove.root / "ideas").iterdir()}

    def planned(self, run: dict[str, object] | None = None, options: dict[str, object] | None = None) -> Planned:
        """Read a plan as a run would."""
        keys = {"strategy": "beam", "agent": "worker", "score": "echo 1", **(run or {})}
        chosen = {"ideas": "ideas", **(options or {})}
        lines = ["[run]", *(f"{key} = {toml(value)}" for key, value in keys.items()), "[run.options]"]
        lines += (f"{key} = {toml(value)}" for key, value in chosen.items())
        (self.grove.root / "try.toml").write_text("\n".join(lines) + "\n")
        return read_planned(str(self.grove.root / "try.toml"), {})

    def search(
        self,
        name: str,
        options: dict[str, object],
        *,
        code: int = 0,
        env: dict[str, str] | None = None,
        **given: object,
    ) -> None:
        """Run a search of one depth; ideas are the keys of one letter."""
        folder = self.grove.root / f"ideas-{name}"
        folder.mkdir()
        for letter in [key for key in given if len(key) == 1]:
            (folder / f"{letter}.md").write_text(f"{given.pop(letter)}\n")
        chosen = {"ideas": folder.name, "max_depth": 1, **options}
        file = self.grove.beam(options=chosen, file=f"{name}.toml", **given)
        self.grove.call("run", file, code=code, env=env)

    def scoring(self, score: object) -> Scoring:
        """Read a score as a run would."""
        return msgspec.convert(self.planned({"score": score}).options["scoring"], Scoring)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    made = Yard(tmp_path_factory.mktemp("yard") / "project")
    yield made
    made.grove.end()


def option_of(planned: Planned, name: str) -> object:
    assert isinstance(planned.strategy, BeamStrategy)
    return getattr(planned.strategy, f"_{name}")


# --- a run that there is ---


@PAGE.tries(
    "`manifest_version` 3",
    "`*_provenance` with `sha256`",
    "`idea_path`, `node_ideas`",
    "paths of another machine, backslashes, byte order marks",
    "`events`, `conversations`, logs, `deferred_cleanup`",
)
def of_reading(yard: Yard) -> None:
    run = TreeRun(yard.grove.root.parent / "runs")
    run.evaluation(1, 0, "a", worth=1)
    found = read_manifest(run.write())
    assert (found.evaluations[0].text, found.evaluations[0].problems) == ("worth 1\n", ())
    assert not {"events", "conversations"} & set(type(found).__dataclass_fields__)
    run.here(run.evaluations[0]["candidate_results_csv_path"]).write_text("score\n99\n")
    assert "is not what it was" in read_manifest(run.write()).evaluations[0].problems[0]
    run.evaluations[0]["idea_provenance"] = {"copied_to_path": run.evaluations[0]["idea_path"], "sha256": "0"}
    with pytest.raises(UsageError, match=r"idea: .* is not what it was"):
        read_manifest(run.write())
    run.version = 2
    with pytest.raises(UsageError, match="manifest_version 2"):
        read_manifest(run.write())


@PAGE.tries(
    "`evaluations` that are `completed`",
    "`evaluations` that are `failed`",
    "`evaluations` that are `failed`, with the `error_type` `cancelled` or `skipped`",
    "`evaluations` that are `queued` or `running`",
    "`candidate_commit`, `candidate_ref_name`, `commit` of nodes",
    "`candidate_results_csv_path`, `baseline_results_csv_path`",
    "`decision`",
    "a depth that was decided before all of it had ended",
    "ids of evaluations",
)
def of_importing(yard: Yard) -> None:
    grove = yard.grove
    run = TreeRun(grove.root.parent / "imported", grove)
    run.evaluation(1, 0, "a", worth=1, promoted=1)
    run.evaluation(2, 0, "b", state="failed")
    run.evaluation(3, 0, "c", state="running")
    run.evaluation(4, 0, "d", state="completed", worth=5, strict_completeness=False)
    run.evaluation(5, 0, "e", state="failed", error_payload={"error_type": "cancelled"})
    run.evaluation(6, 0, "f", state="failed", error_payload={"error_type": "skipped", "because": "0002"})
    yard.planned({"name": "imported", "score": "awk '{ s += $1 } END { print s }' base"}, {"max_depth": 1})
    words = ("store", "import-manifest", str(run.write()), "--plan", "try.toml", "--store", "imported.db")
    said = json.loads(grove.call(*words, "--json").out)
    assert (said["done"], said["failed"], said["requeued"]) == (2, 1, ["d1-e0003"])
    assert (said["cancelled"], said["skipped"]) == (1, 1)
    assert said["numbers"]["0003"] == "d1-e0003"
    assert "depth 1 was decided there before 0003 had ended" in said["notes"][0]
    nodes = {
        node["id"]: node for node in json.loads(grove.call("tree", "--store", "imported.db", "--json").out)["nodes"]
    }
    assert (nodes["d1-e0001"]["score"]["value"], nodes["d1-e0004"]["score"]["valid"]) == (11, False)
    assert (nodes["d1-e0005"]["state"], nodes["d1-e0006"]["state"]) == ("cancelled", "skipped")
    kept = grove.git("for-each-ref", "--format=%(objectname)", f"refs/budwood/imported-{said['run']}/").split()
    assert run.evaluations[0]["candidate_commit"] in kept
    run.evaluations[2] = {**run.evaluations[2], "task_state": "failed"}
    run.evaluations[3]["strict_completeness"] = True
    words = ("store", "import-manifest", str(run.write()), "--plan", "try.toml", "--store", "another.db")
    assert "evaluation 0001 was promoted there, and by the plan is pruned" in grove.call(*words, code=2).err
    run.evaluations[3]["candidate_commit"] = "f" * 40
    run.write()
    assert f"commit {'f' * 40}, is not in " in grove.call(*words, code=2).err


@PAGE.tries("`budwood store export RUN --manifest FILE`")
def of_exporting(yard: Yard) -> None:
    file = yard.grove.root.parent / "exported" / "manifest.json"
    yard.grove.call("store", "export", "plan", "--manifest", str(file))
    found = read_manifest(file)
    assert [(one.id, one.state, one.promoted_to) for one in found.evaluations if one.depth == 1] == [
        ("0001", "completed", "0001"),
        ("0002", "failed", None),
    ]
    assert found.evaluations[0].results is not None


# --- flags ---


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


@PAGE.tries(
    "`--keep-rejected-worktrees`",
    "`--keep-failed-artifacts`",
    "`logs/`, `eval/<id>/`",
    "`--experiments-root`, `--agentic-output-root`",
)
def of_what_is_kept(yard: Yard) -> None:
    grove = yard.grove
    assert grove.state().task("d1-e0002").phase is TaskPhase.FAILED
    left = grove.end_of("d1-e0002").left
    assert left is not None
    assert grove.git("rev-parse", left.ref) == left.commit
    assert "as it was told to" in grove.call("logs", "plan", "d1-e0002").out
    opened = Path(grove.call("open", "plan", "d1-e0001").out.strip())
    assert (opened / "worth" / "a.md").read_text() == "1\n"
    grove.call("logs", "plan", "--export", str(grove.root.parent / "logs"))
    assert any((grove.root.parent / "logs").iterdir())


@PAGE.tries(
    "`--idea-conversation-mode`, `--idea-history-window-turns`, `--idea-history-max-chars`",
    "`--idea-max-turns 6`",
    "`--idea-tools`, `--idea-allowed-tools`, `--idea-disallowed-tools`",
)
def of_ideas(yard: Yard) -> None:
    from budwood.strategies.ideas import Trace, ask_for_ideas

    told = Trace(title="widen", came_to="sharpe 2 (rejected)")
    assert "- widen: sharpe 2 (rejected)" in ask_for_ideas(branch=[], beside=[told], have=[], most=2, aim="more")
    file = yard.grove.root / "budwood.toml"
    text = file.read_text()
    file.write_text(f'{text}\n[agents.muse]\nagent = "claude"\nmax_turns = 6\nargs = ["--allowedTools", "Read"]\n')
    planned = yard.planned(options={"idea_agent": "muse"})
    file.write_text(text)
    config = msgspec.convert(planned.settings.agents["muse"].config, AgentConfig)
    asked = Assignment(prompt_file=Path("p"), state_dir=Path("s"), max_turns=config.max_turns)
    words = " ".join(make_agent(config, python=sys.executable).launch(asked).argv)
    assert "--max-turns 6" in words
    assert words.endswith("--allowedTools Read")


@PAGE.tries("`--dry-run`", "`--dry-run-llm`")
def of_rehearsing(yard: Yard) -> None:
    yard.planned()
    said = yard.grove.call("run", "try.toml", "--dry-run").out
    assert said.index("d1-e0001") < said.index("d1-e0002")
    assert yard.planned().settings.agents["worker"].config["agent"] == "command"


@PAGE.tries("`--report-only`", "`--validate-only`", "`VALIDATION_REPORT.md`", "`scheduler_queued` and other events")
def of_reports(yard: Yard) -> None:
    grove = yard.grove
    grove.call("tree", "plan", "-o", str(grove.root.parent / "report"))
    assert {path.name for path in (grove.root.parent / "report").iterdir()} == {"TREE_SUMMARY.md", "TREE_GRAPH.md"}
    assert json.loads(grove.call("tree", "plan", "--validate", "--json").out)["problems"] == []
    assert (
        "attempt_queued" in grove.call("story", "plan", "--json").out or "d1-e0001" in grove.call("story", "plan").out
    )


@PAGE.tries("`--in-place`", "`--worktree-path DIR`")
def of_workspaces(yard: Yard) -> None:
    with pytest.raises(UsageError, match="workspace is none"):
        yard.planned({"workspace": "none"}).equipped()
    pool = yard.grove.root.parent / "trees"
    seen = yard.grove.root.parent / "seen"
    look = f"test -f .git && pwd >> '{seen}'"
    env = {"BUDWOOD_POOL": str(pool)}
    yard.search("linked", {}, workspace="worktree", check=look, env=env, x="worth 1")
    assert all(Path(line).is_relative_to(pool) for line in seen.read_text().splitlines())


@PAGE.tries("`--idea-path FILE`", "`--run-id`", "`--baseline-csv FILE`", "`--no-archive-ideas`")
def of_what_an_attempt_is_told(yard: Yard) -> None:
    grove = yard.grove
    state = grove.state()
    spec = state.task("d1-e0001").spec
    assert (spec.prompt, spec.env["BUDWOOD_IDEA"]) == ("worth 1\n", "ideas/a.md")
    assert len(spec.env["BUDWOOD_IDEA_SHA256"]) == 64
    assert grove.candidate(grove.end_of("d1-e0001")).keys() >= {"worth/a.md"}  # named after BUDWOOD_IDEA
    assert "d1-e0001 1" in grove.ledger.read_text()
    assert spec.check == CHECK  # and it passed
    root = state.task("root").score
    assert root is not None
    assert root.value == 10
    assert yard.ideas() == yard.before


@PAGE.tries("`--max-review-rounds 2`")
def of_reviewing(yard: Yard) -> None:
    yard.search("sent-back", {}, reviewer="echo no; exit 1", max_review_rounds=2, retries=0, code=1, x="worth 1")
    ends = [end for end in yard.grove.ends("sent-back") if str(end.task) != "root"]
    assert [end.error.type for end in ends if end.error is not None] == ["review"] * 3  # once, and twice more
    says = steps(do("run", command='echo accept > "$BUDWOOD_VERDICT"'))
    yard.search("accepted", {}, reviewer={"agent": "script", "prompt": says}, x="worth 1")
    [end] = [end for end in yard.grove.ends("accepted") if end.reviewed is not None]
    assert (end.reviewed and end.reviewed.verdict, end.score and end.score.value) == ("accept", 11)


@PAGE.tries("refs `tree/<run>/n<node>`, `tree/<run>/e<eval>`")
def of_refs(yard: Yard) -> None:
    grove = yard.grove
    left = grove.end_of("d1-e0001").left
    assert left is not None
    assert left.ref.startswith("refs/budwood/plan-")
    grove.call("branch", "plan", "d1-e0001", "tried")
    assert grove.git("rev-parse", "tried^{tree}") == left.tree


@PAGE.tries(
    "`--resume`",
    "other flags on `--resume` (ignored there)",
    "`--rerun-evals`",
    "`--force-regenerate-ideas`",
    "`--stop-on-empty-frontier`",
)
def of_resuming(yard: Yard) -> None:
    grove = yard.grove
    ran = grove.ledger.read_text()
    plan = grove.root / "plan.toml"
    text = plan.read_text()
    plan.write_text(text + "beam_width = 2\n")
    assert "its beam_width was " in grove.call("run", "plan.toml", code=2).err
    plan.write_text(text)
    grove.call("resume", "plan", "--slots", "2")
    state = grove.state()
    assert (state.settings.slots, state.end_reason) == (2, "empty_frontier")
    assert grove.ledger.read_text() == f"{ran}d2-e0003 1\n"
    said = grove.call("retry", "plan", "d2-e0003", code=None).err
    assert grove.ledger.read_text() == f"{ran}d2-e0003 1\nd2-e0003 2\n", said
    ran = grove.ledger.read_text()
    grove.call("run", "plan.toml", "--again", code=4)
    assert grove.ledger.read_text() == f"{ran}d1-e0001 1\nd1-e0002 1\n"


def test_every_row_has_a_trial_and_every_trial_a_row() -> None:
    PAGE.check_whole()


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trial", PAGE.all, ids=named)
def test_what_a_row_promises_is_so(trial: Callable[[Yard], None], yard: Yard) -> None:
    trial(yard)
