"""A real Jupyter kernel for tests: cells are run, interrupted, and what they show is kept."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

WITHIN_S = 60.0


class Cell:
    """What one cell left: what it printed, what it raised, and what each of its displays came to show."""

    def __init__(self) -> None:
        self.text = ""
        self.error = ""
        self.value = ""
        """What its last line is, as text."""
        self.shown: dict[str, list[dict[str, str]]] = {}

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Take a message of the kernel's."""
        if kind == "stream":
            self.text += content["text"]
        elif kind == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
        elif kind == "execute_result":
            self.value = content["data"]["text/plain"]
        elif kind in ("display_data", "update_display_data"):
            self.shown.setdefault(content["transient"].get("display_id", ""), []).append(content["data"])


class Notebook:
    """One kernel in a project."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self._manager = manager
        self._client = client

    def begin(self, code: str) -> str:
        """Start a cell."""
        return str(self._client.execute(code))

    def run(self, code: str) -> Cell:
        """Run a cell to its end."""
        return self.finish(self.begin(code))

    def finish(self, request: str) -> Cell:
        """Take what a cell says until it has ended."""
        cell = Cell()
        until_s = time.monotonic() + WITHIN_S
        while True:
            assert time.monotonic() < until_s, f"the cell did not end: {vars(cell)}"
            message = self._client.get_iopub_msg(timeout=WITHIN_S)
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle" and _parent(message) == request:
                self._client.get_shell_msg(timeout=WITHIN_S)
                return cell
            cell.take(kind, content)

    def interrupt(self) -> None:
        """Press the button that interrupts."""
        self._manager.interrupt_kernel()


def _parent(message: dict[str, Any]) -> str:
    return str(message["parent_header"].get("msg_id", ""))


@contextmanager
def notebook_in(folder: Path, *, home: Path) -> Iterator[Notebook]:
    """Start a kernel in a directory, with a home of its own."""
    hidden = ("BUDWOOD_", "XDG_", "IPYTHON", "JUPYTER", "PYTHONWARNINGS")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    manager = KernelManager()
    manager.start_kernel(cwd=str(folder), env={**env, "HOME": str(home)})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=WITHIN_S)
        yield Notebook(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
