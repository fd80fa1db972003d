"""What the page on PostgreSQL has one type does what the page says, in the order of the page."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, Shell, samples
from tests.support.server import Server

PAGE = (ROOT / "docs/how-to/postgresql.md").read_text(encoding="utf-8")
TYPED = [line for sample in samples(PAGE) if sample.language == "sh" for line in sample.text.splitlines()]
INSTALLS = "pip install 'budwood[postgres]'"
ADDRESS = "postgresql://me@db.example/work"
PLAN = """
[[task]]
id = "a"
run = "echo all built"
"""


@pytest.fixture
def server(postgres: Server) -> Iterator[Server]:
    """Give a server that knows the people of the page, and forget them and their database afterwards."""
    for name in ("me", "reader"):
        postgres.ask(f"CREATE ROLE {name} LOGIN")
    yield postgres
    postgres.drop("work")
    for name in ("me", "reader"):
        postgres.ask(f"DROP ROLE {name}")


@pytest.mark.slow
@pytest.mark.postgres
def test_everything_that_is_typed_works_and_a_reader_may_read(server: Server, tmp_path: Path) -> None:
    assert TYPED[0] == INSTALLS
    assert ADDRESS in TYPED[2]
    path = os.pathsep.join([str(server.programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    with Shell(tmp_path, {"PATH": path, "PGHOST": str(server.folder), "PGUSER": "postgres"}) as shell:

        def work(command: str) -> list[str]:
            *printed, code = filter(None, shell.run([command, "echo $?"]))
            assert code == "0", (command, printed)
            return printed

        (tmp_path / "night.toml").write_text(PLAN)
        work("touch budwood.toml && budwood run night.toml --store .budwood/store.db")
        printed = [work(line.replace(ADDRESS, server.url("work", user="me"))) for line in TYPED[1:]]
        assert [line.split() for line in printed[-1] if "night" in line] == [
            ["night", "|", "finished", "|", "1", "|", "1", "|", "0"]
        ]
        assert "all built" in (tmp_path / "budwood.sql").read_text()
        work(f"export DATABASE_URL='{server.url('work', user='reader')}'")
        assert any(line.startswith("night  finished") for line in work("budwood ls"))
