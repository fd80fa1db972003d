"""The calls of `functions.py` as a program makes them that uses budwood from Python.

    python function_api.py CALLS SLOTS

`functions.py` puts it into a fresh directory and takes the time. Workers import it there, as they do with any script.
"""

import sys

import budwood


@budwood.task
def noop(number: int) -> int:
    """Give back what came in."""
    return number


def main() -> None:
    """Make the calls, wait for all of them, and look at every result."""
    calls, slots = int(sys.argv[1]), int(sys.argv[2])
    run = budwood.start((noop.task(number) for number in range(calls)), name="calls", slots=slots)
    run.wait()
    total, wanted = sum(int(str(result.value)) for result in run.results()), sum(range(calls))
    if total != wanted:
        raise SystemExit(f"the results add up to {total}, not to {wanted}")


if __name__ == "__main__":
    main()
