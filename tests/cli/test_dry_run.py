"""--dry-run: what would run, and nothing written."""

from tests.cli.world import Budwood, task

PLAN = (
    "[run]\nslots = 2\nbudget_usd = 10\n",
    task("a", reserve_usd=1.5, retries=1),
    task("b", after=["a"]),
    task("c", after=["a"]),
)


def test_a_new_plan_shows_batches_size_and_money_and_writes_nothing(budwood: Budwood) -> None:
    budwood.plan(*PLAN)
    said = budwood.call("run", "plan.toml", "--dry-run")
    assert said.out.splitlines() == [
        "batch  1     1 task  a",
        "batch  2    2 tasks  b, c",
        "3 tasks in 2 batches, at most 2 at once, 2 slots",
        "reserves $1.50, with every retry $3.00, of a budget of $10.00",
        "would make a new run plan and start all 3 tasks",
        "nothing was started or written",
    ]
    assert sorted(path.name for path in budwood.root.iterdir()) == ["budwood.toml", "plan.toml"]


def test_an_agent_that_is_not_here_is_told_of(budwood: Budwood) -> None:
    budwood.plan("[run]\nagent = 'mine'\n[[task]]\nid = 1\nprompt = 'x'\n")
    (budwood.root / "budwood.toml").write_text("[agents.mine]\nagent = 'command'\ncommand = ['no-such-program']\n")
    said = budwood.call("run", "plan.toml", "--dry-run")
    assert said.out.splitlines()[-2:] == [
        "would be refused here: agent mine is not installed: there is no program no-such-program on the PATH",
        "nothing was started or written",
    ]


def test_a_finished_run_would_do_nothing(budwood: Budwood) -> None:
    budwood.plan(*PLAN)
    budwood.call("run", "plan.toml")
    before = len(budwood.events())
    said = budwood.call("run", "plan.toml", "--dry-run")
    assert "run plan is finished, its plan unchanged: nothing would run" in said.out
    assert len(budwood.events()) == before
    again = budwood.call("run", "plan.toml", "--dry-run", "--again")
    assert "would make a new run" in again.out


def test_an_edited_plan_shows_what_would_run_again(budwood: Budwood) -> None:
    budwood.plan(*PLAN)
    budwood.call("run", "plan.toml")
    before = len(budwood.events())
    budwood.plan(*PLAN[:2], task("b", "echo other", after=["a"]), task("d"))
    said = budwood.call("run", "plan.toml", "--dry-run", "--slots", "3")
    assert "the plan was edited: 1 added (d), 1 changed (b), 1 removed (c)" in said.out
    assert "settings would change: slots" in said.out
    assert "run plan would go on: 2 would run; 1 done would stay" in said.out
    assert len(budwood.events()) == before


def test_a_plan_that_cannot_run_is_refused(budwood: Budwood) -> None:
    budwood.plan(task("a", after=["a"]))
    assert "comes after itself" in budwood.call("run", "plan.toml", "--dry-run", code=2).err


def test_a_new_run_is_shown_under_the_name_that_it_would_get(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    budwood.plan(task("a"), file="other.toml")
    budwood.call("run", "plan.toml", "--name", "p")
    assert "would make a new run p-2 and" in budwood.call("run", "plan.toml", "--again", "--dry-run", "--name", "p").out
    assert "would make a new run p-2 and" in budwood.call("run", "other.toml", "--dry-run", "--name", "p").out
    assert "would make a new run q and" in budwood.call("run", "plan.toml", "--again", "--dry-run", "--name", "q").out
