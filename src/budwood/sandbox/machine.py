"""What of this machine programs need in order to run at all: systems, tools, certificates; never a user's own files.

An allow-list: what is not named is not there. Below the home directory only directories of tools are shown, as PATH and
variables name them. Knows directories and names of variables; must not read the environment: it is given.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SYSTEM = ("/usr", "/opt", "/nix", "/gnu", "/snap")
TOP = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links to what is below /usr, or directories of their own."""
_ETC = (
    "alternatives crypto-policies fonts gitattributes gitconfig group host.conf hostname hosts java java-11-openjdk",
    "java-17-openjdk java-21-openjdk ld.so.cache locale.conf localtime lsb-release maven mime.types nsswitch.conf",
    "os-release passwd perl pki/ca-trust pki/tls/certs pki/tls/cert.pem pki/tls/openssl.cnf protocols redhat-release",
    "resolv.conf services ssl/certs ssl/cert.pem ssl/openssl.cnf static timezone xdg zoneinfo",
)
"""Few: each takes a third of a millisecond to mount."""
ETC = tuple(f"/etc/{name}" for names in _ETC for name in names.split())
"""Without what only root reads (passwords, keys of this host), and without addresses that may have a token in them."""
KERNEL = ("/sys/devices/system", "/sys/fs/cgroup", "/run/systemd/resolve", "/run/current-system", "/run/opengl-driver")
DEVICES = ("/dev/nvidia", "/dev/dri", "/dev/kfd")
"""How the devices of GPUs begin."""

_OF_VARIABLES = (
    "VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR NVM_BIN RUSTUP_HOME GOROOT JAVA_HOME MAVEN_HOME RBENV_ROOT GEM_HOME",
    "PNPM_HOME CUDA_HOME CUDA_PATH SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS",
)
_LISTS = ("NODE_PATH", "GEM_PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH")
_BINS = frozenset({"bin", "sbin", "shims", "condabin"})
_PARTS = (
    ".cargo/registry .cargo/git .cargo/config.toml .cargo/env .rustup .local/lib .local/share/claude .local/share/fnm",
    ".local/share/mise .local/share/pipx .local/share/pnpm .local/share/uv .asdf .pyenv .nvm .volta .rbenv .sdkman",
)
TOOLS = tuple(name for names in _PARTS for name in names.split())
"""What tools below the home directory consist of, beside their programs; what holds keys (.cargo itself) is in none."""
_MIXED = frozenset({".local", ".cargo", ".config", "share"})
"""Directories in a home directory that hold other things than tools, too."""
_OF_HOMES = (".ssh", ".profile", ".bashrc")
"""What tells a home directory, whoever's it is."""


@dataclass(frozen=True)
class Machine:
    """This machine, for the programs of one run."""

    environ: Mapping[str, str]
    home: Path
    own: tuple[Path, ...]
    """The interpreter that budwood runs in, and budwood."""
    hidden: tuple[Path, ...]
    """What no directory may be shown for that holds it: the user's checkout, the pool."""

    @cached_property
    def reads(self) -> tuple[Path, ...]:
        """List what every step can read."""
        found = [Path(name) for name in (*SYSTEM, *ETC, *KERNEL)]
        found += (self.home / name for name in TOOLS)
        found += (place for path in self._named() for place in self._shown(path))
        found += (place for path in self.own for place in self._shown(path))
        return tuple(dict.fromkeys(path for path in found if _is_there(path)))

    def program(self, path: Path) -> Iterator[Path]:
        """List what a program needs that lies elsewhere: where it is, and where it really is."""
        for place in (path, path.resolve()):
            yield from self._shown(place.parent)
            if not _is_below(place, (*SYSTEM, *TOP)):
                yield place

    def _named(self) -> Iterator[Path]:
        for folder in self.environ.get("PATH", "").split(":"):
            yield from self._tools(Path(folder))
        for names in _OF_VARIABLES:
            yield from (Path(self.environ[name]) for name in names.split() if self.environ.get(name))
        for name in _LISTS:
            yield from map(Path, self.environ.get(name, "").split(":"))

    def _tools(self, folder: Path) -> Iterator[Path]:
        """List a directory of programs, and the one that it lies in where that is made of tools alone."""
        yield folder
        around = folder.parent
        if folder.name in _BINS and around.name not in _MIXED and not any(_is_there(around / x) for x in _OF_HOMES):
            yield around

    def _shown(self, path: Path) -> Iterator[Path]:
        """Give a path, and where it leads to, unless it is there anyway or would show what is hidden."""
        if not path.is_absolute():  # of wherever somebody stands
            return
        for place in dict.fromkeys((path, path.resolve())):
            if not _is_below(place, (*SYSTEM, *TOP)) and not self._shows_hidden(place):
                yield place

    def _shows_hidden(self, place: Path) -> bool:
        return any(hidden.is_relative_to(place) for hidden in (self.home, *self.hidden))


def gpu_devices(folder: Path = Path("/dev")) -> tuple[Path, ...]:
    """List the devices that GPUs are reached through."""
    if not folder.is_dir():
        return ()
    return tuple(path for path in sorted(folder.iterdir()) if str(path).startswith(DEVICES))


def _is_below(path: Path, folders: Iterable[str]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
