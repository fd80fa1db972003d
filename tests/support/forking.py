"""A process that has loaded the program and forks one of its own for each command; `warm` talks to it.

Run as a file, so that a command finds nothing of the tests on its path.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import socket
import sys
import time


def wait_for_command(asked: socket.socket) -> list[str]:
    """Serve until the other side is gone; return in a process that was forked, with the words of its command."""
    polled = select.poll()
    polled.register(asked, select.POLLIN)
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for fd, _ in polled.poll():
            if fd in running:
                polled.unregister(fd)
                _tell_end(fd, *running.pop(fd))
                continue
            message, fds, _, _ = socket.recv_fds(asked, 1 << 20, 3)
            if not message:
                os._exit(0)
            reply = socket.socket(fileno=fds[2])
            pid = os.fork()
            if pid == 0:
                asked.close()
                for other, (_, theirs) in running.items():
                    os.close(other)
                    theirs.close()
                reply.close()
                return _become(message, fds[:2])
            for given in fds[:2]:
                os.close(given)
            reply.sendall(pid.to_bytes(4, "big"))
            handle = os.pidfd_open(pid)
            running[handle] = (pid, reply)
            polled.register(handle, select.POLLIN)


def _tell_end(handle: int, pid: int, reply: socket.socket) -> None:
    _, status = os.waitpid(pid, 0)
    os.close(handle)
    with reply:
        try:
            reply.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
        except OSError:
            return  # who asked gave up


def _become(message: bytes, outputs: list[int]) -> list[str]:
    """Have the streams, the environment and the directory that a process would have been started with."""
    asked = json.loads(message)
    for number, given in enumerate(outputs, start=1):
        os.dup2(given, number)
        os.close(given)
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    os.chdir(asked["cwd"])
    sys.path[0] = os.getcwd()
    importlib.invalidate_caches()
    words: list[str] = asked["words"]
    return words


if __name__ == "__main__":
    import budwood.cli.commands

    for found in pkgutil.iter_modules(budwood.cli.commands.__path__):
        importlib.import_module(f"budwood.cli.commands.{found.name}")
    importlib.import_module("budwood.cli.beginning")
    gc.collect()
    gc.freeze()
    sys.argv[1:] = wait_for_command(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("budwood", run_name="__main__", alter_sys=True)
