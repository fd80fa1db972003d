"""`python -m budwood.agents.model`: one attempt by a model, in the current directory.

Reads the command line and the environment, and prints. The last line of its output is a `Report`.
"""

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from budwood import __version__
from budwood.agents.base import Price
from budwood.agents.model.attempt import AGENT, Order, make_attempt
from budwood.agents.model.endpoint import Endpoint, endpoint_of, is_sendable
from budwood.agents.report import Outcome, Report, finish
from budwood.errors import BudwoodError, UsageError

_SCOPE = ("BUDWOOD_RUN", "BUDWOOD_TASK", "BUDWOOD_ATTEMPT")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint="python -m budwood.agents.model --help")


def main(arguments: Sequence[str]) -> int:
    """Make one attempt; return 0 if its answer was applied, 2 if it was asked for in a wrong way, else 1."""
    endpoint: Endpoint | None = None
    try:
        given = _parser().parse_args(arguments)
        endpoint = endpoint_of(given.base_url, key=os.environ.get(given.api_key_env, "") if given.api_key_env else "")
        report = make_attempt(_order(given, endpoint), root=Path.cwd())
        code = 0 if report.outcome is Outcome.OK else 1
    except BudwoodError as error:
        report, code = Report(agent=AGENT, outcome=Outcome.FAILED, message=_line(error)), error.exit_code
        print(endpoint.hide(report.message) if endpoint else report.message, file=sys.stderr)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        report, code = Report(agent=AGENT, outcome=Outcome.FAILED, message=said), 1
    finish(_hidden(report, endpoint) if endpoint else report)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m budwood.agents.model", allow_abbrev=False, description=__doc__)
    add = parser.add_argument
    add("--prompt-file", type=Path, required=True, metavar="PATH", help="the prompt")
    add(
        "--answer-file",
        type=Path,
        required=True,
        metavar="PATH",
        help="where the answer is kept; if it is there, nothing is asked",
    )
    add("--base-url", required=True, metavar="URL", help="what stands in front of /chat/completions")
    add("--model", required=True, metavar="NAME", help="the model's name at that address")
    add("--api-key-env", metavar="NAME", help="the variable that holds the key; without it none is sent")
    add("--temperature", type=_amount, metavar="N", help="left to the server if not given")
    add("--max-tokens", type=_count, metavar="N", help="left to the server if not given")
    add("--timeout", type=_seconds, default=600.0, metavar="S", help="for the whole call, in seconds (600)")
    add("--price-in", type=_amount, metavar="USD", help="of a million tokens of prompt")
    add("--price-out", type=_amount, metavar="USD", help="of a million tokens of answer")
    add(
        "--price-cached", type=_amount, metavar="USD", help="of a million tokens that were in the cache (as --price-in)"
    )
    add("--files", nargs="+", action="extend", default=[], metavar="GLOB", help="files whose text goes into the prompt")
    add("--version", action="version", version=f"budwood {__version__}")
    return parser


def _order(given: argparse.Namespace, endpoint: Endpoint) -> Order:
    answer_file = given.answer_file.absolute()
    if not answer_file.parent.is_dir():
        raise UsageError(f"--answer-file: there is no folder {answer_file.parent}")
    return Order(
        prompt_file=given.prompt_file,
        answer_file=answer_file,
        model=given.model,
        endpoint=endpoint,
        scope="\0".join([*(os.environ.get(name, "") for name in _SCOPE), str(answer_file)]),
        key_problem=_key_problem(given.api_key_env, endpoint.key),
        files=tuple(given.files),
        temperature=given.temperature,
        max_tokens=given.max_tokens,
        timeout_s=given.timeout,
        price=_price(given),
    )


def _price(given: argparse.Namespace) -> Price | None:
    if given.price_in is None or given.price_out is None:
        return None
    return Price(
        input_per_million=given.price_in,
        output_per_million=given.price_out,
        cached_per_million=given.price_cached,
    )


def _key_problem(name: str | None, key: str) -> str:
    """Say what is wrong with the key, without showing it; empty if nothing is."""
    if name and not key:
        return f"the variable {name}, which should hold the key, is not set or empty"
    if not is_sendable(key):
        return f"the variable {name} holds characters that no key has, such as a line end"
    return ""


def _hidden(report: Report, endpoint: Endpoint) -> Report:
    shown = {
        name: endpoint.hide(said) for name, said in msgspec.structs.asdict(report).items() if isinstance(said, str)
    }
    shown.pop("outcome")
    shown.pop("agent")
    files = tuple(endpoint.hide(file) for file in report.files)
    return msgspec.structs.replace(report, files=files, **shown)


def _line(error: BudwoodError) -> str:
    return error.message if error.hint is None else f"{error.message} ({error.hint})"


def _amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 0")
    return number


def _seconds(text: str) -> float:
    number = _amount(text)
    if not 0 < number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no time of more than 0 s and at most a day")
    return number


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**9):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
