"""Writes a large plan as JSON: tasks that do nothing, in layers, each needing two of the layer before.

    python3 examples/large.py 10000 > large.json
    budwood run large.json

Expect: every task is done; exit code 0. The time per task is what budwood itself costs.
"""

import json
import sys

LAYER = 50


def make_plan(count: int) -> dict[str, object]:
    """Make a plan of that many tasks; the same number gives the same plan."""
    tasks = [{"id": number, "run": ["true"], "after": _needs(number)} for number in range(count)]
    return {"run": {"goal": f"{count} tasks that do nothing"}, "task": tasks}


def _needs(number: int) -> list[int]:
    layer, place = divmod(number, LAYER)
    if layer == 0:
        return []
    before = (layer - 1) * LAYER
    return [before + place, before + (place * 7 + 1) % LAYER] if place != (place * 7 + 1) % LAYER else [before + place]


def main() -> int:
    """Write the plan to standard output."""
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or int(sys.argv[1]) == 0:
        print("usage: python3 examples/large.py NUMBER > large.json", file=sys.stderr)
        return 2
    json.dump(make_plan(int(sys.argv[1])), sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
