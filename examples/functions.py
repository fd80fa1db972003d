"""Python functions as tasks: what waits for what, results, and a failure with its traceback.

    python examples/functions.py

Expect: exit code 0; 7 done, 1 failed, 1 skipped (a word that is no number).
"""

import budwood


@budwood.task(retries=1, timeout="30s")
def count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


@budwood.task
def number(text: str) -> int:
    """Read a number."""
    return int(text)


@budwood.task
def note(what: str) -> str:
    """Say something; runs when what it comes after is done."""
    return f"{what} are counted"


def main() -> None:
    """Run all, and tell how it went."""
    texts = ["one", "one two", "one two three", "a b c d", "e f g h i"]
    counts = [count.task(text) for text in texts]
    last = note.options(id="last", after=counts).task("texts")
    seven, lucky = number.options(id="seven").task("7"), number.options(id="lucky").task("seven")
    never = note.options(id="never", after=[lucky]).task("numbers")
    run = budwood.start([*counts, last, seven, lucky, never], name="functions", backoff="10ms")
    verdict = run.wait()
    print(*(f"{verdict.counts[state]} {state}" for state in ("done", "failed", "skipped")), sep=", ")
    print("words:", sum(int(str(run.result(task.id))) for task in counts), "-", run.result("last"))
    for result in run.results():
        if result.error is not None:
            print(f"{result.task}: {result.error.message}")


if __name__ == "__main__":
    main()
