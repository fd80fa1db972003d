"""Which file system a path is on: locks and shared memory cannot be trusted on one that comes over a network.

Parsing is pure; only `file_system_of` looks at this machine.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from budwood.errors import StoreUnwritable

NETWORK = frozenset(
    {"9p", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs", "gfs2", "glusterfs", "gpfs", "lustre"}
    | {"ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb", "smb2", "smb3", "smbfs", "vboxsf", "vmhgfs"}
    | {"webdav"}
)
NETWORK_FUSE = frozenset(
    {"ceph", "ceph-fuse", "curlftpfs", "davfs2", "gcsfuse", "glusterfs", "goofys", "juicefs", "rclone", "s3fs", "sshfs"}
    | {"vmhgfs-fuse"}
)
"""What stands behind the dot in the type of a file system that a program serves, as in fuse.sshfs."""


def is_network(file_system: str) -> bool:
    """Tell whether a file system of this type comes over a network, or from another kernel."""
    kind, _, behind = file_system.lower().partition(".")
    return kind in NETWORK or (kind in ("fuse", "fuseblk", "macfuse", "osxfuse") and behind in NETWORK_FUSE)


def mounts_of(mountinfo: str) -> list[tuple[str, str]]:
    """Read mount points and their types out of the text of /proc/self/mountinfo."""
    found = []
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if "-" in fields and len(fields) > 5:
            found.append((_unescaped(fields[4]), fields[fields.index("-") + 1]))
    return found


def file_system_at(path: str, mounts: Iterable[tuple[str, str]]) -> str:
    """Return the type at the longest mount point above the path; of equal ones the last lies over the others."""
    best, kind = -1, ""
    for point, type_ in mounts:
        above = point.rstrip("/") + "/"
        if (path + "/").startswith(above) and len(above) >= best:
            best, kind = len(above), type_
    return kind


def file_system_of(directory: Path) -> str:
    """Ask this machine; empty where it does not tell."""
    path = os.path.realpath(directory)
    table = Path("/proc/self/mountinfo")
    if table.exists():
        # Mount points are bytes of any encoding.
        return file_system_at(path, mounts_of(table.read_text(errors="surrogateescape")))
    import psutil

    return file_system_at(path, [(part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)])


def refuse_network(path: Path, file_system: str) -> None:
    """Raise where a store could not promise anything."""
    if is_network(file_system):
        raise StoreUnwritable(
            f"{path} is on a network file system ({file_system}), where SQLite's locks cannot be trusted",
            hint="put the store on a local disk with --store PATH, or use PostgreSQL",
        )


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)
