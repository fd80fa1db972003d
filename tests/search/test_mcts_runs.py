"""mcts as a user has it: agents in workspaces, scores by a command, git, and the real program."""

import json

import pytest
from tests.search.conftest import SCORE, Halves

from budwood._core.events import TasksAdded
from budwood._core.model import TaskSpec

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
RAISE = """
n=$(sed -n 2p $half.txt)
[ $n -lt 3 ] || exit 3
sed -i "2s/.*/$((n + 1))/" $half.txt
echo "raised $half to $((n + 1))" > "$BUDWOOD_NOTES/lesson.md"
"""


def search(halves: Halves, script: str, *, slots: int = 2, code: int | None = 0, **options: object) -> str:
    """Run a search named `search`; return what it said."""
    halves.agent("raiser", script)
    window = options.pop("window", 1)
    lines = [f"{name} = {json.dumps(value)}" for name, value in {"prompt": "Raise the numbers.", **options}.items()]
    (halves.root / "search.toml").write_text(
        f'[run]\nstrategy = "mcts"\nagent = "raiser"\nscore = "{SCORE}"\nwindow = {window}\nslots = {slots}\n'
        + "[run.options]\n"
        + "\n".join(lines)
    )
    return halves.call("run", "search.toml", code=code).err


def asked(halves: Halves) -> list[TaskSpec]:
    return [task for event in halves.events("search") if isinstance(event, TasksAdded) for task in event.tasks]


def test_a_search_that_has_given_up_every_branch_still_knows_its_best_and_merges_it(halves: Halves) -> None:
    search(halves, f"half=left{RAISE}", attempts=20, patience=2, max_children=2, restarts=0, synthesis=False)
    tree = json.loads(halves.call("tree", "search", "--json").out)
    assert tree["reason"] == "dead"
    pruned = [node for node in tree["nodes"] if node["judgement"] and node["judgement"]["decision"] == "pruned"]
    assert pruned
    assert all(node["judgement"]["why"] for node in pruned)
    best = halves.call("best", "search")
    assert best.out.strip() == tree["best"]
    assert "score 4" in best.err
    halves.call("merge", "search", "--into", "main")
    assert (halves.root / "left.txt").read_text() == "left\n3\nend\n"


def test_two_candidates_are_merged_by_git_and_lessons_reach_later_prompts(halves: Halves) -> None:
    either = f'case "$BUDWOOD_TASK" in *[13579]) half=left;; *) half=right;; esac{RAISE}'
    search(halves, either, attempts=8, window=1, widening=1.0)
    tasks = {str(task.id): task for task in asked(halves)}
    joined = next(task for task in tasks.values() if len(task.after) == 2)
    scores = {name: found["score"]["value"] for name, found in halves.compared("search").items() if found["score"]}  # type: ignore[index]
    assert scores[str(joined.id)] == 5.0  # 2 and 2 were merged, and one of them raised once more
    assert "raised left to 2" in joined.prompt
    assert "raised right to 2" in joined.prompt


def test_of_an_attempt_that_noted_nothing_later_ones_hear_what_it_changed_and_what_that_did(halves: Halves) -> None:
    search(halves, "sed -i 2s/.*/2/ left.txt", attempts=2)
    [*_, last] = asked(halves)
    assert "- m1 (3): an attempt on root that changed left.txt brought score to 3 (50.00% better)" in last.prompt


def test_decisions_are_the_same_at_any_number_of_slots(halves: Halves) -> None:
    either = f'case "$BUDWOOD_TASK" in *[13579]) half=left;; *) half=right;; esac{RAISE}'
    search(halves, either, attempts=8, window=4, slots=4)
    first = halves.call("show", "search", "--decisions").out
    halves.call("run", "search.toml", "--again", "--slots", "1")
    assert halves.call("show", "search-2", "--decisions").out == first


def test_a_root_without_a_score_ends_the_search(halves: Halves) -> None:
    (halves.root / "left.txt").write_text("left\nnan\nend\n")
    halves.git("-c", "user.name=u", "-c", "user.email=u@h", "commit", "-qam", "no number")
    search(halves, f"half=right{RAISE}", code=1, attempts=8)
    tree = json.loads(halves.call("tree", "search", "--json").out)
    assert (tree["reason"], len(tree["nodes"])) == ("root_failed", 1)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"attempts": 0}, "attempts is 0; it takes a whole number from 1 on"),
        ({"atempts": 3}, "has no option 'atempts'"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_starts(
    halves: Halves, options: dict[str, object], what: str
) -> None:
    assert what in search(halves, "true", code=2, **options)  # type: ignore[arg-type]
