"""An agent without a model: does the edits that an idea names, and fails if one does not fit.

>>> in pack.py, replace
REACH = 0.2
>>> by
REACH = 0.02
>>> end
"""

import re
import sys
from pathlib import Path

EDIT = re.compile(r"^>>> in (\S+), replace\n(.*?)^>>> by\n(.*?)^>>> end$", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Read the idea from standard input."""
    edits = EDIT.findall(sys.stdin.read())
    if not edits:
        sys.exit("the idea names no edit")
    for name, before, after in edits:
        file = Path(name)
        text = file.read_text()
        if text.count(before) != 1:
            sys.exit(f"{name} has this {text.count(before)} times, not once: {before.strip()!r}")
        file.write_text(text.replace(before, after))
        print(f"edited {name}")


if __name__ == "__main__":
    main()
