"""Tasks asked for while a run goes on, as an agent or a person asks: by a request that its driver answers."""

import secrets
from pathlib import Path

import msgspec
from tests.cli.world import wait_for

from budwood.engine.creating import created_id
from budwood.engine.wanted import NewTask
from budwood.project.find import find_run
from budwood.stores import open_store


def create(root: Path, name: str, /, **keys: object) -> str:
    """Let a task join a run that is driven in a project; return its id."""
    body = msgspec.json.encode(NewTask(**keys)).decode()  # type: ignore[arg-type]
    with open_store(root / ".budwood" / "store.db", create=False) as store:
        row = find_run(store, name)
        asked = store.ask(row.id, "create", body=body, key=secrets.token_hex(8))
        wait_for(lambda: store.request(row.id, asked.id).state != "pending", what="an answer")
        answered = store.request(row.id, asked.id)
    assert answered.state == "taken", answered.answer
    return created_id(answered.answer)
