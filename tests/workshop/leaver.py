"""What an attempt does that leaves all kinds of files and then ends in a certain way: `python leaver.py HOW NUMBER`.

Before it ends it writes down, elsewhere, every byte that lies in its workspace. Standard library only: it is started
two hundred times.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time


def git(*words: str, cwd: str = ".") -> None:
    """Run git as an agent does."""
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


def write(path: str, data: bytes) -> None:
    """Write a file and the folders above it."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def leave(number: int) -> None:
    """Leave files of all kinds, other ones for each number."""
    text = f"{os.environ['BUDWOOD_TASK']} {os.environ['BUDWOOD_ATTEMPT']}\n".encode()
    write("README.md", text)
    write("new/untracked.txt", text * (number + 1))
    write("ignored/cache.bin", bytes(range(256)) + text)
    write("crlf.txt", text.replace(b"\n", b"\r\n") + b"lone\nend\r\n")
    write("some.tmp", b"")
    os.symlink("README.md", "link")
    if number % 2:
        write(".gitattributes", b"*.txt text=auto\n*.bin filter=none ident\n")
    if number % 5 == 1:
        write("vendor/lib/code.c", text)
        git("init", "-q", cwd="vendor/lib")
    if number % 5 == 2:
        write("vendor/lib/code.c", text)
        git("init", "-q", cwd="vendor/lib")
        git("add", "-A", cwd="vendor/lib")
        git("commit", "-qm", "inside", cwd="vendor/lib")
        write("vendor/lib/code.c", text + b"dirty\r\n")
    if number % 5 == 3:
        git("add", "-A")
        git("commit", "-qm", "mine")
        write("after.txt", text)
    if number % 5 == 4:
        subprocess.run(["rm", "-rf", ".git"], check=True)


def look() -> dict[str, str]:
    """Tell every file and link that is there, but for what is in the workspace's own `.git`."""
    found = {}
    for folder, folders, files in os.walk("."):
        if folder == "." and ".git" in folders:
            folders.remove(".git")
        for name in (*files, *(each for each in folders if os.path.islink(os.path.join(folder, each)))):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                data = b"-> " + os.fsencode(os.readlink(path))
            else:
                with open(path, "rb") as file:
                    data = file.read()
            found[os.path.relpath(path)] = hashlib.sha256(data).hexdigest()
    return found


def write_down(found: dict[str, str]) -> None:
    """Say elsewhere what is there, whole or not at all."""
    path = f"{os.environ['LEDGER']}/{os.environ['BUDWOOD_TASK']}.{os.environ['BUDWOOD_ATTEMPT']}.json"
    with open(f"{path}.new", "w") as file:
        json.dump(found, file)
    os.rename(f"{path}.new", path)


def end(how: str) -> int:
    """End in a certain way; what kills others does so in the first attempt only."""
    first = os.environ["BUDWOOD_ATTEMPT"] == "1"
    match how:
        case "failure":
            return 3
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "timeout" | "cancel":
            time.sleep(600)
        case "memory":
            hog = []
            while True:
                hog.append(os.urandom(1 << 24))
        case "supervisor" if first:
            os.kill(supervisor(), signal.SIGKILL)
            time.sleep(600)
        case "driver":
            time.sleep(1)
    return 0


def supervisor() -> int:
    """Find the supervisor above this process."""
    pid = os.getpid()
    while True:
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"budwood-supervisor" in file.read().split(b"\0")[0]:
                return pid


def main() -> int:
    """Leave something and end."""
    how, number = sys.argv[1], int(sys.argv[2])
    leave(number)
    write_down(look())
    return end(how)


if __name__ == "__main__":
    sys.exit(main())
