"""The environment of an attempt: an allow-list of what programs need, and what the plan names.

Knows names only. Must not read the process's own environment: the caller passes it in.
"""

from collections.abc import Iterable, Mapping

_NAMES = (
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM NO_COLOR CI",
    "XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION UV_CACHE_DIR PIP_CACHE_DIR",
    "PYTHONUTF8 PYTHONIOENCODING LD_LIBRARY_PATH DYLD_LIBRARY_PATH PKG_CONFIG_PATH CC CXX CARGO_HOME RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN GOPATH GOROOT GOCACHE GOMODCACHE GOFLAGS JAVA_HOME MAVEN_HOME GRADLE_USER_HOME",
    "NVM_DIR NVM_BIN NODE_PATH NPM_CONFIG_CACHE PNPM_HOME RBENV_ROOT GEM_HOME GEM_PATH",
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS",
    "http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY",
    "CUDA_HOME CUDA_PATH CUDA_VISIBLE_DEVICES OMP_NUM_THREADS",
)
ALLOWED = frozenset(name for names in _NAMES for name in names.split())


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Keep what every program may see; keys, tokens and whatever else lies about stay out."""
    return {name: value for name, value in environ.items() if name in ALLOWED or name.startswith("LC_")}


def passed(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Pick what a task asks for by name; `NAME*` asks for all that begin so."""
    found: dict[str, str] = {}
    for name in names:
        if name.endswith("*"):
            found.update((key, value) for key, value in environ.items() if key.startswith(name[:-1]))
        elif name in environ:
            found[name] = environ[name]
    return found
