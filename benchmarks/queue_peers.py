"""Task queues on PostgreSQL at the same work as budwood: each task a row, run once by a shell, its end recorded.

    .venv/bin/python benchmarks/queue_peers.py procrastinate|dbos URL SLOTS COMMANDS.json

Tables are made, all tasks are put in, and so many of them run at once until none is left. For `overhead.py`.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any


def run_command(command: str) -> None:
    """Run one command as the other tools do: in a shell, with as little around it as there can be."""
    pid = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", command], os.environ)
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"{command} failed")


def with_procrastinate(url: str, slots: int, commands: list[str]) -> None:
    """A task each, taken by one process that runs so many at once, each in a thread."""
    from procrastinate import App, PsycopgConnector

    async def work() -> None:
        app = App(connector=PsycopgConnector(conninfo=url))

        run = app.task(run_command)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            given: list[dict[str, Any]] = [{"command": command} for command in commands]
            await run.batch_defer_async(*given)
            await app.run_worker_async(concurrency=slots, wait=False)
            [row] = await app.job_manager.list_queues_async()
            assert row["succeeded"] == len(commands), row

    asyncio.run(work())


def with_dbos(url: str, slots: int, commands: list[str]) -> None:
    """A durable workflow each, run by so many threads of one process; its queues would look only once a second."""
    from dbos import DBOS

    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "max_executor_threads": slots,
            "log_level": "ERROR",
            "run_admin_server": False,
        }
    )
    run = DBOS.workflow()(run_command)
    DBOS.launch()
    try:
        for handle in [DBOS.start_workflow(run, command) for command in commands]:
            handle.get_result()
    finally:
        DBOS.destroy()


PEERS: dict[str, Callable[[str, int, list[str]], None]] = {"procrastinate": with_procrastinate, "dbos": with_dbos}


def main() -> None:
    """Do the work."""
    name, url, slots, file = sys.argv[1:]
    with open(file, encoding="utf-8") as given:
        PEERS[name](url, int(slots), json.load(given))


if __name__ == "__main__":
    main()
