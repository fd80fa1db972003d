"""The program on PostgreSQL: which database it takes, what it says of it, and that a run there is like any other."""

import signal
import socket
from pathlib import Path

import msgspec
import psycopg
import pytest
from tests.cli.world import HELD, Budwood, send, task, wait_for
from tests.support.program import call
from tests.support.server import Server, name_of
from tests.support.told import Told

from budwood._core.events import AttemptAdopted
from budwood._core.replay import fold
from budwood.stores import open_store

pytestmark = pytest.mark.postgres
SECRET = "s3cret"
READS = (("story", "--json"), ("show", "--decisions"), ("logs",))


@pytest.fixture
def secret(postgres: Server, database: str) -> str:
    """The address of the test's database, with a password that nobody may see."""
    return postgres.url(name_of(database), password=SECRET)


class TestWhichStore:
    def test_the_address_is_taken_from_the_strongest_place(
        self, budwood: Budwood, database: str, secret: str, tmp_path: Path
    ) -> None:
        def shown(env: dict[str, str]) -> tuple[object, object]:
            found = msgspec.json.decode(budwood.call("config", "show", "--json", env=env).out)["settings"]["store"]
            return found["value"], found["origin"]

        assert shown({}) == (None, "default")
        assert shown({"DATABASE_URL": secret}) == (database, "DATABASE_URL")
        assert shown({"DATABASE_URL": "mysql://root@localhost/app"}) == (None, "default")
        assert shown({"DATABASE_URL": ""}) == (None, "default")
        (budwood.root / "budwood.toml").write_text('[machine]\nstore = "mine.db"\n')
        assert shown({"DATABASE_URL": secret}) == ("mine.db", str(budwood.root / "budwood.toml"))
        assert shown({"DATABASE_URL": secret, "BUDWOOD_STORE": "other.db"}) == ("other.db", "BUDWOOD_STORE")
        told = budwood.call("config", "show", "--origin", env={"BUDWOOD_STORE": secret}).out
        assert SECRET not in told
        assert "BUDWOOD_STORE" in told

    def test_a_run_goes_where_the_variable_says_and_is_found_there(self, budwood: Budwood, secret: str) -> None:
        env = {"DATABASE_URL": secret}
        said = budwood.call("run", budwood.plan(task("a"), task("b", after=["a"])), env=env)
        assert "2 done" in said.err
        assert not budwood.has_store
        assert "plan" in budwood.call("ls", env=env).out
        assert SECRET not in said.err + budwood.call("status", env=env).out

    def test_a_flag_is_enough_and_a_setting_too(self, budwood: Budwood, secret: str) -> None:
        budwood.call("run", budwood.plan(task("a")), "--store", secret)
        (budwood.root / "budwood.toml").write_text(f'[machine]\nstore = "{secret}"\n')
        verified = budwood.call("store", "verify")
        assert "1 run" in verified.out
        assert "all is well" in verified.out
        assert SECRET not in verified.out

    def test_where_there_is_no_store_none_is_made_by_looking(self, budwood: Budwood, secret: str) -> None:
        env = {"DATABASE_URL": secret}
        assert "No runs here yet." in budwood.call(env=env).out
        said = budwood.call("ls", env=env, code=2)
        assert said.err.startswith("error: there is no store at postgresql://budwood@/")
        assert SECRET not in said.err
        doctor = budwood.call("doctor", env=env, code=None).out
        assert "none yet; it will be at postgresql://budwood@" in " ".join(doctor.split())
        assert "(from DATABASE_URL)" in " ".join(doctor.split())
        with pytest.raises(Exception, match="there is no store"):
            open_store(secret, create=False)

    def test_doctor_counts_the_runs(self, budwood: Budwood, secret: str) -> None:
        budwood.call("run", budwood.plan(task("a")), env={"DATABASE_URL": secret})
        doctor = budwood.call("doctor", env={"DATABASE_URL": secret}, code=None).out
        assert "runs: 1" in doctor
        assert SECRET not in doctor


class TestBadDatabases:
    DOWN = f"postgresql://budwood:{SECRET}@127.0.0.1:1/work"

    @pytest.mark.parametrize("words", [(), ("run", "plan.toml"), ("ls",), ("resume", "x"), ("store", "verify")])
    def test_one_that_is_down_is_an_error_at_once(self, budwood: Budwood, words: tuple[str, ...]) -> None:
        budwood.plan(task("a"))
        said = budwood.call(*words, env={"DATABASE_URL": self.DOWN}, code=4)
        assert "error: postgresql://budwood@127.0.0.1:1/work does not answer: connection to server at" in said.err
        assert "failed: Connection refused; what was recorded is safe\n\nhint: start the database" in said.err
        assert SECRET not in said.err + said.out

    def test_doctor_says_so_and_looks_at_the_rest(self, budwood: Budwood) -> None:
        said = budwood.call("doctor", env={"DATABASE_URL": self.DOWN}, code=1)
        assert "missing  store" in said.out
        assert "inotify" in said.out
        assert SECRET not in said.out

    def test_a_newer_one_is_left_alone(self, budwood: Budwood, database: str, postgres: Server) -> None:
        budwood.call("run", budwood.plan(task("a")), "--store", database)
        postgres.ask("UPDATE budwood.meta SET value = '99'", database=name_of(database))
        said = budwood.call("run", "plan.toml", "--store", database, code=2)
        assert "was written by a newer budwood" in said.err
        assert "pip install --upgrade budwood" in said.err

    def test_one_that_goes_away_for_a_while_is_waited_for_and_who_watches_is_told(
        self, budwood: Budwood, database: str, postgres: Server
    ) -> None:
        driver = budwood.start("run", budwood.plan(task("a", HELD), task("b", after=["a"])), "--store", database)
        budwood.wait_began("a")
        postgres.stop()
        budwood.let_go()
        wait_for(lambda: budwood.lines("did-a"), what="the attempt to end though nobody can record it")
        assert driver.stderr is not None
        waits = next(line for line in driver.stderr if "waiting" in line)
        assert waits.startswith("waiting for the database: postgresql://budwood@/")
        assert "does not answer" in waits
        postgres.start()
        said = budwood.finish(driver)
        assert said.code == 0, said
        assert "the database is back after" in said.err
        assert "2 done" in said.err
        assert budwood.lines("began-a") == budwood.lines("began-b") == ["1"]


class TestDriving:
    def test_a_second_driver_is_refused_with_the_name_of_the_first(self, budwood: Budwood, database: str) -> None:
        driver = budwood.start("run", budwood.plan(task("a", HELD)), "--store", database)
        budwood.wait_began("a")
        said = budwood.call("run", "plan.toml", "--store", database, code=2)
        assert f"run plan is already driven by pid {driver.pid} on " in said.err
        budwood.let_go()
        assert budwood.finish(driver).code == 0

    def test_a_killed_driver_is_resumed_soon(self, budwood: Budwood, database: str) -> None:
        driver = budwood.start("run", budwood.plan(task("a", HELD), task("b", after=["a"])), "--store", database)
        budwood.wait_began("a")
        send(driver, signal.SIGKILL)
        driver.wait()
        resumed = budwood.start("resume", "plan", "--store", database)
        with open_store(database) as store:
            run = store.runs()[0].id
            wait_for(lambda: store.holder(run) == _holder(resumed.pid), what="the next driver", within_s=12)
            wait_for(lambda: any(isinstance(each.event, AttemptAdopted) for each in store.read(run)), what="adoption")
        budwood.let_go()
        said = budwood.finish(resumed)
        assert said.code == 0, said
        assert "1 adopted" in said.err
        assert budwood.lines("began-a") == ["1"]

    def test_requests_reach_the_driver_and_who_watches_sees_the_end(self, budwood: Budwood, database: str) -> None:
        driver = budwood.start("run", budwood.plan(task("a", HELD), task("b", after=["a"])), "--store", database)
        budwood.wait_began("a")
        watcher = budwood.start("watch", "plan", "--jsonl", "--store", database)
        assert "paused" in budwood.call("pause", "plan", "--store", database).err
        budwood.let_go()
        assert budwood.finish(driver).code == 4
        seen = [msgspec.json.decode(line)["event"] for line in budwood.finish(watcher).out.splitlines()]
        assert {"run_created", "run_paused", "attempt_ended"} <= set(seen)
        assert budwood.call("resume", "plan", "--store", database).code == 0
        assert budwood.lines("began-b") == ["1"]

    def test_what_functions_returned_is_there_for_sql(self, budwood: Budwood, database: str) -> None:
        (budwood.root / "sums.py").write_text("def add(a, b=0):\n    return {'sum': a + b, 'odd': '\\0 \\u241b'}\n")
        calls = "".join(f'[[task]]\nid = {n}\nfunction = "sums:add"\nargs = [{n}]\n' for n in range(3))
        budwood.call("run", budwood.plan(calls), "--store", database)
        with psycopg.connect(database, options="-c search_path=budwood") as connection:
            found = connection.execute("SELECT task, result ->> 'sum', result ->> 'odd' FROM results ORDER BY task")
            assert found.fetchall() == [(str(n), str(n), "␛0 ␛") for n in range(3)]
        assert budwood.call("store", "verify", "--store", database).code == 0


def _holder(pid: int) -> str:
    return f"pid {pid} on {socket.gethostname()}"


class TestMoving:
    def test_a_run_moves_from_a_file_into_a_database_and_back(
        self, over: Told, there: Path, secret: str, tmp_path: Path
    ) -> None:
        file = over.root / ".budwood" / "store.db"
        before = [call(*words, cwd=over.root).raw for words in READS]
        ran = call("store", "import", str(file), "--store", secret, cwd=there)
        assert (ran.code, ran.out) == (0, "")
        for words, said in zip(READS, before, strict=True):
            assert call(*words, "--store", secret, cwd=there).raw == said
        assert call("store", "verify", "--store", secret, cwd=there).code == 0
        refused = call("retry", "night", cwd=over.root)
        assert refused.code == 4
        assert "was moved to postgresql://budwood@/" in refused.err
        assert SECRET not in refused.err + ran.err + call("status", cwd=over.root).out

        back = call("store", "import", secret, "--run", "night", cwd=over.root)
        assert back.code == 0
        assert SECRET not in back.err
        for words, said in zip(READS, before, strict=True):
            assert call(*words, cwd=over.root).raw == said
        assert call("store", "verify", cwd=over.root).code == 0
        assert "was moved to" in call("retry", "night", "--store", secret, cwd=there).err
        with open_store(file) as store, open_store(secret) as other:
            run = store.runs()[0].id
            assert store.moved_to(run) is None
            assert fold(store.read(run)).counts == fold(other.read(run)).counts

    def test_an_exported_run_goes_through_a_pipe_into_a_database(self, over: Told, there: Path, database: str) -> None:
        exported = call("store", "export", "night", cwd=over.root).raw
        assert call("store", "import", "-", "--store", database, cwd=there, stdin=exported).code == 0
        assert call("store", "export", "night", "--store", database, cwd=there).raw == exported
