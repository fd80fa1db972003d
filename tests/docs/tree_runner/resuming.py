"""A search of the tree runner that goes on. It changes the search that others look at, and so is tried last."""

from tests.docs.tree_runner.yard import PAGE, Yard


@PAGE.tries(
    "`--resume`",
    "other flags on `--resume` (ignored there)",
    "`--rerun-evals`",
    "`--force-regenerate-ideas`",
    "`--stop-on-empty-frontier`",
)
def of_resuming(yard: Yard) -> None:
    grove = yard.grove
    ran = grove.ledger.read_text()
    plan = grove.root / "plan.toml"
    text = plan.read_text()
    plan.write_text(text + "beam_width = 2\n")
    assert "its beam_width was " in grove.call("run", "plan.toml", code=2).err
    plan.write_text(text)
    grove.call("resume", "plan", "--slots", "2")
    state = grove.state()
    assert (state.settings.slots, state.end_reason) == (2, "empty_frontier")
    assert grove.ledger.read_text() == f"{ran}d2-e0003 1\n"
    said = grove.call("retry", "plan", "d2-e0003", code=None).err
    assert grove.ledger.read_text() == f"{ran}d2-e0003 1\nd2-e0003 2\n", said
    ran = grove.ledger.read_text()
    grove.call("run", "plan.toml", "--again", code=4)
    assert grove.ledger.read_text() == f"{ran}d1-e0001 1\nd1-e0002 1\n"
