"""Beam with real workspaces, agents and scores, as a user calls it."""

import json
import sqlite3
from contextlib import closing

import pytest
from tests.search.grove import FOUR, SCORE, Grove
from tests.support.cases import at_length

from budwood._core.model import RunPhase

pytestmark = pytest.mark.slow


def test_it_searches_and_tells_why_it_ended(grove: Grove) -> None:
    grove.ideas(**FOUR)
    grove.beam(options={"beam_width": 2, "max_depth": 2})
    before = grove.belongings()
    grove.call("run", "plan.toml")
    state = grove.state()
    assert (state.phase, state.end_reason, state.settings.slots) == (RunPhase.FINISHED, "max_depth", 1)
    assert grove.promoted() == ["root", "d1-e0003", "d1-e0004", "d2-e0005", "d2-e0007"]
    scores = {str(task.spec.id): task.score.value for task in state.tasks if task.score is not None}
    assert (scores["root"], scores["d1-e0003"], scores["d2-e0007"]) == (10, 13, 15)
    grove.check_nothing_repeated()
    after = grove.belongings()
    assert {name: after[name] for name in before} == before


def test_tree_shows_what_grew_from_what(grove: Grove) -> None:
    grove.ideas(**FOUR)
    grove.beam(options={"max_depth": 2, "ideas_per_node": 3})
    grove.call("run", "plan.toml")
    shown = json.loads(grove.call("tree", "--json").out)
    assert (shown["strategy"], shown["state"], shown["reason"]) == ("beam", "finished", "max_depth")
    assert shown["best"] == "d2-e0006"
    assert [depth["promoted"] for depth in shown["depths"]] == [1, 1, 1]
    node = next(node for node in shown["nodes"] if node["id"] == "d1-e0002")
    assert (node["parent"], node["depth"], node["idea"], node["state"]) == ("root", 1, "ideas/b.md", "done")
    assert node["judgement"] == {
        "task": "d1-e0002",
        "decision": "rejected",
        "rank": -0.1,
        "why": "score is 9, its parent's 10",
    }
    text = grove.call("tree").out
    assert "· · d2-e0006" in text
    assert "depth 2: 3 of 3 tasks ended, 1 promoted, best 15" in text
    grove.call("tree", "-o", "report")
    summary = (grove.root / "report" / "TREE_SUMMARY.md").read_text()
    assert "- best: `d2-e0006` with score 15, the root has 10" in summary
    assert "| `d1-e0002` | `root` | ideas/b.md | done | 1 |" in summary
    graph = (grove.root / "report" / "TREE_GRAPH.md").read_text()
    assert 'n3["d1-e0003<br/>13"]' in graph
    assert 'n0 -->|"c.md"| n3' in graph
    assert "class n0,n3 promoted" in graph
    assert "class n6 chosen" in graph


def test_the_record_of_a_search_is_validated(grove: Grove) -> None:
    grove.ideas(**FOUR)
    grove.beam(options={"max_depth": 1})
    grove.call("run", "plan.toml")
    found = json.loads(grove.call("tree", "--validate", "--json").out)
    assert found["problems"] == []
    assert found["judgements"] == 6
    names = [(each["what"], each["name"]) for each in found["artefacts"]]
    assert names[:4] == [("idea", f"ideas/{name}.md") for name in FOUR]
    assert ("candidate", "d1-e0003.1") in names
    assert all(len(each["sha256"]) == 64 for each in found["artefacts"])

    with closing(sqlite3.connect(grove.root / ".budwood" / "store.db")) as store:
        was = '"d1-e0004","decision":"pruned"'
        sql = "UPDATE event SET body = replace(body, ?, ?) WHERE kind = 'candidates_judged'"
        store.execute(sql, (was, was.replace("pruned", "promoted")))
        store.commit()
    said = grove.call("tree", "--validate", code=1)
    assert "wrong  d1-e0004 was promoted with rank 0.2" in said.out
    assert "and by the scores is pruned with rank 0.2" in said.out

    lost = grove.end_of("d1-e0003").left
    assert lost is not None
    refs = grove.git("for-each-ref", "--format=%(refname)", "refs/budwood/").split()
    for ref in refs:
        grove.git("update-ref", "-d", ref)
    said = grove.call("tree", "--validate", code=1)
    assert "wrong  d1-e0003.1: the ref " in said.out
    assert "6 problems" in said.err


def test_a_depth_at_a_time(grove: Grove) -> None:
    grove.ideas(**FOUR)
    grove.beam(options={"max_depth": 3, "one_depth": True, "beam_width": 2})
    said = grove.call("run", "plan.toml", code=4)
    assert "depth 1 is judged" in said.err
    assert grove.promoted() == ["root", "d1-e0003", "d1-e0004"]
    grove.call("resume", "plan", code=4)
    assert [len(str(name)) for name in grove.promoted()] == [4, 8, 8, 8, 8]
    grove.beam(options={"max_depth": 3, "one_depth": False, "beam_width": 2})
    grove.call("run", "plan.toml")
    assert grove.state().end_reason == "max_depth"
    grove.check_nothing_repeated()
    assert json.loads(grove.call("tree", "--validate", "--json").out)["problems"] == []


@pytest.mark.parametrize("how", ["edited", *at_length("removed", "new")])
@pytest.mark.parametrize("command", [("resume", "plan"), ("run", "plan.toml")])
def test_ideas_that_changed_after_planning_are_refused_by_name(
    grove: Grove, how: str, command: tuple[str, ...]
) -> None:
    grove.ideas(a="worth 1", b="worth 2")
    grove.beam(options={"one_depth": True, "max_depth": 2})
    grove.call("run", "plan.toml", code=4)
    if how == "removed":
        (grove.root / "ideas" / "b.md").unlink()
    else:
        grove.ideas(**{"b" if how == "edited" else "z": "worth 5"})
    said = grove.call(*command, code=2)
    assert f"({how}: ideas/{'z' if how == 'new' else 'b'}.md)" in said.err
    assert "--again" in said.err


def test_what_decides_is_kept_and_what_does_not_may_change(grove: Grove) -> None:
    grove.ideas(**FOUR)
    options: dict[str, object] = {"one_depth": True, "max_depth": 2, "per_node": 1}
    grove.beam(options=options)
    grove.call("run", "plan.toml", code=4)
    for name, value in {"beam_width": 3, "max_depth": 1, "dedupe": "none", "ideas_per_node": 2}.items():
        grove.beam(options={**options, name: value})
        assert f"its {name} was " in grove.call("run", "plan.toml", code=2).err
    score = {"run": SCORE, "direction": "min"}
    grove.beam(options=options, score=score)
    assert "its score.direction was not set and is 'min'" in grove.call("run", "plan.toml", code=2).err
    grove.beam(options=options, score=f"{SCORE}; true")
    assert "its score.stages[0].run was " in grove.call("run", "plan.toml", code=2).err
    grove.beam(options={"beam_width": 1, **options, "per_node": 2}, slots=3, timeout="5m", retries=2)
    grove.call("run", "plan.toml")
    assert grove.state().settings.groups == {"node-1": 2}
    assert grove.state().settings.slots == 3


REFUSED: tuple[tuple[dict[str, object], dict[str, object], str], ...] = (
    ({}, {"beam_width": 0}, "beam_width is 0"),
    ({}, {"beam_with": 2}, "no option 'beam_with'"),
    ({}, {"ideas": "nowhere"}, "the ideas cannot be read"),
    ({}, {"ideas": "empty"}, "there are no ideas in empty"),
    ({}, {"ideas": "blank"}, "the idea blank/a.md is empty"),
    ({}, {"ideas": "bytes"}, "the idea bytes/a.md is no UTF-8 text"),
    ({}, {"ideas": 5}, "ideas is 5"),
    ({"window": 2}, {}, "window is 2"),
    ({"order": "completion"}, {}, "order is completion"),
    ({}, {"idea_agent": "nobody"}, "nobody"),
    ({}, {"idea_agent": 3}, "idea_agent is 3; it takes text"),
)


def test_what_makes_no_sense_is_refused_before_anything_starts(grove: Grove) -> None:
    grove.ideas(**FOUR)
    for folder, content in {"empty": None, "blank": b" \n", "bytes": b"\xff\xfe"}.items():
        (grove.root / folder).mkdir()
        if content is not None:
            (grove.root / folder / "a.md").write_bytes(content)
    for keys, options, words in REFUSED:
        grove.beam(options=options, file="plan.toml", **keys)
        assert words in grove.call("run", "plan.toml", code=2).err
    assert not grove.has_store


def test_a_dry_run_shows_what_depth_one_would_try_in_order(grove: Grove) -> None:
    grove.ideas(d="worth 1", a="# Widen\nworth 2")
    grove.beam()
    said = grove.call("run", "plan.toml", "--dry-run").out.splitlines()
    assert "  root  what there is already" in said
    assert "  d1-e0001  after root  Widen  ideas/a.md" in said
    assert "  d1-e0002  after root  worth 1  ideas/d.md" in said


def test_ideas_that_say_the_same_and_those_that_find_no_room_are_named(grove: Grove) -> None:
    grove.ideas(a="worth 1", b="worth 2", c="worth 1", d="worth 3", e="worth 4")
    grove.beam(options={"ideas_per_node": 2, "per_node": 1})
    said = grove.call("run", "plan.toml", "--dry-run").out
    assert "  not tried: ideas/c.md, it says the same as ideas/a.md\n" in said
    assert "  not at root, where 2 ideas may be tried: ideas/d.md, ideas/e.md\n" in said
    warned = "warning: ideas/c.md is not tried: it says the same as ideas/a.md\n"
    checked = grove.call("plan", "check", "plan.toml").out.splitlines(keepends=True)
    assert checked[0] == warned
    assert checked[1:] == ["plan.toml: tasks are asked of beam while it runs; 1 warning\n"]
    grove.beam(options={"dedupe": "none"})
    said = grove.call("run", "plan.toml", "--dry-run").out
    assert "d1-e0003  after root  worth 1  ideas/c.md\n" in said
    assert "not tried" not in said


def test_a_dry_run_shows_who_is_asked_for_ideas_and_those_that_there_are(grove: Grove) -> None:
    grove.ideas(a="worth 1")
    grove.beam(options={"idea_agent": "worker"})
    said = grove.call("run", "plan.toml", "--dry-run").out
    assert "  root-ideas  after root  ideas for root\n  d1-e0001  after root  worth 1  ideas/a.md\n" in said


MUSE = """
import os, sys
said = sys.stdin.read()
folder = os.path.join(os.environ["BUDWOOD_NOTES"], "ideas")
os.makedirs(folder, exist_ok=True)
saw = "saw its history" if "worth 4: score 14" in said else "saw nothing"
ideas = {{"z.md": "worth 2\\n" + saw}}
if os.environ["BUDWOOD_TASK"] == "root-ideas":
    ideas = {{"x.md": "worth 4", "y.md": "worth -4"}}
for name, text in {answer}.items():
    open(os.path.join(folder, name), "w").write(text)
"""


def test_ideas_of_an_agent_are_tried(grove: Grove) -> None:
    muse = grove.root.parent / "muse.py"
    muse.write_text(MUSE.format(answer="ideas"))
    grove.agent("muse", muse)
    grove.ideas(a="worth 1")
    grove.beam(options={"idea_agent": "muse", "max_depth": 2})
    grove.call("run", "plan.toml")
    state = grove.state()
    assert [str(task.spec.id) for task in state.tasks] == [
        "root",
        "root-ideas",
        "d1-e0001",
        "d1-e0002",
        "d1-e0003",
        "d1-e0002-ideas",
        "d2-e0004",
        "d2-e0005",
    ]
    assert state.task("d2-e0005").spec.prompt == "worth 2\nsaw its history"
    assert state.task("d2-e0005").spec.env["BUDWOOD_IDEA"] == "d1-e0002-ideas/z.md"
    assert grove.promoted() == ["root", "d1-e0002", "d2-e0005"]
    assert json.loads(grove.call("tree", "--validate", "--json").out)["problems"] == []


def test_what_an_idea_agent_changes_is_no_candidate(grove: Grove) -> None:
    muse = grove.root.parent / "muse.py"
    muse.write_text(MUSE.format(answer="ideas") + 'open("base", "w").write("999\\n")\n')
    grove.agent("muse", muse)
    options: dict[str, object] = {"idea_agent": "muse", "max_depth": 1}
    plan = grove.root / grove.beam(options=options, check="test -d worth", reviewer="test -d worth")
    plan.write_text(plan.read_text().replace('ideas = "ideas"\n', ""))
    before = grove.git("for-each-ref", "refs/heads")
    grove.call("run", "plan.toml")
    assert grove.git("for-each-ref", "refs/heads") == before  # nor does it get a branch
    assert "root-ideas" not in grove.call("review", "plan").out
    assert "root-ideas" not in grove.call("compare", "plan").out
    said = grove.call("approve", "plan", "root-ideas", code=2).err
    assert "task root-ideas only helps the search: what it left is no candidate" in said
    assert "is no candidate" in grove.call("merge", "plan", "root-ideas", "--into", "main", code=2).err
    grove.call("merge", "plan", "--into", "main")
    assert grove.git("show", "main:base") == "10"


@pytest.mark.parametrize("answer", ["{}", "{'x.md': ''}", "sys.exit(3)"])
def test_an_idea_agent_that_answers_nonsense_ends_the_search_with_the_reason(grove: Grove, answer: str) -> None:
    muse = grove.root.parent / "muse.py"
    muse.write_text(MUSE.format(answer=answer) if answer != "sys.exit(3)" else f"import sys\n{answer}\n")
    grove.agent("muse", muse)
    plan = grove.root / grove.beam(options={"idea_agent": "muse"})
    plan.write_text(plan.read_text().replace('ideas = "ideas"\n', ""))
    grove.call("run", "plan.toml", code=1)
    assert grove.state().end_reason == "no_ideas"
    assert [(j.task, j.decision) for j in grove.judged()] == [("root", "promoted"), ("root-ideas", "rejected")]


def test_a_root_without_a_score_ends_the_search(grove: Grove) -> None:
    grove.ideas(**FOUR)
    grove.beam(score="echo no number")
    grove.call("run", "plan.toml", code=1)
    assert grove.state().end_reason == "root_failed"
    assert [str(task.spec.id) for task in grove.state().tasks] == ["root"]


def test_all_of_a_depth_failing_ends_the_search(grove: Grove) -> None:
    grove.ideas(a="never succeed", b="never succeed, too")
    grove.beam()
    said = grove.call("run", "plan.toml", code=1)
    assert "hint: budwood retry plan tries again what did not succeed, and decides nothing anew" in said.err
    assert grove.state().end_reason == "empty_frontier"
    assert [j.why for j in grove.judged()[1:]] == ["its task failed: agent", "its task failed: agent"]
