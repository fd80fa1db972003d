"""What agents cost: estimated, agreed on, reserved, and told in the end; with fake agents that charge."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.world import Budwood

from budwood.project.words import money

FAKES = Path(__file__).parents[1] / "agents" / "fakes"
PAID = """
[run]
agent = "claude"
[[lane]]
id = "web"
[[task]]
id = "one"
lane = "web"
prompt = "Write it."
[[task]]
id = "two"
prompt = "Write it."
"""
LINE = "estimate: unknown for 2 tasks, no earlier attempt in this store tells a cost"
STEPS = """
[run]
agent = "script"
[[task]]
id = "one"
prompt = '''
[[step]]
do = "write"
path = "one.txt"
text = "1"
[[step]]
do = "cost"
usd = 0.5
tokens = 700
'''
"""


@pytest.fixture
def paying(budwood: Budwood, git: Callable[..., str]) -> Budwood:
    """Return a project in a repository, with agents that charge on the PATH."""
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    budwood.env |= {"PATH": f"{FAKES}:{budwood.env['PATH']}", "ANTHROPIC_API_KEY": "a-key-of-nobody"}
    budwood.plan(PAID)
    return budwood


@pytest.fixture
def git(budwood: Budwood) -> Callable[..., str]:
    def call(*words: str) -> str:
        env = {**budwood.env, "GIT_CONFIG_GLOBAL": os.devnull}
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
        done = subprocess.run(
            ["git", *who, *words], cwd=budwood.root, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout

    return call


def test_a_run_that_costs_money_wants_a_budget_or_a_word(paying: Budwood) -> None:
    refused = paying.call("run", "plan.toml", code=2)
    assert refused.err.startswith(f"error: its agents cost money, and there is no budget_usd; {LINE}; no budget")
    assert "hint: --budget-usd N pauses the run when so much is spent; --no-budget" in refused.err
    assert json.loads(paying.call("ls", "--json").out)["runs"] == []
    agreed = paying.call("run", "plan.toml", "--no-budget")
    assert f"{LINE}; no budget" in agreed.err
    assert "2 done" in agreed.err


def test_both_a_budget_and_none_is_refused(paying: Budwood) -> None:
    refused = paying.call("run", "plan.toml", "--no-budget", "--budget-usd", "5", code=2)
    assert "--no-budget, and budget_usd is 5 (--budget-usd)" in refused.err


@pytest.mark.parametrize(("key", "code", "said"), [("n\r", 2, "nothing was started"), ("y\r", 0, "2 done")])
def test_at_a_terminal_it_is_asked(paying: Budwood, key: str, code: int, said: str) -> None:
    terminal = paying.terminal("run", "plan.toml")
    terminal.wait_text("run it without a limit?")
    terminal.press(key)
    assert terminal.wait() == code
    assert said in terminal.text


def test_with_a_budget_what_earlier_attempts_cost_is_estimated_and_reserved(paying: Budwood) -> None:
    first = paying.call("run", "plan.toml", "--budget-usd", "5")
    assert (
        f"{LINE}; the budget is $5.00, of which an attempt that nobody knows the cost of reserves nothing" in first.err
    )
    dry = paying.call("run", "plan.toml", "--again", "--dry-run", "--budget-usd", "5")
    known = (
        "estimate: $1.05 for 2 tasks at one attempt each (median of earlier attempts: 2 of claude); the budget is $5.00"
    )
    assert known in dry.out
    assert "reserves $1.05, with every retry $2.10, of a budget of $5.00" in dry.out
    assert known in paying.call("run", "plan.toml", "--again", "--budget-usd", "5").err
    spent = paying.call("run", "plan.toml", "--again", "--budget-usd", "0.9", code=3)
    assert "1 done of 2" in spent.err  # the second would have passed it, and was not started
    assert "budget spent: $0.53 of $0.90, and the next attempt would pass that" in spent.err
    again = paying.call("run", "plan.toml", "--budget-usd", "2")
    assert "2 done" in again.err
    events = [json.loads(line) for line in paying.call("story", "plan-3", "--json").out.splitlines()]
    # What was expected at the start is kept, though more is known by now.
    assert [event["changed"] for event in events if event["event"] == "settings_changed"] == [["budget_usd"]]


def test_a_subscription_is_shown_at_list_price_and_not_counted(paying: Budwood) -> None:
    (paying.root / "budwood.toml").write_text('[agents.claude]\nbilling = "subscription"\n')
    ran = paying.call("run", "plan.toml")
    assert "estimate" not in ran.err
    assert "all: 2 attempts, $0.00, 2080 tokens" in ran.err
    assert "subscriptions at list price $1.05, which is not counted" in ran.err
    assert paying.call("run", "plan.toml", "--again").code == 0


def test_a_run_tells_in_the_end_what_it_cost_and_so_does_cost(paying: Budwood) -> None:
    ran = paying.call("run", "plan.toml", "--no-budget")
    table = paying.call("cost").out
    assert table in ran.err
    assert [line.split()[:5] for line in table.splitlines()[:3]] == [
        ["TASK", "LANE", "AGENT", "ATTEMPTS", "COST"],
        ["one", "web", "claude", "1", "$0.53"],
        ["two", "claude", "1", "$0.53", "1040"],
    ]
    shape = json.loads(paying.call("cost", "last", "--json").out)
    assert [(row["task"], row["lane"], row["agent"], row["model"]) for row in shape["tasks"]] == [
        ("one", "web", "claude", None),
        ("two", None, "claude", None),
    ]
    assert [(row["lane"], row["cost_usd"]) for row in shape["lanes"]] == [("web", 0.525), (None, 0.525)]
    assert shape["all"]["cost_usd"] == json.loads(paying.call("ls", "--json").out)["runs"][0]["cost_usd"] == 1.05
    assert shape["all"]["tokens"] == 2080
    assert "\nTASK" not in paying.call("run", "plan.toml", "--again", "--no-budget", "--quiet").err


def test_a_script_costs_nothing_that_anybody_has_to_agree_to(budwood: Budwood) -> None:
    budwood.plan(STEPS)
    ran = budwood.call("run", "plan.toml")
    assert "estimate" not in ran.err
    assert "all: 1 attempt, $0.50, 700 tokens" in ran.err


def test_a_script_reserves_nothing_of_what_it_said_before_and_its_silence_is_no_guess(budwood: Budwood) -> None:
    budwood.plan(STEPS)
    budwood.call("run", "plan.toml")
    budwood.plan(STEPS.replace("usd = 0.5\n", ""))
    assert "reserves" not in budwood.call("run", "plan.toml", "--again", "--dry-run").out
    said = budwood.call("run", "plan.toml", "--again", "--budget-usd", "0.1").err
    assert "all: 1 attempt, $0.00, 700 tokens" in said
    assert "did not say" not in said


def test_a_command_is_paid_for_only_if_its_task_reserves_money(budwood: Budwood) -> None:
    (budwood.root / "budwood.toml").write_text('[agents.mine]\nagent = "command"\ncommand = ["touch", "made"]\n')
    task = '[[task]]\nid = 1\nprompt = "x"\nagent = "mine"\n'
    budwood.plan(f"[run]\n{task}reserve_usd = 0.25\n")
    refused = budwood.call("run", "plan.toml", code=2)
    assert "estimate: $0.25 for 1 task at one attempt each (what they reserve); no budget" in refused.err
    budwood.plan(f"[run]\n{task}")
    assert "estimate" not in budwood.call("run", "plan.toml").err


def test_an_attempt_that_ended_in_its_setup_costs_nothing(paying: Budwood) -> None:
    paying.plan(PAID.replace("[run]", "[run]\nsetup = 'false'\nretries = 0\nreserve_usd = 0.5"))
    said = paying.call("run", "plan.toml", "--no-budget", code=1).err
    assert "setup failed" in said
    assert "all: 2 attempts, $0.00" in said


def test_an_unknown_cost_counts_as_what_was_reserved(budwood: Budwood) -> None:
    budwood.plan("[run]\n[[task]]\nid = 1\nrun = 'true'\nreserve_usd = 0.25\nreserve_tokens = 9\n")
    assert "done in" in (said := budwood.call("run", "plan.toml").err)
    assert ", 1 attempt, ~$0.25, 9 tokens" in said
    for words in (["status"], ["ls"], ["show", "last"], ["show", "last", "1"], []):
        assert "~$0.25" in budwood.call(*words).out, words
    assert budwood.call("cost").out.splitlines()[-2:] == [
        "all: 1 attempt, ~$0.25, 9 tokens, " + budwood.call("cost").out.splitlines()[-2].rpartition(", ")[2],
        "~ 1 attempt did not say what it cost: what was reserved is counted",
    ]


def test_a_cost_that_is_not_known_is_marked_also_where_nothing_was_reserved(paying: Budwood) -> None:
    paying.plan(PAID.replace('[[task]]\nid = "two"', '[[task]]\nagent = "codex"\nallow_unchanged = true\nid = "two"'))
    said = paying.call("run", "plan.toml", "--budget-usd", "5").err
    assert "all: 2 attempts, ~$0.53" in said  # codex tells tokens, and there is no price
    assert ", 2 attempts, ~$0.53" in said
    for words in (["status"], ["ls"], []):
        assert "~$0.53" in paying.call(*words).out, words
    assert "~" not in paying.call("show", "plan").out  # that task's own is known


def test_lanes_and_what_is_compared_say_which_costs_are_guessed(paying: Budwood) -> None:
    (paying.root / "budwood.toml").write_text('[agents.mine]\nagent = "command"\ncommand = ["touch", "made"]\n')
    paying.plan(PAID.replace('agent = "claude"', 'agent = "mine"\nreserve_usd = 0.25'))
    paying.call("run", "plan.toml", "--budget-usd", "5")
    for words in (["lanes"], ["compare", "plan"]):
        assert "~$0.25" in paying.call(*words).out, words
    assert [lane["untold"] for lane in json.loads(paying.call("lanes", "--json").out)["lanes"]] == [1, 1]


def test_the_start_says_what_agents_may_do_where_and_what_they_do_not_see(
    paying: Budwood, git: Callable[..., str]
) -> None:
    git("add", "plan.toml", "budwood.toml")
    git("commit", "-q", "-m", "plan")
    head = git("rev-parse", "HEAD")[:10]
    clean = paying.call("run", "plan.toml", "--no-budget").err
    assert "uncommitted" not in clean
    assert "sandbox: none; agents may edit and run commands with your rights\n" in clean
    assert f"workspaces: clone of {head} in ~/state/budwood/pools/" in clean
    (paying.root / "plan.toml").write_text(PAID + "# changed\n")
    (paying.root / "new\x1b.txt").touch()
    dirty = paying.call("run", "plan.toml", "--again", "--no-budget").err
    assert (
        "your checkout has 2 uncommitted files that workspaces do not have: plan.toml, new^[.txt; "
        "--include-dirty starts with them\n"
    ) in dirty
    included = paying.call("run", "plan.toml", "--again", "--no-budget", "--include-dirty").err
    assert "starts with 2 uncommitted files: plan.toml, new^[.txt\n" in included
    assert paying.call("run", "plan.toml", "--again", "--no-budget", "--quiet").err == ""


def test_the_start_says_what_a_checkout_has_beside_its_files(paying: Budwood, git: Callable[..., str]) -> None:
    (paying.root / ".gitmodules").write_text('[submodule "lib"]\n\tpath = libs/a b\n\turl = ../lib\n')
    (paying.root / "art").mkdir()
    (paying.root / "art" / ".gitattributes").write_text("*.psd filter=lfs diff=lfs\n")
    git("add", "-A")
    git("commit", "-q", "-m", "more")
    said = paying.call("run", "plan.toml", "--no-budget").err
    assert 'submodules are empty in workspaces: libs/a b; setup = "git submodule update --init" fetches them\n' in said
    assert 'files of git LFS are pointers in workspaces; setup = "git lfs pull" fetches them\n' in said
    paying.plan(PAID.replace("[run]", "[run]\nsetup = 'true || (git submodule update --init && git lfs pull)'"))
    again = paying.call("run", "plan.toml", "--again", "--no-budget").err
    assert "submodules" not in again
    assert "LFS" not in again


def test_a_plan_of_commands_says_nothing_of_agents(budwood: Budwood) -> None:
    budwood.plan("[run]\n[[task]]\nid = 1\nrun = 'true'\n")
    said = budwood.call("run", "plan.toml").err
    assert "sandbox" not in said
    assert "TASK" not in said


def test_one_sum_is_written_in_one_way_however_it_was_added_up() -> None:
    assert money(0.525 + 0.525 + 0.525) == money(1.575)
