"""Any program as an agent: what the configuration names as `command` and `args`.

The prompt reaches it where `{prompt_file}` stands in its words (the path) or `{prompt}` (the text), else on standard
input; the path is also in BUDWOOD_PROMPT_FILE. `{model}` and `{state_dir}` stand for the task's model and a directory
for files. Its exit code is its word. Lines of its output count as notices of a limit only from their first word on, and
beside exit code 0 only the last line does.
Knows words and placeholders; must not know which program it is.
"""

import re

import msgspec

from budwood.agents.base import AS_IT_COMES, Ability, Assignment, Launch, Overrides, Tokens
from budwood.agents.judging import Told
from budwood.agents.program import Program
from budwood.agents.records import plain
from budwood.errors import InternalError, UsageError

_PLACE = re.compile(r"\{(prompt_file|prompt|model|state_dir)\}")
_WORD_BYTES = 128 * 1024 - 1
"""Linux takes no longer word, whatever the limit of all together is; one byte ends it."""


class Command(Program):
    """A program that somebody else wrote."""

    name = "command"
    account = "command"
    program = ""
    abilities = frozenset((Ability.MODEL,))

    def __init__(self, overrides: Overrides = AS_IT_COMES) -> None:
        if not overrides.command:
            raise UsageError("agent command has no program", hint='name it: command = ["my-agent", "{prompt_file}"]')
        super().__init__(overrides)

    @property
    def version_argv(self) -> tuple[str, ...]:
        """Name the program alone: one that does not know --version would begin to work."""
        return self.overrides.command[:1]

    def arrange(self, assignment: Assignment) -> Launch:
        """Hand over the prompt on standard input; `launch` takes that back where a word asks for it."""
        env = {"BUDWOOD_PROMPT_FILE": str(assignment.prompt_file)}
        return Launch(argv=self.overrides.command[:1], env=env, stdin=assignment.prompt_file)

    def launch(self, assignment: Assignment) -> Launch:
        """Fill in the words, each once, so that nothing in a prompt is filled in again."""
        whole = super().launch(assignment)
        asked = {name for word in whole.argv for name in _PLACE.findall(word)}
        argv = tuple(_PLACE.sub(lambda match: _filling(match[1], assignment), word) for word in whole.argv)
        if "prompt" in asked:
            _check_words(argv)
        return msgspec.structs.replace(
            whole, argv=argv, stdin=None if asked & {"prompt", "prompt_file"} else assignment.prompt_file
        )

    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Take its exit code for its word."""
        lines = [plain(line) for line in re.split(r"[\r\n]+", output.decode("utf-8", "replace"))]
        lines = [line for line in lines if line]
        if exit_code == 0:
            return Told(success=True, answer=lines[-1] if lines else "")
        why = next((line for line in reversed(lines) if any(map(str.isalnum, line))), "")  # not the frame around it
        return Told(success=None if exit_code is None else False, message=why, errors=tuple(lines), whole_only=True)


def _filling(name: str, assignment: Assignment) -> str:
    if name == "prompt":
        if assignment.prompt is None:
            raise InternalError("the text of the prompt was not given to an agent that takes it as an argument")
        return assignment.prompt
    return {
        "prompt_file": str(assignment.prompt_file),
        "model": assignment.model or "",
        "state_dir": str(assignment.state_dir),
    }[name]


def _check_words(argv: tuple[str, ...]) -> None:
    for word in argv:
        size = len(word.encode("utf-8", "surrogateescape"))
        if size > _WORD_BYTES or "\0" in word:
            what = (
                f"has {size} bytes, and one word may have {_WORD_BYTES}" if size > _WORD_BYTES else "holds a zero byte"
            )
            raise UsageError(
                f"the prompt does not fit into an argument of {argv[0]}: it {what}",
                hint="write {prompt_file} instead of {prompt}, or neither and read standard input",
            )
