"""What one step sees, as words for bwrap: everything else is not there.

Paths are the same inside and outside, but for /tmp and the home directory, which are the attempt's own. Knows bwrap's
options. Must not look at the machine beyond what kind of file a path is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from budwood.sandbox.bwrap import ROOM
from budwood.sandbox.machine import TOP

TMP = Path("/tmp")
TEMPORARY = (TMP, Path("/var/tmp"))
"""Where programs put what is temporary, asked or not."""
_READ, _WRITE, _EMPTY = "--ro-bind-try", "--bind", "--tmpfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a step sees of this machine, and what of it it may change. What lies deeper counts."""

    reads: tuple[Path, ...] = ()
    """May be missing."""
    writes: tuple[Path, ...] = ()
    guarded: tuple[Path, ...] = ()
    """Read-only inside of what may be changed; may be missing."""
    sealed: tuple[Path, ...] = ()
    """Empty and read-only but for what else is named of it: what is written there by mistake shall not seem to be."""
    tmp: Path
    """What is /tmp inside, and /var/tmp."""
    home: Path
    own_home: Path
    """What the home directory is inside."""
    cwd: Path
    devices: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    network: bool
    """Whether it has the machine's own."""


def bwrap_words(view: View) -> tuple[str, ...]:
    """Write the options for bwrap; the program is the caller's to add."""
    return tuple(
        word
        for words in (
            ROOM if view.network else (*ROOM, "--unshare-net"),
            *_bases(),
            *_mounts(view),
            *(("--remount-ro", str(path)) for path in view.sealed),
            *(("--dev-bind", str(path), str(path)) for path in view.devices),
            *(("--setenv", name, value) for name, value in view.env.items()),
            ("--chdir", str(view.cwd)),
        )
        for word in words
    )


def places(view: View) -> Iterator[Path]:
    """List where in the attempt's own directories something is mounted, as they lie outside."""
    own = {view.home: view.own_home, **dict.fromkeys(TEMPORARY, view.tmp)}
    for path in (*view.reads, *view.writes, *view.guarded, *view.sealed):
        for root, outside in own.items():
            if path != root and path.is_relative_to(root):
                yield outside / path.relative_to(root)


def _bases() -> Iterator[tuple[str, ...]]:
    yield "--proc", "/proc"
    yield "--dev", "/dev"
    for name in TOP:
        path = Path(name)
        if path.is_symlink():
            yield "--symlink", str(path.readlink()), name
        elif path.exists():
            yield "--ro-bind", name, name


def _mounts(view: View) -> Iterator[tuple[str, ...]]:
    """Mount from the top down: what lies deeper comes later, and covers."""
    mounts = dict.fromkeys(TEMPORARY, (_WRITE, view.tmp))
    if view.home != Path("/"):
        mounts[view.home] = (_WRITE, view.own_home)
    mounts |= {path: (_EMPTY, path) for path in view.sealed}
    mounts |= {path: (_READ, path) for path in view.reads if path not in view.sealed}
    mounts |= {path: (_WRITE, path) for path in view.writes}
    mounts |= {path: (_READ, path) for path in view.guarded}
    for target in sorted(mounts, key=lambda path: path.parts):
        option, source = mounts[target]
        # What is there with a directory above needs no mount of its own, and as a link could have none.
        if option == _EMPTY:
            yield option, str(target)
        elif option != _READ or _above(target, mounts) != _READ:
            yield option, str(source), str(target)


def _above(target: Path, mounts: Mapping[Path, tuple[str, Path]]) -> str | None:
    return next((mounts[parent][0] for parent in target.parents if parent in mounts), None)
