"""An agent that solves one kind of conflict: where both sides added lines to a list, it keeps the lines of both.

It gives up on anything about pages, which a person is to look at.
"""

import os
import re
import sys
from pathlib import Path

CONFLICT = re.compile(r"<{7}[^\n]*\n(.*?)={7}\n(.*?)>{7}[^\n]*\n", re.DOTALL)


def main() -> int:
    """Solve what is there; fail if that is too hard."""
    prompt = Path(os.environ["BUDWOOD_PROMPT_FILE"]).read_text()
    for name in re.findall(r"^- (.+)$", prompt, re.MULTILINE):
        file = Path(name)
        if not file.is_file():
            continue
        text = file.read_text()
        if "page" in "".join(ours + theirs for ours, theirs in CONFLICT.findall(text)):
            print("pages are a matter of taste: a person should look at this")
            return 1
        file.write_text(CONFLICT.sub(r"\2\1", text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
