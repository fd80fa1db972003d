"""Random histories of lanes: one base, and from it lines that change, add, delete and rename files.

Knows git's fast-import; must not know how lanes are merged.
"""

import subprocess
from pathlib import Path
from random import Random

Files = dict[str, tuple[str, str]]
"""By path, its mode and its text."""
PLAIN, PROGRAM, LINK = "100644", "100755", "120000"
_LINES = 14


class Histories:
    """A repository that gets new histories."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "somebody")
        self.git("config", "user.email", "somebody@host")
        self._mark = 0

    def git(self, *words: str, stdin: str = "", codes: tuple[int, ...] = (0,)) -> str:
        """Give a git command."""
        done = subprocess.run(["git", *words], cwd=self.root, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode in codes, (words, done.stderr)
        return done.stdout.strip()

    def make(self, chance: Random) -> tuple[str, list[str]]:
        """Make a base and two to ten lanes; return their commits."""
        base = {f"{chance.choice(['', 'a/', 'a/b/', 'c/'])}f{n}": (PLAIN, _text(chance)) for n in range(8)}
        stream, names = [self._commit(base, parent=None)], []
        first = self._mark
        for _ in range(chance.randint(2, 10)):
            files, parent = dict(base), first
            for _ in range(chance.randint(1, 3)):
                _change(files, chance)
                stream.append(self._commit(files, parent=parent))
                parent = self._mark
            names.append(parent)
        marks = self.root / ".git" / "marks"
        self.git("fast-import", "--quiet", "--force", f"--export-marks={marks}", stdin="".join(stream))
        commits = dict(line.split(" ") for line in marks.read_text().splitlines())
        return commits[f":{first}"], [commits[f":{name}"] for name in names]

    def _commit(self, files: Files, *, parent: int | None) -> str:
        self._mark += 1
        lines = [f"commit refs/made/{self._mark}\nmark :{self._mark}\n"]
        lines.append(f"committer somebody <somebody@host> {1700000000 + self._mark} +0000\ndata 4\nmade\n")
        if parent is not None:
            lines.append(f"from :{parent}\n")
        lines.append("deleteall\n")
        for path, (mode, text) in files.items():
            lines.append(f"M {mode} inline {path}\ndata {len(text)}\n{text}\n")
        return "".join(lines) + "\n"


def _text(chance: Random) -> str:
    return "".join(f"line {n} {chance.randint(0, 3)}\n" for n in range(_LINES))


def _change(files: Files, chance: Random) -> None:
    """Change something, about as often as people do."""
    path = chance.choice(sorted(files))
    mode, text = files[path]
    match chance.choice(["edit"] * 6 + ["add"] * 3 + ["delete", "rename", "mode", "link", "folder"]):
        case "edit":
            lines = text.splitlines(keepends=True)
            lines[chance.randrange(len(lines))] = f"edited {chance.randint(0, 999)}\n"
            files[path] = (mode, "".join(lines)) if mode != LINK else (mode, text)
        case "add":
            files[f"{chance.choice(['', 'a/', 'new/'])}g{chance.randint(0, 30)}"] = (PLAIN, _text(chance))
        case "delete" if len(files) > 2:
            del files[path]
        case "rename":
            files[f"moved/{path.replace('/', '-')}"] = files.pop(path)
        case "mode" if mode != LINK:
            files[path] = (PROGRAM if mode == PLAIN else PLAIN, text)
        case "link":
            files[path] = (LINK, "elsewhere")
        case "folder":
            del files[path]
            files[f"{path}/inside"] = (PLAIN, _text(chance))
    for name in [name for name in files if any(other.startswith(f"{name}/") for other in files)]:
        del files[name]  # a file cannot stand where a folder does
