"""What a model is told: the prompt, the files that it may change, and how an answer has to look.

Knows files of the workspace. Must not know endpoints.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from budwood.agents.model.answers import Unusable
from budwood.agents.model.places import place_of, read_text_file
from budwood.errors import UsageError

MOST_PROMPT_BYTES = 8 * 1024 * 1024
RULES = """\
You change files in a workspace. Answer with edits; what stands between them is only read by people.

To change a file, copy the lines to be replaced exactly, enough of them to occur once in the file:

path/of/file.py
<<<<<<< SEARCH
lines as they are
=======
lines as they shall be
>>>>>>> REPLACE

An empty SEARCH part makes a new file. Several blocks may follow each other, for one file or for several.

To write a file whole, give its path behind the opening of a fenced block. If the text has such fences of its own, open
and close with a longer one:

```python path/of/file.py
all lines of the file
```

To delete a file:

path/of/file.py
<<<<<<< DELETE
>>>>>>> DELETE

Paths are relative to the workspace. Either every edit fits or nothing is written. In files with EVOLVE-BLOCK-START and
EVOLVE-BLOCK-END markers, only text between the markers may change.
"""


def read_prompt(file: Path) -> str:
    """Read the prompt's file; raises UsageError."""
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"the prompt {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the prompt {file} is no UTF-8 text (byte {error.start})") from error
    if not text.strip():
        raise UsageError(f"the prompt {file} is empty")
    return text


def find_files(globs: Sequence[str], *, root: Path) -> tuple[str, ...]:
    """Return the files that the patterns name, each once, in order; a pattern that names none raises UsageError."""
    found: dict[str, None] = {}
    for pattern in globs:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts or not pattern:
            raise UsageError(f"--files {pattern!r} is no pattern inside the workspace")
        try:  # a name with brackets is also its own pattern
            files = [path for path in {*root.glob(pattern), root / pattern} if path.is_file()]
        except ValueError as error:
            raise UsageError(f"--files {pattern!r}: {error}") from error
        names = sorted(path.relative_to(root).as_posix() for path in files)
        if not names:
            raise UsageError(f"--files {pattern!r} names no file", hint="patterns are relative to the workspace")
        found.update(dict.fromkeys(name for name in names if ".git" not in name.split("/")))
    return tuple(found)


def write_prompt(prompt: str, files: Sequence[str], *, root: Path) -> str:
    """Put the text of files behind the prompt; raises UsageError if one cannot be shown, or if it becomes too much."""
    parts = [prompt.rstrip("\n") + "\n"]
    size = len(os.fsencode(prompt))
    for name in files:
        try:
            content = read_text_file(place_of(name, root=root), path=name) or b""
        except Unusable as problem:
            raise UsageError(f"--files: {problem}") from None
        size += len(content)
        if size > MOST_PROMPT_BYTES:
            raise UsageError(f"prompt and files are larger than {MOST_PROMPT_BYTES >> 20} MiB, at {name}")
        text = content.decode().removeprefix("\ufeff")
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
        parts.append(f"\n{fence} {name}\n{text}" + ("" if text.endswith("\n") or not text else "\n") + f"{fence}\n")
    return "".join(parts)
