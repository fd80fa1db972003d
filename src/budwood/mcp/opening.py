"""Opens what a server needs: the store and the run that are meant, and who asks.

Knows the project and tokens.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from budwood._core.ids import LAST
from budwood.errors import MissingExtra, UsageError
from budwood.mcp.tokens import Bearer, read_bearer
from budwood.project.asking import refuse_moved
from budwood.project.find import find_run
from budwood.project.place import find_project
from budwood.stores import Store, open_store


@contextmanager
def opened(
    environ: Mapping[str, str], *, run: str | None, store: str | None
) -> Iterator[tuple[Store, str, Bearer | None]]:
    """Give the store, the id of the run, and the attempt that asks; an attempt gets its own run and no other."""
    bearer = read_bearer(environ)
    if bearer is not None:
        if store is not None:
            raise UsageError("an attempt knows its store", hint="leave --store out")
        with open_store(bearer.store, create=False) as there:
            if run is not None and find_run(there, run).id != bearer.run:
                raise UsageError(f"this attempt has a token for its own run, not for {run}", hint="leave RUN out")
            yield there, bearer.run, bearer
        return
    project = find_project()
    with project.open_store(project.resolve(flags={"store": store}), create=False) as here:
        row = find_run(here, run or LAST)
        refuse_moved(here, row)
        yield here, row.id, None


def need_sdk() -> None:
    """Refuse where the SDK is not installed."""
    if find_spec("mcp") is None:  # not loaded yet, which takes seconds: what is wrong is said at once
        raise MissingExtra("mcp", needed_for="what speaks MCP (mcp)")
