"""What is said of a sandbox: at the start of a run, of a run that is looked at, and of this machine.

Knows settings and what of bwrap is here. Must not start anything but a try of bwrap, nor load agents for few words.
"""

from collections.abc import Iterator

from budwood._core.model import RunSettings
from budwood.cli.checkup import Finding
from budwood.cli.text import at_home, one_line
from budwood.project.place import Project
from budwood.project.words import counted, some

_SHOWN = 6


def sandbox_words(settings: RunSettings) -> str:
    """Say in a few words what keeps the attempts of a run in."""
    if settings.sandbox == "none":
        return "none"
    network = settings.network if isinstance(settings.network, str) else some(settings.network, _SHOWN)
    return f"{settings.sandbox}, network: {network}"


def sandbox_lines(settings: RunSettings, project: Project) -> Iterator[str]:
    """Say what attempts can change, and what the sandbox does not keep them from."""
    more = [one_line(name) for name in settings.sandbox_write]
    writes = some(["their workspace", "a /tmp and a home directory of their own", *more], _SHOWN)
    yield f"sandbox: {sandbox_words(settings)}; attempts change nothing but {writes}"
    yield f"the sandbox does not keep them from: {'; '.join(unenforced(settings, project))}"
    terms = settings.workspace
    if settings.network != "all" and terms is not None and terms.ports:
        ports = counted(terms.ports, "port")
        yield f"{ports} for each attempt: only the attempt itself reaches what listens there, as its network is its own"


def unenforced(settings: RunSettings, project: Project) -> Iterator[str]:
    """List what is not kept, in words."""
    from budwood.project.sandbox import agent_writes

    if settings.network == "all":
        yield "sending what they read anywhere, and reaching servers of this machine (network is all)"
    elif settings.network != "none":
        yield "sending what they read to the hosts of network"
    for name, paths in agent_writes(settings, project).items():
        if paths:
            yield f"changing {some([at_home(str(path)) for path in paths])}, where {name} has its login and its memory"
    if settings.mcp:
        yield "asking things of their run (mcp)"
    yield "using processors, memory and disk as any program does"


def sandbox(project: Project) -> Finding:
    """Look whether attempts could be kept in here."""
    from budwood.project.sandbox import INSTALL
    from budwood.sandbox import find_bwrap

    found = find_bwrap(project.environ.get("PATH", ""))
    if found.path is None:
        return Finding(
            name="sandbox", state="absent", text=f'{found.problem}: sandbox = "bwrap" cannot be had', fix=INSTALL
        )
    if found.problem:
        fix = "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000)"
        return Finding(name="sandbox", state="warning", text=found.problem, fix=fix)
    text = f'bwrap {found.version} at {found.path}: sandbox = "bwrap" works'
    return Finding(name="sandbox", state="ok", text=text)
