"""How these tests make calls: a project with one module, a driver's place with a local executor, real workers.

`python -m tests.executors.calling ROOT FUNCTION` makes one call in a process of its own, which says when it runs.
"""

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
from tests.executors.looks import wait_for
from tests.support.scene import RUNTIME

from budwood._core.model import AttemptPhase, Outcome
from budwood.executors.base import Call, Executor, Work
from budwood.executors.local import LocalExecutor, RunPaths, Tokens, find_binary, make_runtime
from budwood.testing.executor_calls import result_of
from budwood.testing.executor_world import Post

MODULE = "work"
GRACE_S = 3.0
"""Between TERM and KILL, for who must do something in between."""
SURVIVES_TERM = """
def survive_term():
    signal.signal(signal.SIGTERM, lambda *_: open("termed", "w").close())
"""


class Shop:
    """A project whose functions are called; what it is asked of a world is an executor."""

    def __init__(self, root: Path, *, tokens: tuple[Path, int] | None = None) -> None:
        self.root = root
        self.run_id = "k" + hashlib.sha256(str(root).encode()).hexdigest()[:9]
        self.paths = RunPaths(root / ".budwood", runtime=make_runtime(RUNTIME, self.run_id))
        self.made = 0
        self._tokens = tokens

    def executor(self) -> Executor:
        """Make the executor of one more driver."""
        tokens = self._tokens
        return LocalExecutor(
            self.paths,
            run_id=self.run_id,
            binary=find_binary(),
            environ=os.environ,
            tokens=None if tokens is None else lambda loop: Tokens(tokens[0], tokens[1], loop=loop),
        )

    def write(self, text: str, *, module: str = MODULE) -> None:
        """Write a module of the project."""
        (self.root / f"{module}.py").write_text(text)

    def work(self, function: str, *args: object, **kwargs: object) -> Work:
        """Describe a call of a function of the module."""
        self.made += 1
        name = function if ":" in function else f"{MODULE}:{function}"
        return Work(
            id=f"{self.made}.1",
            slot=0,
            call=Call(function=name, args=args, kwargs=kwargs, python=sys.executable),
            cwd=str(self.root),
            env={"BUDWOOD_RUN": "shop", "BUDWOOD_TASK": f"t{self.made}", "BUDWOOD_ATTEMPT": "1"},
            grace_s=0.5,
        )

    def survivors(self) -> list[int]:
        """List processes of the shop's workers that live, found by their mark."""
        mark = f"BUDWOOD_MARK={self.run_id}:".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if any(part.startswith(mark) for part in path.read_bytes().split(b"\0")):
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found


class Desk(Post):
    """A driver's place at which calls are made one by one."""

    def __init__(self, shop: Shop, fence: int = 1) -> None:
        super().__init__(shop, fence)  # type: ignore[arg-type]  # all that a post asks of its world is an executor
        self.shop = shop

    def outcome(self, work: Work) -> Outcome:
        """Make a call and wait for its end."""
        self.executor.start(work)
        return self.end_of(work.id)

    def call(self, function: str, *args: object, **kwargs: object) -> Outcome:
        """Make a call by name and wait for its end."""
        return self.outcome(self.shop.work(function, *args, **kwargs))

    def result(self, function: str, *args: object, **kwargs: object) -> object:
        """Make a call that succeeds; return what it returned."""
        return result_of(self.call(function, *args, **kwargs))

    def changed(self, work: Work, **changes: object) -> Outcome:
        """Make a call with other limits."""
        return self.outcome(msgspec.structs.replace(work, **changes))

    def python(self, work: Work, python: str) -> Outcome:
        """Make a call in another interpreter."""
        assert work.call is not None
        return self.changed(work, call=msgspec.structs.replace(work.call, python=python))

    def outlast_limit(self) -> None:
        """Make a short call whose limit comes when it is over: nobody turns the loop, so nobody lifts the limit.

        Its worker had TERM then, survives it (`SURVIVES_TERM`), and takes the next call with `GRACE_S`.
        """
        work = partial(msgspec.structs.replace, grace_s=GRACE_S)
        termed = self.shop.root / "termed"
        self.outcome(work(self.shop.work("survive_term")))  # from here on the worker is there
        for _ in range(20):  # the turn that brings the answer may lift the limit as well, where the machine is slow
            termed.unlink(missing_ok=True)
            ended = self.outcome(work(self.shop.work("survive_term"), timeout_s=0.5))
            with suppress(AssertionError):
                wait_for(termed.exists, within_s=1.5)
                if ended.phase is AttemptPhase.SUCCEEDED:
                    return
        raise AssertionError("no limit came after its call")

    @property
    def last_log(self) -> bytes | None:
        """Return what the last call printed."""
        return self.endings[-1][2]


@contextmanager
def at_desk(shop: Shop, fence: int = 1) -> Iterator[Desk]:
    """Open a desk and leave it in good order; nothing may be left then."""
    desk = Desk(shop, fence)
    try:
        yield desk
    finally:
        desk.executor.close()
        desk.loop.close()
    deadline = time.monotonic() + 15
    while shop.survivors() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert shop.survivors() == []


def main() -> None:
    """Make one call and say when it has begun; then wait for its end."""
    desk = Desk(Shop(Path(sys.argv[1])))
    desk.begin(desk.shop.work(sys.argv[2]))
    print("begun", flush=True)
    desk.end_of("1.1")
    desk.executor.close()


if __name__ == "__main__":
    main()
