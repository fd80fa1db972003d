"""evolve as a user has it: agents in workspaces, scores by a command, git, and the real program."""

import json
from collections.abc import Mapping

import pytest
from tests.search.conftest import SCORE, Halves

from budwood._core.events import TasksAdded
from budwood._core.model import TaskSpec

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
RAISE = """
n=$(sed -n 2p $half.txt)
[ $((BUDWOOD_ATTEMPT_SEED % 7)) != 0 ] || exit 3
sed -i "2s/.*/$((n + BUDWOOD_ATTEMPT_SEED % 3))/" $half.txt
echo "$BUDWOOD_TASK" >> made-$half.txt
echo "raised $half in island $BUDWOOD_ISLAND" > "$BUDWOOD_NOTES/lesson.md"
"""
EITHER = f"case $((BUDWOOD_ATTEMPT_SEED / 3 % 2)) in 0) half=left;; *) half=right;; esac{RAISE}"


def search(
    halves: Halves, options: Mapping[str, object], *, script: str = EITHER, slots: int = 2, code: int | None = None
) -> str:
    """Run a search named `search`; return what it said. Keys of [run] begin with a point."""
    halves.agent("raiser", script)
    given = {"prompt": "Raise the numbers.", **options}
    lines = {name: f"{name.removeprefix('.')} = {json.dumps(value)}" for name, value in given.items()}
    own = "\n".join(line for name, line in lines.items() if name.startswith("."))
    rest = "\n".join(line for name, line in lines.items() if not name.startswith("."))
    (halves.root / "search.toml").write_text(
        f'[run]\nstrategy = "evolve"\nagent = "raiser"\nscore = "{SCORE}"\nseed = 3\nslots = {slots}\n{own}\n'
        f"[run.options]\n{rest}\n"
    )
    return halves.call("run", "search.toml", code=code).err


def asked(halves: Halves) -> dict[str, TaskSpec]:
    added = [task for event in halves.events("search") if isinstance(event, TasksAdded) for task in event.tasks]
    return {str(task.id): task for task in added}


def test_a_population_gets_better_and_its_best_is_merged(halves: Halves) -> None:
    said = search(halves, {"attempts": 14, "population": 3, "crossover": 0.4})
    scores = {name: each["score"]["value"] for name, each in halves.compared("search").items() if each["score"]}  # type: ignore[index]
    best = halves.call("best", "search").out.strip()
    assert scores[best] == max(scores.values()) > scores["root"] + 2
    assert f"best    {best}  " in said
    halves.call("merge", "search", "--into", "main")
    numbers = [int((halves.root / f"{half}.txt").read_text().split()[1]) for half in ("left", "right")]
    assert sum(numbers) == scores[best]


def test_two_parents_are_merged_by_git_and_what_others_changed_is_in_prompts(halves: Halves) -> None:
    prompts = halves.root.parent / "prompts"
    prompts.mkdir()
    script = f"cat > '{prompts}'/$BUDWOOD_TASK\n{EITHER}"
    search(halves, {"attempts": 16, "population": 4, "crossover": 1.0, "inspirations": 2}, script=script)
    tasks = asked(halves)
    assert any(len(task.after) == 2 for task in tasks.values())
    shown = [task for task in tasks.values() if task.reads and (prompts / str(task.id)).exists()]
    assert shown
    for task in shown:
        _, _, told = (prompts / str(task.id)).read_text().partition("# Others that did well")
        assert all(f"+{name}\n" in told for name in task.reads), told  # each adds its own name to a file


def test_what_did_not_fit_together_is_no_reason_to_have_anything_revised(halves: Halves) -> None:
    search(halves, {"attempts": 8, "crossover": 1.0}, script='sed -i "2s/.*/$((BUDWOOD_ATTEMPT_SEED % 90))/" left.txt')
    clashed = [str(task.spec.id) for task in halves.state("search").tasks if task.error_type == "conflict"]
    assert clashed
    for words in (["search"], ["search", clashed[0]]):
        said = halves.call("why", *words)
        assert "revise" not in said.out + said.err
        assert "retry" not in said.out + said.err


def test_what_is_as_good_as_the_root_is_a_result_though_there_is_no_room_for_it(halves: Halves) -> None:
    said = search(halves, {"attempts": 3, "population": 1}, script="echo $BUDWOOD_TASK > new.txt", code=0)
    assert "best    e1  " in said


@pytest.mark.parametrize(
    "options",
    [
        {"islands": 2, "population": 2, "migrate_every": 4, "crossover": 0.3},
        pytest.param({"offspring": 4, "population": 3, "elites": 1, "crossover": 0.3}, marks=pytest.mark.long),
        pytest.param(
            {"features.score.low": 0, "features.score.high": 12, "features.score.bins": 6}, marks=pytest.mark.long
        ),
    ],
    ids=["islands", "generations", "grid"],
)
def test_decisions_are_the_same_at_any_number_of_slots(halves: Halves, options: dict[str, object]) -> None:
    search(halves, {"attempts": 10, **options}, slots=4)
    first = halves.call("show", "search", "--decisions").out
    halves.call("run", "search.toml", "--again", "--slots", "1", code=None)
    assert halves.call("show", "search-2", "--decisions").out == first


def test_who_has_left_the_population_is_said_in_the_tree(halves: Halves) -> None:
    search(halves, {"attempts": 12, "population": 2, "crossover": 0})
    nodes = json.loads(halves.call("tree", "search", "--json").out)["nodes"]
    judged = {node["id"]: node["judgement"] for node in nodes if node["judgement"]}
    assert {each["decision"] for each in judged.values()} == {"pruned"}
    assert judged["root"]["why"].endswith("is better")
    assert "12 of 12 attempts ended" in halves.call("status", "search").out


@pytest.mark.parametrize("key", [{".window": 4}, {".order": "completion"}], ids=["window", "order"])
def test_generations_refuse_what_would_have_them_asked_for_too_early(halves: Halves, key: dict[str, object]) -> None:
    assert "judges when all of an answer has ended" in search(halves, {"offspring": 3, **key}, code=2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"atempts": 3}, "has no option 'atempts'"),
        ({"islands": 0}, "islands is 0; it takes a whole number from 1 on"),
        ({"elites": 2}, "elites is 2, and without offspring"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_starts(
    halves: Halves, options: dict[str, object], what: str
) -> None:
    assert what in search(halves, options, script="true", code=2)


def test_without_a_score_it_is_refused(halves: Halves) -> None:
    (halves.root / "plan.toml").write_text(
        '[run]\nstrategy = "evolve"\nagent = "script"\n[run.options]\nprompt = "x"\n'
    )
    assert "evolve keeps what scores best, and there is no score" in halves.call("run", "plan.toml", code=2).err
