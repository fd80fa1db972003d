"""The files that `budwood init` writes: settings and a plan, each line that matters explained.

Knows what was detected. Must not look for anything itself.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from budwood.project.detecting import Detected
from budwood.project.place import SETTINGS_FILE

_HEAD = """\
# Settings of this project; a plan's own [run] and flags are stronger. `budwood config show` lists every key.

[run]
"""

_COMMAND_SETTINGS = """\
# slots = 4            # how many attempts run at once; default: all cores
# timeout = "10m"      # time limit of each attempt
# retries = 1          # how often a failed task is tried again
# notify = "notify-send \\"budwood: $BUDWOOD_RUN $BUDWOOD_STATE\\""

[machine]
# machine_slots = 16   # all runs of this machine together
"""

_COMMANDS = """\
# A plan: tasks, each a command, and what each comes after. Run it: budwood run plan.toml

[run]
goal = "See how it works"
backoff = "1s"         # wait before the first retry; each further one waits twice as long

[[task]]
id = "fetch"
run = "echo fetching; sleep 1; seq 1 100 > numbers.txt"

[[task]]
id = "count"
after = ["fetch"]      # starts when fetch is done
run = "wc -l < numbers.txt"

[[task]]
id = "sum"
after = ["fetch"]      # at the same time as count
run = ["awk", "{ total += $1 } END { print total }", "numbers.txt"]

[[task]]
id = "flaky"
retries = 2            # fails at its first attempt, so it is tried again
timeout = "1m"
run = 'test "$BUDWOOD_ATTEMPT" -gt 1'

[[task]]
id = "report"
after = ["count", "sum", "flaky"]
run = "echo all done"
"""

_AGENT_SETTINGS = """\
# slots = 3            # how many agents work at once; each takes 0.5 to 1 GB of memory
# timeout = "60m"      # time limit of each attempt
# retries = 1          # how often a failed task is tried again
# bring = [".env"]     # files that git ignores and workspaces need
# notify = "notify-send \\"budwood: $BUDWOOD_RUN $BUDWOOD_STATE\\""
"""

_PLAN = """\
# What agents are to do, each task in a workspace of its own. Write your own tasks instead of these, then:
#   budwood plan check plan.toml
#   budwood run plan.toml
# A list in Markdown is a plan, too, with one bullet or one ## section for each task: budwood run tasks.md

[run]
goal = "See what agents make of this repository"
budget_usd = 10        # the run pauses when so much is spent; what a subscription pays for is not counted

[[task]]
id = "tests"
prompt = \"\"\"
Find the part of this code that matters most and is tested least, and write tests for it.
Change nothing but tests.
\"\"\"

[[task]]
id = "readme"
prompt = "Compare the README with the code, and correct what is wrong in it."

[[task]]
id = "review"
after = ["tests", "readme"]   # starts with the files that both have made
prompt = "Read the newest changes as a strict reviewer would, and put right what you find."
# model = "…"                 # another model for this task
# check = "…"                 # another check for this task
"""

_SEARCH = """\
# {about}, then:
{commands}

[run]
strategy = "{strategy}"
budget_usd = 10        # the run pauses when so much is spent; what a subscription pays for is not counted
# A command that prints how good it is. This one counts the lines of all files: fewer are better.
score = {{ run = "git ls-files -z | xargs -0 cat | wc -l", direction = "min" }}

[run.options]
{options}"""

_PROMPT = 'prompt = "Find code here that is not needed, and remove it. Nothing may work differently."'

_BEST_OF = """\
n = 3                  # so many attempts at once, each in a workspace of its own
hints = ["look for what is written twice", "look for what nobody calls", "look for what is longer than it need be"]
# agents = {agents}    # dealt round, as hints are; so are models
# choose = "judge"     # an agent reads what was made, and chooses; "person": you do, with budwood approve
# judge = "…"          # which one
synthesise = "union"   # merge what attempts made, and keep that if it is better; "agent": an agent puts it together
"""

_BEAM = """\
ideas = "ideas"        # tried in the order of their names; a candidate that is worse than its parent goes no further
beam_width = 2         # so many candidates of a depth are grown from at the next
max_depth = 2
# max_evals = 20       # so many attempts in all
# idea_agent = "…"     # an agent that sees a branch's history and has further ideas
"""

_IDEAS = {
    "10-twice.md": "# Leave out what is written twice\n\n"
    "Find code that says the same in two places, and let one of them do. Nothing may work differently.\n",
    "20-uncalled.md": "# Leave out what nobody calls\n\n"
    "Find functions, branches and files that nothing uses, and remove them. Nothing may work differently.\n",
    "30-library.md": "# Use what is there\n\n"
    "Find code that does by hand what the language or a library of this project does. Use that instead.\n",
}

_MCTS = """\
attempts = 12
# synthesis = false    # never merge two candidates
# lessons = false      # tell attempts nothing of others
"""

_EVOLVE = """\
attempts = 20
population = 8         # so many candidates are kept to grow from; a better one takes the place of the worst
# islands = 2          # so many populations, which send each other their best from time to time
# offspring = 6        # so many attempts at once, which together take the place of the generation before
# inspirations = 0     # show attempts nothing of others
"""

PLAN_FILE = "plan.toml"


def command_files(_: Detected) -> dict[str, str]:
    """Write settings and a plan of commands, which runs anywhere."""
    return {SETTINGS_FILE: f"{_HEAD}{_COMMAND_SETTINGS}", PLAN_FILE: _COMMANDS}


def agent_files(found: Detected) -> dict[str, str]:
    """Write settings with what was detected, and a plan of prompts."""
    return {SETTINGS_FILE: _agent_settings(found), PLAN_FILE: _PLAN}


class _Search(NamedTuple):
    """A search, as its template has it."""

    about: str
    commands: tuple[str, ...]
    """What to call then."""
    options: str
    files: Mapping[str, str] = {}
    """What lies beside the plan."""


_SEARCHES = {
    "best-of": _Search(
        "Several attempts at one task; the best is chosen, or made of the parts of several. Write your own task",
        ("run plan.toml", "compare plan", "merge plan"),
        f"{_PROMPT}\n{_BEST_OF}",
    ),
    "beam": _Search(
        "Ideas, each a file in ideas/, are tried at the best candidates, depth by depth. "
        "Write your own ideas and score",
        ("run plan.toml --dry-run", "run plan.toml", "tree plan", "merge plan"),
        _BEAM,
        {f"ideas/{name}": text for name, text in _IDEAS.items()},
    ),
    "mcts": _Search(
        "A tree of candidates, grown where scores promise most; what attempts learnt is handed on. Write your own task",
        ("run plan.toml", "tree plan", "merge plan"),
        f"{_PROMPT}\n{_MCTS}",
    ),
    "evolve": _Search(
        "A population of candidates; the best live on, are varied, and are put together. Write your own task",
        ("run plan.toml", "tree plan", "merge plan"),
        f"{_PROMPT}\n{_EVOLVE}",
    ),
}


def search_files(strategy: str, found: Detected) -> dict[str, str]:
    """Write settings with what was detected, and the plan of a search."""
    search = _SEARCHES[strategy]
    agents = msgspec.json.encode(found.agents[:3] or ("claude", "codex")).decode()
    plan = _SEARCH.format(
        strategy=strategy,
        about=search.about,
        commands="\n".join(f"#   budwood {command}" for command in search.commands),
        options=search.options.format(agents=agents),
    )
    return {SETTINGS_FILE: _agent_settings(found), PLAN_FILE: plan, **search.files}


TEMPLATES: dict[str, Callable[[Detected], dict[str, str]]] = {
    "commands": command_files,
    "plan": agent_files,
    **{name: partial(search_files, name) for name in _SEARCHES},
}
"""By name, what makes the files, by their paths; settings and plan are among them."""


def _agent_settings(found: Detected) -> str:
    lines = "\n".join(_found(found))
    return f"{_HEAD}{lines}\n{_AGENT_SETTINGS}"


def _found(found: Detected) -> Iterator[str]:
    if found.agents:
        more = f"; also here: {', '.join(found.agents[1:])}. In a list, the next one is asked when one is at its limit"
        yield _line("agent", found.agents[0], f"does what prompts say{more if found.agents[1:] else ''}")
    else:
        yield _line("agent", "claude", "no agent was found on your PATH: `budwood doctor` shows which there are")
    if found.checks:
        more = f"; also here: {', '.join(found.checks[1:])}"
        yield _line("check", found.checks[0], f"judges every attempt{more if found.checks[1:] else ''}")
    else:
        yield _line("# check", "make test", "no tests were found; this command would judge every attempt")
    if found.setups:
        locks = " and ".join(setup.lock for setup in found.setups)
        yield _line("setup", " && ".join(setup.command for setup in found.setups), f"makes a workspace ready: {locks}")
    else:
        yield _line("# setup", "…", "makes a new workspace ready; no lock file was found")
    keeps = list(dict.fromkeys(kept for setup in found.setups for kept in setup.keeps))
    if keeps:
        yield _line("setup_keeps", keeps, "the next attempt in the same workspace finds it again")


def _line(key: str, value: object, why: str) -> str:
    """Write text, or a list of texts: JSON's notation is TOML's there."""
    return f"{f'{key} = {msgspec.json.encode(value).decode()}':<22} # {why}"
