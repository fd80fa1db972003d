"""What an evaluation is told and leaves, who has ideas, and how a search is looked at."""

import json
import sys
from pathlib import Path

import msgspec
import pytest
from tests.docs.tree_runner.yard import CHECK, PAGE, Yard
from tests.workshop.site import do, steps

from budwood._core.model import TaskPhase
from budwood.agents.base import Assignment
from budwood.agents.config import AgentConfig
from budwood.agents.making import make_agent
from budwood.errors import UsageError
from budwood.strategies.ideas import Trace, ask_for_ideas


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
