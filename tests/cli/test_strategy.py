"""A plan file with a strategy of the user's own: run, killed, resumed, and what may be wrong with it."""

import signal

import pytest
from tests.cli.world import HELD, Budwood, send

COUNT = """
from budwood.strategies import Strategy
from budwood._core.model import TaskSpec

class Count(Strategy):
    window = 2

    def __init__(self, tasks, run="echo $BUDWOOD_ATTEMPT >> began-$BUDWOOD_TASK; echo did >> did-$BUDWOOD_TASK"):
        self.tasks, self.run, self.told = tasks, run, []

    def ask(self, number, random):
        if number >= self.tasks:
            return ()
        return [TaskSpec(id=f"t{number}", run=self.run, env={"KNEW": str(len(self.told))})]

    def tell(self, told):
        self.told.append(told.task.id)

class Broken:
    pass
"""
PLAN = '[run]\nslots = 4\nstrategy = "count:Count"\noptions = {{ tasks = {tasks} }}\n{more}'


@pytest.fixture
def counting(budwood: Budwood) -> Budwood:
    (budwood.root / "count.py").write_text(COUNT)
    return budwood


def test_a_strategy_of_the_users_own_is_run(counting: Budwood) -> None:
    counting.plan(PLAN.format(tasks=5, more="retries = 1\n"))
    said = counting.call("run", "plan.toml")
    assert "plan: 5 done" in said.err
    state = counting.state()
    assert [task.spec.env["KNEW"] for task in state.tasks] == ["0", "0", "1", "2", "3"]
    assert {task.spec.retries for task in state.tasks} == {1}  # what [run] sets for all tasks holds for these
    assert (state.strategy, state.options, state.settings.window) == ("count:Count", {"tasks": 5}, 2)
    assert "--again runs it afresh" in counting.call("run", "plan.toml").err


def test_killed_it_is_resumed_by_name_and_asks_for_nothing_twice(counting: Budwood) -> None:
    counting.plan(PLAN.format(tasks=4, more="").replace("}", f", run = '''{HELD}''' }}"))
    driver = counting.start("run", "plan.toml")
    counting.wait_began("t0", "t1")
    send(driver, signal.SIGKILL)
    driver.wait()
    counting.let_go()
    assert "plan: 4 done" in counting.call("resume", "plan").err
    assert [counting.lines(f"began-t{n}") for n in range(4)] == [["1"]] * 4


def test_max_tasks_pauses_and_more_can_be_allowed(counting: Budwood) -> None:
    counting.plan(PLAN.format(tasks=9, more="max_tasks = 3\n"))
    assert "3 of 3 tasks, and the strategy wants more" in counting.call("run", "plan.toml", code=3).err
    assert "plan: 9 done" in counting.call("resume", "plan", "--max-tasks", "20").err


def test_a_dry_run_says_that_tasks_are_asked_for(counting: Budwood) -> None:
    counting.plan(PLAN.format(tasks=9, more=""))
    assert counting.call("run", "plan.toml", "--dry-run").out.splitlines() == [
        "tasks are asked of count:Count while it runs: window 2, at most 100000, 4 slots",
        "would make a new run plan",
        "nothing was started or written",
    ]


def test_a_run_keeps_its_strategy(counting: Budwood) -> None:
    counting.plan(PLAN.format(tasks=9, more="max_tasks = 3\n"))
    counting.call("run", "plan.toml", code=3)
    counting.plan(PLAN.format(tasks=8, more=""))
    said = counting.call("run", "plan.toml", code=2)
    assert "run plan keeps its strategy, and its tasks was 9 and is 8" in said.err
    assert "--again" in said.err


def test_a_run_that_is_over_keeps_its_strategy_too(counting: Budwood) -> None:
    counting.plan(PLAN.format(tasks=2, more=""))
    counting.call("run", "plan.toml")
    counting.plan(PLAN.format(tasks=5, more=""))
    said = counting.call("run", "plan.toml", code=2)
    assert "run plan keeps its strategy, and its tasks was 2 and is 5" in said.err
    assert "--again" in said.err
    dry = counting.call("run", "plan.toml", "--dry-run").out
    assert "would be refused: run plan keeps its strategy, and its tasks was 2 and is 5\n" in dry
    counting.plan(PLAN.format(tasks=2, more="seed = 5\n"))
    assert "a run keeps its seed" in counting.call("run", "plan.toml", code=2).err
    counting.plan(PLAN.format(tasks=2, more="window = 3\n"))
    assert "a run keeps its window" in counting.call("run", "plan.toml", code=2).err
    counting.plan(PLAN.format(tasks=2, more="slots = 1\n").replace("slots = 4\n", ""))
    assert "plan: 2 done" in counting.call("run", "plan.toml").err


def test_an_option_of_ours_is_refused_without_talk_of_classes(budwood: Budwood) -> None:
    said = budwood.call("best-of", "x", "-n", "1", "--hint", "a", "--hint", "b", "--agent", "script", code=2).err
    assert "2 hints and 1 attempt: some would never be used\n\nhint: n = 2" in said
    for options, words in (
        ('lessons = "no"', "cannot be made: lessons is 'no'; it takes true or false"),
        ("synthesis = 1", "cannot be made: synthesis is 1; it takes true or false"),
    ):
        budwood.plan(
            f'[run]\nstrategy = "mcts"\nscore = "true"\nagent = "script"\n[run.options]\nprompt = "x"\n{options}\n'
        )
        assert words in budwood.call("run", "plan.toml", "--dry-run", code=2).err
    budwood.plan('[run]\nstrategy = "mcts"\nscore = "true"\nagent = "script"\n')
    said = budwood.call("run", "plan.toml", "--dry-run", code=2).err
    assert said == "error: the strategy mcts needs the option prompt\n\nhint: prompt = … in [run.options]\n"
    said = budwood.call("best-of", "x", "-n", "0", "--agent", "script", code=2).err
    assert said == "error: the strategy best-of cannot be made: n is 0; it takes a whole number from 1 on\n"


def test_a_dry_run_says_that_a_run_under_way_would_not_go_on_otherwise(counting: Budwood) -> None:
    counting.plan(PLAN.format(tasks=9, more="max_tasks = 3\n"))
    counting.call("run", "plan.toml", code=3)
    counting.plan(PLAN.format(tasks=8, more=""))
    dry = counting.call("run", "plan.toml", "--dry-run").out
    assert "would be refused: run plan keeps its strategy, and its tasks was 9 and is 8\n" in dry
    assert "would go on" not in dry


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('strategy = "count:Nobody"', "the strategy count:Nobody cannot be imported: AttributeError"),
        ('strategy = "nobody:Count"', "the strategy nobody:Count cannot be imported: ModuleNotFoundError"),
        ('strategy = "climb"', "there is no strategy 'climb'"),
        ('strategy = "count:Broken"', "count:Broken is no strategy"),
        ('strategy = "count:Count"', "the strategy count:Count cannot be made: TypeError"),
        ('strategy = "count:Count"\noptions = { at = 2020-01-01 }', "it takes a table of JSON values"),
        ('strategy = "count:Count"\n[[task]]\nid = 1\nrun = "true"', "has tasks or lanes of its own and the strategy"),
    ],
)
def test_what_is_wrong_with_a_strategy_is_said_before_anything_starts(counting: Budwood, text: str, error: str) -> None:
    counting.plan(f"[run]\n{text}\n")
    said = counting.call("run", "plan.toml", code=2)
    assert error in said.err
    assert not (counting.root / ".budwood" / "store.db").exists()


def test_what_run_sets_for_all_tasks_holds_after_a_kill_too(counting: Budwood) -> None:
    more = "retries = 2\nenv = { GREETING = 'hello' }\n"
    counting.plan(PLAN.format(tasks=4, more=more).replace("}\n", f", run = '''{HELD}''' }}\n", 1))
    driver = counting.start("run", "plan.toml")
    counting.wait_began("t0", "t1")
    send(driver, signal.SIGKILL)
    driver.wait()
    counting.let_go()
    counting.call("resume", "plan")
    assert {(task.spec.retries, task.spec.env["GREETING"]) for task in counting.state().tasks} == {(2, "hello")}


def test_an_answer_that_never_ends_takes_no_more_than_is_allowed(counting: Budwood) -> None:
    (counting.root / "endless.py").write_text(
        "from itertools import count\n"
        + COUNT.replace("class Count", "class Endless")
        .replace("        if number >= self.tasks:\n            return ()\n        return [", "        return (")
        .replace('"KNEW": str(len(self.told))})]', '"KNEW": "0"}) for number in count())')
    )
    counting.plan(PLAN.format(tasks=1, more="max_tasks = 50\n").replace("count:Count", "endless:Endless"))
    said = counting.call("run", "plan.toml", code=3)
    assert "0 of 50 tasks, and answer 0 of the strategy has more than are left" in said.err
    assert "--max-tasks N" in said.err
