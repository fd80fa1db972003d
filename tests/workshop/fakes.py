"""The fakes of agents, where a run finds them."""

from tests.agents.starting import FAKES, write_python
from tests.workshop.site import Site


def with_fakes(site: Site) -> Site:
    """Put the fakes on the PATH, and let no proxy stand before what they call here."""
    programs = site.root.parent / "programs"
    programs.mkdir()
    write_python(programs)
    site.env["PATH"] = f"{FAKES}:{programs}:{site.env['PATH']}"
    site.env |= {"PYTHONDONTWRITEBYTECODE": "1", "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    return site
