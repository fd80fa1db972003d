"""Settings of the machine, for all runs."""

from budwood.settings import kinds
from budwood.settings.keys.key import Key, Scope

MACHINE = (
    Key(
        name="machine_slots",
        kind=kinds.whole(1, high=4096),
        default_doc="no cap",
        scope=Scope.MACHINE,
        doc="How many attempts of all runs together may run at once on this machine.",
        example="16",
    ),
    Key(
        name="store",
        kind=kinds.SOME_TEXT,
        default_doc=".budwood/store.db",
        scope=Scope.MACHINE,
        field="",
        flag="--store",
        doc="Where events live.",
        example='"/var/lib/budwood/store.db"',
    ),
    Key(
        name="pool",
        kind=kinds.TEXT,
        default="",
        default_doc="in the state directory of the user",
        scope=Scope.MACHINE,
        doc="Where workspaces lie; never inside a repository.",
        example='"/mnt/fast/budwood"',
    ),
)
