"""A beam written as a manifest, and that read into another store."""

import json

from tests.cli.world import wait_for
from tests.search.grove import Grove

OTHER = "other.db"


def decisions(grove: Grove, *more: str) -> str:
    return grove.call("show", "plan", "--decisions", *more).out


def there_and_back(grove: Grove) -> dict[str, object]:
    """Write the run as a manifest, and read that into another store."""
    file = grove.root.parent / "exported" / "manifest.json"
    grove.call("store", "export", "plan", "--manifest", str(file))
    said = grove.call("store", "import-manifest", str(file), "--plan", "plan.toml", "--store", OTHER, "--json")
    found: dict[str, object] = json.loads(said.out)
    return found


def states(grove: Grove, *more: str) -> dict[str, object]:
    """Where a run stands, and every task of it."""
    shown = json.loads(grove.call("show", "plan", "--json", *more).out)
    return {"run": shown["run"]["state"], **{task["id"]: (task["state"], task["because"]) for task in shown["tasks"]}}


def cancel_when(grove: Grove, began: str, *words: str) -> None:
    """Begin to drive, and give something up once an attempt has begun."""
    driver = grove.start("run", "plan.toml", "--quiet")
    wait_for(lambda: began in (grove.ledger.read_text() if grove.ledger.exists() else ""), what=began)
    grove.call("cancel", "plan", *words)
    driver.wait(60)
