"""The tables of a plan file's keys: what a [[task]] and a [[lane]] may say.

What may also stand in [run] is taken from the settings' own table. Knows names and kinds; must not read files.
"""

from dataclasses import dataclass

from budwood.settings import KEYS, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanKey:
    """One key of a table in a plan file."""

    name: str
    wants: str
    doc: str
    default: str = "none"
    example: str


_IDS = 'a list of ids: ["a", 7]'

_OWN = (
    PlanKey(
        name="id",
        wants="text or a whole number",
        default="must be given",
        doc='What the task is called; unique by its text, so that 7 and "7" are one id.',
        example='"models"',
    ),
    PlanKey(
        name="run",
        wants="a command: text for the shell, or a list of words",
        doc="The command. Text is run by `/bin/sh -c`; a list is run as it is.",
        example='["pytest", "-q"]',
    ),
    PlanKey(
        name="function",
        wants="module:name of a Python function",
        doc="A function to call instead of a command, in the interpreter that `python` names.",
        example='"shop.prices:update"',
    ),
    PlanKey(
        name="args",
        wants="a list of JSON values",
        default="[]",
        doc="What the function is called with, by position.",
        example='[3, "a"]',
    ),
    PlanKey(
        name="kwargs",
        wants="a table of JSON values",
        default="{}",
        doc="What the function is called with, by name.",
        example="{ deep = true }",
    ),
    PlanKey(name="description", wants="text", doc="What it is about, for people.", example='"Add the models"'),
    PlanKey(name="prompt", wants="text", doc="What an agent is asked to do.", example='"Write the migration."'),
    PlanKey(
        name="prompt_file",
        wants="the path of a text file, from where the plan is",
        doc="A file that holds the prompt.",
        example='"prompts/form.md"',
    ),
    PlanKey(
        name="touches",
        wants='a list of paths or patterns: ["src/api/**"]',
        default="[]",
        doc="What the task will probably change; lanes that touch the same without a dependency are remarked on.",
        example='["src/api/**"]',
    ),
    PlanKey(
        name="after",
        wants=_IDS,
        default="[]",
        doc="Hard dependencies: the task starts when these are done, and is skipped when one of them fails.",
        example='["models"]',
    ),
    PlanKey(
        name="prefer_after",
        wants=_IDS,
        default="[]",
        doc="Soft dependencies: they order what is ready and never leave a slot idle.",
        example='["lint"]',
    ),
    PlanKey(
        name="priority",
        wants="a whole number between -1000000000 and 1000000000",
        default="0",
        doc="Among tasks that are ready the higher one starts first.",
        example="10",
    ),
    PlanKey(
        name="lane",
        wants="the id of a lane",
        doc="Tasks of one lane share one line of history and never run at the same time.",
        example='"api"',
    ),
    PlanKey(
        name="group",
        wants="text that is not empty",
        doc="Tasks of one group run at most as many at once as `groups` in [run] says; 1 if it says nothing.",
        example='"network"',
    ),
    PlanKey(
        name="cpus",
        wants="a number above 0",
        default="not counted",
        doc="Cores that the task needs; all running tasks together never need more than the run has.",
        example="2",
    ),
    PlanKey(
        name="gpus",
        wants="a whole number, 0 or more",
        default="0",
        doc="GPUs that the task needs; it finds them in CUDA_VISIBLE_DEVICES.",
        example="1",
    ),
)

TASK_KEYS: dict[str, PlanKey] = {key.name: key for key in _OWN} | {
    key.name: PlanKey(
        name=key.name,
        wants=key.kind.wants,
        doc=key.doc,
        default=f"that of [run] ({key.shown_default})",
        example=key.example,
    )
    for key in KEYS.values()
    if key.scope is Scope.TASK
}

LANE_KEYS: dict[str, PlanKey] = {
    key.name: key
    for key in (
        PlanKey(
            name="id",
            wants="text or a whole number",
            default="must be given",
            doc="What the lane is called; unique by its text.",
            example='"api"',
        ),
        PlanKey(name="name", wants="text", doc="A longer name, for people and branches.", example='"API: users"'),
        PlanKey(
            name="after",
            wants=_IDS,
            default="[]",
            doc="Lanes of which every task comes before every task of this one.",
            example='["base"]',
        ),
    )
}
