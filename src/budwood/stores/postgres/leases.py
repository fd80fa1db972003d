"""A lease: a row with a time limit by the server's clock, and a lock that shows that its holder is there.

The lock hangs on a connection of the holder's own, and the server frees it when that connection ends: so one that was
killed is not waited for. A connection can also be cut while its holder lives, and then it comes back; and a server that
was started after the lease was last renewed has never seen its holder. Where that may be so, only time tells. Knows the
table lease and its locks; must not know commits.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from budwood.errors import LeaseHeld
from budwood.stores.base import Lease, lost, moved_away
from budwood.stores.postgres.connect import Connection
from budwood.stores.postgres.text import escape, restore

LASTS_S = 15
RENEW_EVERY_S = 5.0
COMES_BACK_S = 1.0
"""How long one whose connection was cut may take to come back, while the server is there all the time."""
NOTICED_S = 0.5
"""How long the server may take to notice that a process was killed; until then it seems to be there."""
_LOOK_AGAIN_S = 0.05

# A shared lock, for an instant: two who look at once do not take each other for the holder.
_LOOK = (
    "SELECT fence, presence, holder, moved_to, ends_at > clock_timestamp(), "
    "NOT pg_try_advisory_xact_lock_shared(presence_lock(run, fence, presence)), "
    "renewed_at > pg_postmaster_start_time() AND NOT pg_is_in_recovery() FROM lease WHERE run = %s"
)
_LOCK_ROW = "SELECT FROM lease WHERE run = %s FOR UPDATE"
_RENEWED = f"renewed_at = clock_timestamp(), ends_at = clock_timestamp() + interval '{LASTS_S} seconds'"
_MINE = "WHERE run = %s AND fence = %s AND holder IS NOT NULL"
_TAKE = (
    f"UPDATE lease SET fence = greatest(fence, %s) + 1, presence = 0, holder = %s, {_RENEWED} "
    "WHERE run = %s RETURNING fence"
)
_RENEW = f"UPDATE lease SET {_RENEWED} {_MINE}"
_COME_BACK = f"UPDATE lease SET presence = presence + 1, {_RENEWED} {_MINE} RETURNING presence"
_BE_PRESENT = "SELECT pg_advisory_lock(presence_lock(%s, %s, %s))"
_RELEASE = f"UPDATE lease SET holder = NULL {_MINE}"
# Whoever could not see the first answer may say it again.
_RETIRE = (
    "UPDATE lease SET moved_to = %s, holder = NULL "
    "WHERE run = %s AND fence = %s AND (holder IS NOT NULL OR moved_to = %s)"
)
_READMIT = f"UPDATE lease SET moved_to = NULL {_MINE}"


class Standing(Enum):
    """Whether somebody drives."""

    FREE = auto()
    HELD = auto()
    UNSURE = auto()
    """Its time is not over, but its holder's connection is gone."""


Sign = tuple[int, int, bool]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a lease showed."""

    fence: int
    presence: int
    holder: str | None
    moved_to: str | None
    is_in_time: bool
    is_present: bool
    was_seen: bool
    """Whether this server was there when the lease was last renewed, so that a missing connection means something."""

    @property
    def standing(self) -> Standing:
        """Judge what was seen at this moment."""
        if self.holder is None or not self.is_in_time:
            return Standing.FREE
        return Standing.HELD if self.is_present else Standing.UNSURE

    @property
    def sign(self) -> Sign:
        """What is different when the holder has gone or come back, or another one has come."""
        return self.fence, self.presence, self.is_present


def look(connection: Connection, run: int) -> Seen:
    """Look at a lease."""
    found = connection.execute(_LOOK, (run,)).fetchone()
    assert found is not None
    fence, presence, holder, moved_to, *judged = found
    return Seen(fence, presence, restore(holder), restore(moved_to), *judged)


def settle(look_again: Callable[[], Seen], *, patient: bool, gone: Sign | None = None) -> tuple[Seen, bool]:
    """Wait until it is known whether a lease can be taken; unless `patient`, what only time can tell is no.

    Who was waited for before, and showed this sign then, has not come back if it is the same now.
    """
    seen, since_s = look_again(), time.monotonic()
    if seen.standing is Standing.UNSURE and seen.was_seen and seen.sign == gone:
        return seen, True
    while seen.standing is not Standing.FREE:
        waited_s = time.monotonic() - since_s
        if seen.standing is Standing.HELD and (waited_s >= NOTICED_S or not patient):
            return seen, False
        if seen.standing is Standing.UNSURE and waited_s >= COMES_BACK_S and (seen.was_seen or not patient):
            return seen, seen.was_seen
        time.sleep(_LOOK_AGAIN_S)
        before, seen = seen, look_again()
        if seen.sign != before.sign:
            since_s = time.monotonic()
    return seen, True


def take(connection: Connection, run: int, lease: Lease, *, seen: Seen, back: bool) -> Lease:
    """Take a lease that was seen to be free, on the connection that will show that its holder is there.

    `lease` names run and holder; its fence is the least that the new one must pass.
    """
    with connection.transaction():
        connection.execute(_LOCK_ROW, (run,))
        now = look(connection, run)
        if now.standing is Standing.HELD or (now.standing is Standing.UNSURE and now.sign != seen.sign):
            raise LeaseHeld(lease.run, holder=now.holder or "another")
        if now.moved_to is not None and not back:
            raise moved_away(lease.run, now.moved_to)
        taken = connection.execute(_TAKE, (lease.fence, escape(lease.holder), run)).fetchone()
        assert taken is not None
        # Before anybody can see the new fence: there is no moment at which its holder seems to be gone.
        connection.execute(_BE_PRESENT, (run, taken[0], 0))
    return Lease(lease.run, taken[0], lease.holder)


def come_back(connection: Connection, run: int, lease: Lease) -> None:
    """Show on a new connection that the holder is there; under a new lock, because the server may not have noticed
    that the old connection is gone."""
    with connection.transaction():
        found = connection.execute(_COME_BACK, (run, lease.fence)).fetchone()
        if found is None:
            raise lost(lease)
        connection.execute(_BE_PRESENT, (run, lease.fence, found[0]))


def renew(connection: Connection, run: int, lease: Lease) -> bool:
    """Move the time limit; False if the lease is lost."""
    return connection.execute(_RENEW, (run, lease.fence)).rowcount == 1


def release(connection: Connection, run: int, lease: Lease) -> None:
    """Give it back; harmless if it was lost."""
    connection.execute(_RELEASE, (run, lease.fence))


def retire(connection: Connection, run: int, lease: Lease, *, moved_to: str) -> bool:
    """Say where the run was moved, and give the lease back; False if it is lost."""
    place = escape(moved_to)
    return connection.execute(_RETIRE, (place, run, lease.fence, place)).rowcount == 1


def readmit(connection: Connection, run: int, lease: Lease) -> bool:
    """Let the run be driven here again; False if the lease is lost."""
    return connection.execute(_READMIT, (run, lease.fence)).rowcount == 1
