"""The merge queue of a run whose events live in a database, and such a run on its way to a file."""

import psycopg
import pytest
from tests.queue.plans import lane, published, solve
from tests.workshop.site import Site

from budwood._core.replay import fold
from budwood._core.state import RunState
from budwood.stores import open_store

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(300)]


def state_in(address: str) -> RunState:
    """Fold the one run of a store."""
    with open_store(address, create=False) as store:
        [row] = store.runs()
        return fold(store.read(row.id))


def test_lanes_are_merged_and_a_conflict_is_solved_in_a_database_and_after_a_move(site: Site, database: str) -> None:
    made = (lane("x", README__md="by x\n"), lane("y", README__md="by y\n"), lane("z", z__txt="z\n"))
    site.agents(*made, verify="! grep -q broken README.md")
    site.env["DATABASE_URL"] = database
    site.call("run", "plan.toml", code=5)
    assert (published(site, "README.md"), published(site, "z.txt")) == ("by x", "z")
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT batch, tasks FROM budwood.batches").fetchall() == [(1, 3)]

    site.call("store", "export", "plan", "../plan.jsonl")
    del site.env["DATABASE_URL"]
    site.call("store", "import", "../plan.jsonl")
    assert site.state() == state_in(database)
    assert "all is well" in site.call("store", "verify").out
    solve(site, site.state().landing.conflicts["lane y"].path, "README.md", "by x and y\n")
    site.call("resume", "plan")
    assert published(site, "README.md") == "by x and y"
