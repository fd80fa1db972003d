"""The least that Python can do: posix_spawn each command as soon as what it needs is over. Nothing durable."""

import json
import os
import sys
from collections import deque
from pathlib import Path


def main() -> None:
    """Run `[slots, commands, after]` from a JSON file."""
    slots, commands, after = json.loads(Path(sys.argv[1]).read_text())
    waiting = [len(needs) for needs in after]
    dependants: list[list[int]] = [[] for _ in commands]
    for task, needs in enumerate(after):
        for need in needs:
            dependants[need].append(task)
    ready = deque(task for task, count in enumerate(waiting) if count == 0)
    running: dict[int, int] = {}
    while ready or running:
        while ready and len(running) < slots:
            task = ready.popleft()
            running[os.posix_spawn("/bin/sh", ["sh", "-c", commands[task]], os.environ)] = task
        pid, status = os.wait()
        if status:
            raise SystemExit(f"{commands[running[pid]]} failed")
        for dependant in dependants[running.pop(pid)]:
            waiting[dependant] -= 1
            if waiting[dependant] == 0:
                ready.append(dependant)


main()
