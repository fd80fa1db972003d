"""What `functions.py` and `function_faults.py` call."""

import os
import subprocess
import time
from pathlib import Path


def noop(number: int) -> int:
    """Give back what came in, so that every call has a result of its own."""
    return number


def rest(seconds: float) -> None:
    """Hold a worker, so that somebody can look at it."""
    time.sleep(seconds)


def hang(pids: str) -> None:
    """Start a process and never come back; leave the numbers of both."""
    child = subprocess.Popen(["sleep", "600"])
    Path(pids).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)


def leave_if(number: int, last: int) -> int:
    """Give back what came in, but for one number: that call ends its process."""
    if number == last:
        os._exit(1)
    return number
