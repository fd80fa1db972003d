"""`budwood plan show` and `budwood plan check`."""

from pathlib import Path

import pytest
from tests.support.program import call, golden, in_terminal

EXAMPLES = Path(__file__).parents[2] / "examples"
SEED = str(EXAMPLES / "yokeflow.json")


def write(folder: Path, text: str) -> str:
    (folder / "plan.toml").write_text(text)
    return "plan.toml"


def test_the_batches_of_the_seed_are_those_that_it_shows(tmp_path: Path) -> None:
    told = call("plan", "show", SEED, "--json", cwd=tmp_path).json
    assert told["batches"] == [[1, 6], [2], [3, 4], [5, 7]]
    assert told["critical_path"] == [1, 2, 3, 5]
    assert told["format"] == "yokeflow"
    lanes = told["lanes"]
    assert isinstance(lanes, list)
    assert lanes[0] == {"id": 1, "name": "Backend Infrastructure", "after": [], "tasks": [1, 2, 3]}


def test_batches_are_a_table(tmp_path: Path) -> None:
    ran = call("plan", "show", SEED, cwd=tmp_path)
    assert ran.out == golden("""
    BATCH  TASKS  LANES  IDS
        1      2  1, 3   1, 6
        2      1  1      2
        3      2  1, 2   3, 4
        4      2  2, 3   5, 7
    """)
    assert ran.err == "\nlongest path: 1 -> 2 -> 3 -> 5\n"
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_drawn_and_narrowed(tmp_path: Path) -> None:
    assert call("plan", "show", SEED, "--mermaid", cwd=tmp_path).out.startswith("flowchart TD\n")
    assert call("plan", "show", SEED, "--ascii", "--batch", "4", cwd=tmp_path).out == golden("""
    Batch 4
      5 [2] <- 3, 4
      7 [3] <- 3
    """)
    assert call("plan", "show", SEED, "--lane", "3", "--json", cwd=tmp_path).json["batches"] == [[6], [7]]


def test_pictures_exclude_each_other(tmp_path: Path) -> None:
    ran = call("plan", "show", SEED, "--mermaid", "--json", cwd=tmp_path)
    assert ran.code == 2
    assert "exclude each other" in ran.err


def test_dropped_wishes_are_in_the_json(tmp_path: Path) -> None:
    plan = write(tmp_path, '[[task]]\nid="a"\nprefer_after=["b"]\nrun="x"\n[[task]]\nid="b"\nafter=["a"]\nrun="x"\n')
    told = call("plan", "show", plan, "--json", cwd=tmp_path).json
    assert told["dropped"] == [{"task": "a", "after": "b"}]


def test_a_wide_batch_is_cut_on_a_terminal_and_whole_in_a_pipe(tmp_path: Path) -> None:
    plan = write(tmp_path, "".join(f'[[task]]\nid="task-number-{n}"\nrun="x"\n' for n in range(40)))
    shown = in_terminal("plan", "show", plan, cwd=tmp_path, env={"NO_COLOR": "1"})[1].splitlines()
    assert max(map(len, shown)) <= 80
    assert shown[1].endswith("…")
    assert "task-number-39" in call("plan", "show", plan, cwd=tmp_path).out


def test_check_says_who_is_missing_and_what_may_not_be_meant(tmp_path: Path) -> None:
    ran = call("plan", "check", SEED, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "warning: a prompt and no agent, so it must be named when this is run (--agent NAME): "
        "'1', '2', '3', '4', '5' and 2 more\n"
        f"{SEED}: 7 tasks, 3 lanes; widest batch 2, longest path 4; 1 warning\n"
    )
    (tmp_path / "tasks.json").write_bytes(Path(SEED).read_bytes())
    (tmp_path / "budwood.toml").write_text('[run]\nagent = "script"\nslots = 1\n')
    assert call("plan", "check", "tasks.json", cwd=tmp_path).out == (
        "warning: tasks '6' and '7' of lane '3' do not come after each other: the first to be ready goes first, "
        "so another run may end with other files\n"
        "tasks.json: 7 tasks, 3 lanes; widest batch 2, longest path 4; 1 warning\n"
    )


def test_check_lists_warnings_and_is_no_error(tmp_path: Path) -> None:
    lane = "".join(f'[[task]]\nid={n}\nrun="x"\nlane="l"\n' for n in range(51))
    wish = '[[task]]\nid="a"\nprefer_after=["b"]\nrun="x"\n[[task]]\nid="b"\nafter=["a"]\nrun="x"\n'
    plan = write(tmp_path, f'[run]\nslots=99\n[[lane]]\nid="l"\n{lane}{wish}')
    ran = call("plan", "check", plan, cwd=tmp_path)
    warnings = [line for line in ran.out.splitlines() if line.startswith("warning: ")]
    assert ran.code == 0
    assert len(warnings) == 3
    assert "lane 'l' has 51 tasks" in warnings[0]
    assert "99 slots" in warnings[1]
    assert "would close a circle" in warnings[2]
    assert ran.out.endswith("; 3 warnings\n")
    told = call("plan", "check", plan, "--json", cwd=tmp_path).json
    assert (told["tasks"], told["widest"], told["slots"]) == (53, 52, 99)
    assert told["warnings"] == [line.removeprefix("warning: ") for line in warnings]


def test_a_machine_with_many_cores_is_no_reason_to_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(64)))
    plan = write(tmp_path, '[[task]]\nid=1\nrun="x"\n')
    assert "nothing to warn of" in call("plan", "check", plan, cwd=tmp_path).out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[[task]]\nid="a"\nafter=["b"]\nrun="x"\n[[task]]\nid="b"\nafter=["a"]\nrun="x"\n',
            "Circular dependencies detected: a -> b -> a",
        ),
        ('[[task]]\nid="a"\nafter=["bb"]\nrun="x"\n[[task]]\nid="b"\nrun="x"\n', "no task is called that"),
        ('[[task]]\nid="a"\nrum="x"\n', "did you mean 'run'?"),
        ("[[task]\n", "plan.toml"),
        ('[[task]]\nid="a"\nrun="x"\ncpus=10000\n', "can never start"),
    ],
)
@pytest.mark.parametrize("command", ["check", "show"])
def test_a_plan_that_cannot_be_followed_is_an_error(tmp_path: Path, text: str, said: str, command: str) -> None:
    ran = call("plan", command, write(tmp_path, text), cwd=tmp_path)
    if command == "show" and "cpus" in text:
        assert ran.code == 0  # a picture can be drawn of what this machine could not run
        return
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    ran = call("plan", "check", "nothing.toml", cwd=tmp_path)
    assert ran.code == 2
    assert "nothing.toml" in ran.err


CLIMB = "import budwood\nclass Climb(budwood.Strategy):\n    ask = tell = lambda *given: ()\n"


@pytest.mark.parametrize("command", ["show", "check"])
def test_of_a_strategy_it_is_said_that_tasks_are_asked_for(tmp_path: Path, command: str) -> None:
    (tmp_path / "climb_of_plans.py").write_text(CLIMB)
    (tmp_path / "budwood.toml").write_text("")
    write(tmp_path, '[run]\nstrategy = "climb_of_plans:Climb"\n')
    ran = call("plan", command, str(tmp_path / "plan.toml"), cwd=Path("/"))  # the plan's project, as when it is run
    assert (ran.code, ran.err) == (0, "")
    assert "tasks are asked of climb_of_plans:Climb while it runs" in ran.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[run]\nstrategy = "nobody_has_it:Climb"\n', "the strategy nobody_has_it:Climb cannot be imported"),
        ('[run]\nstrategy = "climb_of_plans:Climb"\noptions = { steps = 3 }\n', "takes no arguments"),
        ('[run]\npython = "no/such/python"\n[[task]]\nid = 1\nfunction = "a:b"\n', "python is 'no/such/python'"),
    ],
)
def test_check_refuses_what_run_refuses(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "climb_of_plans.py").write_text(CLIMB)
    ran = call("plan", "check", write(tmp_path, text), cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


DUMP = """
COPY public.epics (id, name) FROM stdin;
1\tBackend
2\tAPI: User & Admin
\\.
COPY public.tasks (id, epic_id, description, action, priority, done, depends_on, dependency_type) FROM stdin;
1\t1\tSchema\tCreate it.\t10\tt\t{}\thard
2\t2\tEndpoints\tCreate them.\t20\tf\t{1}\thard
\\.
COPY public.worktrees (epic_id, branch_name, worktree_path, status, merge_commit) FROM stdin;
1\tepic-1-backend\t.worktrees/epic-1-backend\tmerged\t0123abcd
\\.
"""


def test_a_dump_becomes_a_plan_that_can_be_shown(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(DUMP)
    ran = call("plan", "import", "dump.sql", "-o", "plan.json", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == golden("""
    note: 1 done and left out: 1
    note: branch epic-1-backend is merged there: 0123abcd
    plan.json: 1 task in 1 lane
    """)
    shown = call("plan", "show", "plan.json", "--ascii", cwd=tmp_path)
    assert (shown.out, shown.err) == ("Batch 1\n  2 [2]\n", "note: 1 done and left out: 1\n")
    written = (tmp_path / "plan.json").read_bytes()
    assert call("plan", "import", "dump.sql", cwd=tmp_path).raw == written
    again = call("plan", "import", "dump.sql", "-o", "plan.json", cwd=tmp_path)
    assert (again.code, (tmp_path / "plan.json").read_bytes()) == (2, written)
    assert "plan.json is there already" in again.err


def test_a_dump_that_is_broken_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(DUMP.replace("\\.\nCOPY public.tasks", "COPY public.tasks"))
    ran = call("plan", "import", "dump.sql", "-o", "plan.json", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith("error: dump.sql:5: a row of epics has 1 values for 2 columns\n\nhint: ")
    assert not (tmp_path / "plan.json").exists()
    assert call("plan", "import", cwd=tmp_path).code == 2
    assert "there is no project 'x'" in call("plan", "import", SEED, "--project", "x", cwd=tmp_path).err
