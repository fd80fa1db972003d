"""The work of an attempt in its workspace: steps, environment, prompt and what is to be masked.

Knows agents and how their programs are started; must not know git, nor how an attempt ended.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec

from budwood._core.ids import safe_name
from budwood._core.model import Left, Reviewer, WorkspaceTerms
from budwood.agents.base import Ability, Agent, Assignment, Launch
from budwood.agents.config import AgentConfig
from budwood.agents.homes import Places, places_of
from budwood.engine.workshop.enclosing import Own, Sandbox
from budwood.engine.workshop.orders import Order
from budwood.engine.workshop.reviewing import VERDICT, verdict_name
from budwood.executors.base import SHELL, Step, Work
from budwood.executors.environment import passed
from budwood.scoring.paper import Wanted
from budwood.workspaces import Workspace
from budwood.workspaces.removal import remove_tree

TRANSCRIPT = "transcript"
REVIEW = "review"
"""The step of a reviewer, and what it printed."""
OTHERS = "BUDWOOD_OTHERS"
"""Names the directory that has what others made, as NAME.patch, of an agent that may read it."""
NOTES = Path(".budwood/notes")
"""Where in a workspace an attempt says what is no part of what it made: git ignores it."""
_SHORTEST_SECRET = 6
"""What is shorter is no secret, and masking it would make nonsense of a log."""


class Outfitter:
    """Makes the work of one run's orders."""

    def __init__(  # noqa: PLR0913 - what an attempt is made of comes from many places
        self,
        folder: Path,
        *,
        terms: WorkspaceTerms,
        subdir: Path,
        environ: Mapping[str, str],
        identity: Mapping[str, str],
        configs: Mapping[str, AgentConfig],
        agent_of: Callable[[str], Agent],
        write_prompt: Callable[[Order], str],
        write_review: Callable[[Order, Left, str], str],
        others_of: Callable[[Order], Mapping[str, str]],
        sandbox: Sandbox | None = None,
    ) -> None:
        self._folder = folder
        self._terms = terms
        self._subdir = subdir
        """Where in a workspace the project is: a repository may hold several."""
        self._environ = environ
        self._agent_of = agent_of
        self._identity = identity
        """Who commits: a clone does not have the settings of the repository, and a machine may have none."""
        self._configs = configs
        self._write_prompt = write_prompt
        self._write_review = write_review
        """What a reviewer is asked about what was left, and where its verdict goes."""
        self._others_of = others_of
        """What an order's agent may read of others: patches, by task."""
        self._sandbox = sandbox

    @property
    def notes(self) -> PurePosixPath:
        """Where notes are, from the top of what was kept."""
        return PurePosixPath(self._subdir / NOTES)

    def work(self, order: Order, workspace: Workspace, *, ports: Sequence[int]) -> Work:
        """Say what is to be run, and write what it needs."""
        launch = None if order.run is not None or order.unreviewed is not None else self._launch_agent(order)
        cwd = str(workspace.path / self._subdir)
        env_pass = tuple(dict.fromkeys((*order.env_pass, *(() if launch is None else launch.env_pass))))
        work = Work(
            id=order.id,
            slot=order.slot,
            steps=tuple(self._steps(order, launch, setup_due=workspace.setup_due)),
            cwd=cwd,
            env={
                **self._identity,
                **order.env,
                "BUDWOOD_WORKSPACE": cwd,
                **({"BUDWOOD_NOTES": str(_make_notes(Path(cwd)))} if order.takes_notes else {}),
                **{f"BUDWOOD_PORT_{number}": str(port) for number, port in enumerate(ports, start=1)},
                **({} if launch is None else launch.env),
                **({OTHERS: str(self._state_dir(order) / "others")} if launch is not None and order.reads else {}),
            },
            env_pass=env_pass,
            mask=_secrets(self._environ, env_pass),
            timeout_s=order.timeout_s,
            grace_s=order.grace_s,
            memory_bytes=order.memory_bytes,
            output_bytes=order.output_bytes,
            contain=order.contain,
            begun=order.begun,
        )
        own = self._own(order.agent, launch, state=self._state_dir(order))
        return work if self._sandbox is None else self._sandbox.around(work, workspace, own)

    def scoring_work(self, order: Order, workspace: Workspace, *, work_id: str) -> Work:
        """Say what scores the candidate that lies in a workspace, and write what that needs."""
        assert order.score is not None
        folder = self._state_dir(order)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"score-{order.attempt}.json"
        wanted = Wanted(scoring=order.score, seed=order.seed, bar=order.bar)
        _put(file, msgspec.json.encode(wanted).decode(), below=folder)
        launch = Launch(argv=(sys.executable, "-P", "-m", "budwood.scoring"), stdin=file)
        step = Step(name="score", argv=launch.argv, stdin=str(file), transcript=TRANSCRIPT)
        own = Own(state=folder, ours=(file,), agent=Places(), argv=launch.argv)
        return self._later_work(order, workspace, step, work_id=work_id, own=own)

    def review_work(self, order: Order, workspace: Workspace, left: Left, *, work_id: str) -> Work:
        """Say who reviews the candidate that lies in a workspace, and write what that needs.

        Its state is its own: what an agent could lay into that, its reviewer would follow.
        """
        reviewer = order.reviewer
        assert isinstance(reviewer, Reviewer)
        folder = self._folder / f"{order.number}-review-{order.attempt}"
        note = str(NOTES / verdict_name(left))
        launch = self._launch(
            reviewer.agent, self._write_review(order, left, note), model=reviewer.model, folder=folder, name="prompt.md"
        )
        step = Step(name=REVIEW, argv=launch.argv, stdin=_stdin(launch), transcript=REVIEW)
        _make_notes(workspace.path / self._subdir)
        env = {**launch.env, VERDICT: str(workspace.path / self._subdir / note)}
        own = self._own(reviewer.agent, launch, state=folder)
        work = self._later_work(order, workspace, step, work_id=work_id, own=own, env=env, env_pass=launch.env_pass)
        return msgspec.structs.replace(work, timeout_s=order.timeout_s)

    def _later_work(
        self,
        order: Order,
        workspace: Workspace,
        step: Step,
        *,
        work_id: str,
        own: Own,
        env: Mapping[str, str] | None = None,
        env_pass: tuple[str, ...] = (),
    ) -> Work:
        """Say what is done about a candidate in its workspace."""
        cwd = str(workspace.path / self._subdir)
        passed_on = tuple(dict.fromkeys((*order.env_pass, *env_pass)))
        work = Work(
            id=work_id,
            slot=order.slot,
            steps=(step,),
            cwd=cwd,
            env={**self._identity, **order.env, "BUDWOOD_WORKSPACE": cwd, **(env or {})},
            env_pass=passed_on,
            mask=_secrets(self._environ, passed_on),
            grace_s=order.grace_s,
            memory_bytes=order.memory_bytes,
            output_bytes=order.output_bytes,
            contain=order.contain,
        )
        return work if self._sandbox is None else self._sandbox.around(work, workspace, own)

    def _own(self, agent: str, launch: Launch | None, *, state: Path) -> Own:
        """Say what an attempt in a sandbox must see beside its workspace."""
        if self._sandbox is None or launch is None:
            return Own(state=None, ours=(), agent=Places(), argv=())
        places = places_of(self._agent_of(agent), self._environ, home=self._sandbox.machine.home)
        ours = (*launch.files, *(() if launch.stdin is None else (launch.stdin,)))
        return Own(state=state, ours=ours, agent=places, argv=launch.argv)

    def _state_dir(self, order: Order) -> Path:
        """Name where an agent's files are: by task, as a session can be gone on with only where its state is."""
        return self._folder / str(order.number)

    def _steps(self, order: Order, launch: Launch | None, *, setup_due: bool) -> Iterable[Step]:
        if setup_due and self._terms.setup is not None:
            yield Step(name="setup", argv=(*SHELL, self._terms.setup), timeout_s=self._terms.setup_timeout_s)
        if launch is not None:
            yield Step(name="agent", argv=launch.argv, stdin=_stdin(launch), transcript=TRANSCRIPT)
        elif order.unreviewed is None:
            run = order.run
            yield Step(name="run", argv=(*SHELL, run) if isinstance(run, str) else run or ())
        if order.check is not None or order.unreviewed is not None:
            # What is only to be reviewed may have been merged with more; a work has one step at least.
            yield Step(name="check", argv=(*SHELL, order.check or "true"))
        if isinstance(order.reviewer, str):
            yield Step(name=REVIEW, argv=(*SHELL, order.reviewer), transcript=REVIEW)

    def _launch_agent(self, order: Order) -> Launch:
        folder = self._state_dir(order)
        launch = self._launch(
            order.agent,
            self._write_prompt(order),
            model=order.model,
            folder=folder,
            name=f"prompt-{order.attempt}.md",
            session=order.session,
        )
        for name, patch in self._others_of(order).items():
            _put(folder / "others" / f"{safe_name(name, fallback='task')}.patch", patch, below=folder)
        return launch

    def _launch(
        self, named: str, prompt: str, *, model: str | None, folder: Path, name: str, session: str | None = None
    ) -> Launch:
        agent, config = self._agent_of(named), self._configs[named]
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / name
        _put(file, prompt, below=folder)
        launch = agent.launch(
            Assignment(
                prompt_file=file,
                state_dir=folder,
                prompt=prompt,
                model=(model or config.model) if Ability.MODEL in agent.abilities else None,
                max_turns=config.max_turns,
                budget_usd=config.budget_usd,
                session=session if Ability.SESSION in agent.abilities else None,
            )
        )
        for path, text in launch.files.items():
            _put(path, text, below=folder)
        return launch


def _stdin(launch: Launch) -> str | None:
    return None if launch.stdin is None else str(launch.stdin)


def _make_notes(cwd: Path) -> Path:
    """Make the directory for notes, where the files of the base leave room for it."""
    folder = cwd / NOTES
    with suppress(OSError):  # what is in the way is the project's own; then there are no notes
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
    return folder


def _put(path: Path, text: str, *, below: Path) -> None:
    """Write a file anew where an earlier attempt may have laid something else: a link would lead us outside."""
    for part in reversed([part for part in path.parents if part != below and part.is_relative_to(below)]):
        if part.is_symlink() or (part.exists() and not part.is_dir()):
            part.unlink()
        part.mkdir(exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")


def _secrets(environ: Mapping[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the values of what is passed on: an agent may print them."""
    values = passed(environ, names).values()
    return tuple(sorted({value for value in values if len(os.fsencode(value)) >= _SHORTEST_SECRET}))
