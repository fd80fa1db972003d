"""Which file systems are refused."""

from pathlib import Path

import pytest

from budwood.errors import StoreUnwritable
from budwood.stores.sqlite import SqliteStore
from budwood.stores.sqlite.mounts import file_system_at, file_system_of, is_network, mounts_of

MOUNTINFO = r"""
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
40 22 0:35 / /home rw,relatime shared:20 - nfs4 server:/export/home rw,vers=4.2
41 40 0:36 / /home/ada/local\040disk rw,relatime - xfs /dev/vdb rw
42 22 0:37 / /mnt/win rw shared:3 master:1 - cifs //server/share rw
43 22 0:38 / /mnt/far rw - fuse.sshfs ada@far: rw
44 22 0:39 / /mnt/near rw - fuse.bindfs /dev/vdc rw
45 22 0:40 / /mnt/host rw - 9p hostshare rw
46 22 0:41 / /over rw - nfs server:/x rw
47 46 0:42 / /over rw - tmpfs tmpfs rw
48 22 0:43 / /mnt/grün rw - ext4 /dev/vdd rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "refused"),
    [
        ("/srv/x", "ext4", False),
        ("/home/ada/project", "nfs4", True),
        ("/home/ada/local disk/project", "xfs", False),
        ("/home/ada/local disks", "nfs4", True),
        ("/homestead", "ext4", False),
        ("/mnt/win/a", "cifs", True),
        ("/mnt/far", "fuse.sshfs", True),
        ("/mnt/near/a", "fuse.bindfs", False),
        ("/mnt/host/a", "9p", True),
        ("/over/a", "tmpfs", False),
        ("/mnt/grün/a", "ext4", False),
    ],
)
def test_the_longest_mount_point_decides(path: str, kind: str, refused: bool) -> None:
    assert file_system_at(path, mounts_of(MOUNTINFO)) == kind
    assert is_network(kind) is refused


def test_this_machine_says_where_we_are(tmp_path: Path) -> None:
    assert file_system_of(tmp_path)


def test_a_store_on_a_network_file_system_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match="nfs4") as caught:
        SqliteStore(tmp_path / "new" / "store.db", file_system="nfs4")
    assert "--store" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
