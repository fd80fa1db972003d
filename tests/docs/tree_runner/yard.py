"""What trials of the tree runner's page stand on: one search that has ended, and plans beside it."""

from pathlib import Path

import msgspec
from tests.docs.trials import Trials
from tests.search.grove import Grove
from tests.workshop.site import toml

from budwood._core.scores import Scoring
from budwood.project.planned import Planned, read_planned

CHECK = 'case "$BUDWOOD_RUN" in plan*) ;; *) exit 1 ;; esac'
PAGE: "Trials[Yard]" = Trials("docs/how-to/coming-from-tree-runner.md")


class Yard:
    """One search that has ended, which trials look at, and plans that they try beside it."""

    def __init__(self, root: Path) -> None:
        self.grove = Grove(root)
        self.grove.ideas(a="worth 1", b="never succeed")
        self.grove.beam(options={"max_depth": 2, "one_depth": True}, check=CHECK)
        self.before = self.ideas()
        self.grove.call("run", "plan.toml", code=4)  # after the first depth; a trial lets it go on

    def ideas(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.grove.root / "ideas").iterdir()}

    def planned(self, run: dict[str, object] | None = None, options: dict[str, object] | None = None) -> Planned:
        """Read a plan as a run would."""
        keys = {"strategy": "beam", "agent": "worker", "score": "echo 1", **(run or {})}
        chosen = {"ideas": "ideas", **(options or {})}
        lines = ["[run]", *(f"{key} = {toml(value)}" for key, value in keys.items()), "[run.options]"]
        lines += (f"{key} = {toml(value)}" for key, value in chosen.items())
        (self.grove.root / "try.toml").write_text("\n".join(lines) + "\n")
        return read_planned(str(self.grove.root / "try.toml"), {})

    def search(
        self,
        name: str,
        options: dict[str, object],
        *,
        code: int = 0,
        env: dict[str, str] | None = None,
        **given: object,
    ) -> None:
        """Run a search of one depth; ideas are the keys of one letter."""
        folder = self.grove.root / f"ideas-{name}"
        folder.mkdir()
        for letter in [key for key in given if len(key) == 1]:
            (folder / f"{letter}.md").write_text(f"{given.pop(letter)}\n")
        chosen = {"ideas": folder.name, "max_depth": 1, **options}
        file = self.grove.beam(options=chosen, file=f"{name}.toml", **given)
        self.grove.call("run", file, code=code, env=env)

    def scoring(self, score: object) -> Scoring:
        """Read a score as a run would."""
        return msgspec.convert(self.planned({"score": score}).options["scoring"], Scoring)
