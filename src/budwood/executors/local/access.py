"""What lets an attempt speak for itself: a secret of its run, and the token that is made from it for each attempt.

The file lies beside the run's attempts, readable by its user alone, and tells those who have a token which store the
run is in. Who can read it could make a token for any attempt of that run: it holds agents apart, not users.
"""

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

FILE = "access.json"


class Access(Struct, frozen=True, kw_only=True):
    """How a run is reached from inside its attempts."""

    file: Path
    run: str
    store: str
    """Where its store is, with all that opening it takes; empty where no other process can."""
    secret: str

    def token(self, work_id: str) -> str:
        """Make the token of one attempt: whose it is, and the proof."""
        return f"{self.run}:{work_id}:{self._proof(work_id)}"

    def secrets(self, work_id: str) -> tuple[str, ...]:
        """List what one attempt could print that others must not read: its proof, and what proofs are made with."""
        return self._proof(work_id), self.secret

    def _proof(self, work_id: str) -> str:
        return hmac.digest(self.secret.encode(), f"{self.run}:{work_id}".encode(), "sha256").hex()

    def fits(self, token: str) -> bool:
        """Say whether a token is one of this run's."""
        run, _, rest = token.partition(":")
        work_id = rest.rpartition(":")[0]
        return run == self.run and hmac.compare_digest(self.token(work_id).encode(), token.encode())


class _Stored(Struct, frozen=True, kw_only=True):
    run: str
    store: str
    secret: str


def make_access(run_dir: Path, *, run: str, store: str) -> Access:
    """Write the file, or keep its secret if it is there: attempts that run have tokens made with it."""
    file = run_dir / FILE
    run_dir.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        there = read_access(file)
        if there.store != store:
            _write(file, _Stored(run=run, store=store, secret=there.secret), replace=True)
        return msgspec.structs.replace(there, store=store)
    with suppress(FileExistsError):  # another driver of this run is as far
        _write(file, _Stored(run=run, store=store, secret=secrets.token_hex(32)), replace=False)
    return read_access(file)


def read_access(file: Path) -> Access:
    """Read the file; one that is damaged raises ValueError."""
    stored = msgspec.json.decode(file.read_bytes(), type=_Stored)
    return Access(file=file, run=stored.run, store=stored.store, secret=stored.secret)


def _write(file: Path, stored: _Stored, *, replace: bool) -> None:
    draft = file.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
            out.write(msgspec.json.encode(stored))
        if replace:
            draft.rename(file)
        else:
            os.link(draft, file)  # never over one that is there
    finally:
        draft.unlink(missing_ok=True)
