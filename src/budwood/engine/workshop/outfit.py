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
from budwood._core.model import WorkspaceTerms
from budwood.agents.base import Ability, Agent, Assignment, Launch
from budwood.agents.config import AgentConfig
from budwood.agents.homes import Places, places_of
from budwood.engine.workshop.enclosing import Own, Sandbox
from budwood.engine.workshop.orders import Order
from budwood.executors.base import SHELL, Step, Work
from budwood.executors.environment import passed
from budwood.scoring.paper import Wanted
from budwood.workspaces import Workspace
from budwood.workspaces.removal import remove_tree

TRANSCRIPT = "transcript"
REVIEW = "review"
"""What a reviewer printed."""
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
        self._others_of = others_of
        """What an order's agent may read of others: patches, by task."""
        self._sandbox = sandbox

    @property
    def notes(self) -> PurePosixPath:
        """Where notes are, from the top of what was kept."""
        return PurePosixPath(self._subdir / NOTES)

    def work(self, order: Order, workspace: Workspace, *, ports: Sequence[int]) -> Work:
        """Say what is to be run, and write what it needs."""
        launch = None if order.run is not None else self._launch(order)
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
        return work if self._sandbox is None else self._sandbox.around(work, workspace, self._own(order, launch))

    def scoring_work(self, order: Order, workspace: Workspace, *, work_id: str) -> Work:
        """Say what scores the candidate that lies in a workspace, and write what that needs."""
        assert order.score is not None
        folder = self._state_dir(order)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"score-{order.attempt}.json"
        wanted = Wanted(scoring=order.score, seed=order.seed, bar=order.bar)
        _put(file, msgspec.json.encode(wanted).decode(), below=folder)
        launch = Launch(argv=(sys.executable, "-P", "-m", "budwood.scoring"), stdin=file)
        cwd = str(workspace.path / self._subdir)
        work = Work(
            id=work_id,
            slot=order.slot,
            steps=(Step(name="score", argv=launch.argv, stdin=str(file), transcript=TRANSCRIPT),),
            cwd=cwd,
            env={**self._identity, **order.env, "BUDWOOD_WORKSPACE": cwd},
            env_pass=order.env_pass,
            mask=_secrets(self._environ, order.env_pass),
            grace_s=order.grace_s,
            memory_bytes=order.memory_bytes,
            output_bytes=order.output_bytes,
            contain=order.contain,
        )
        if self._sandbox is None:
            return work
        own = Own(state=folder, ours=(file,), agent=Places(), argv=launch.argv)
        return self._sandbox.around(work, workspace, own)

    def _own(self, order: Order, launch: Launch | None) -> Own:
        """Say what an attempt in a sandbox must see beside its workspace."""
        if self._sandbox is None or launch is None:
            return Own(state=None, ours=(), agent=Places(), argv=())
        home = self._sandbox.machine.home
        places = places_of(self._agent_of(order.agent), self._environ, home=home)
        ours = (*launch.files, *(() if launch.stdin is None else (launch.stdin,)))
        return Own(state=self._state_dir(order), ours=ours, agent=places, argv=launch.argv)

    def _state_dir(self, order: Order) -> Path:
        """Name where an agent's files are: by task, as a session can be gone on with only where its state is."""
        return self._folder / str(order.number)

    def _steps(self, order: Order, launch: Launch | None, *, setup_due: bool) -> Iterable[Step]:
        if setup_due and self._terms.setup is not None:
            yield Step(name="setup", argv=(*SHELL, self._terms.setup), timeout_s=self._terms.setup_timeout_s)
        if launch is None:
            run = order.run
            yield Step(name="run", argv=(*SHELL, run) if isinstance(run, str) else run or ())
        else:
            stdin = None if launch.stdin is None else str(launch.stdin)
            yield Step(name="agent", argv=launch.argv, stdin=stdin, transcript=TRANSCRIPT)
        if order.check is not None:
            yield Step(name="check", argv=(*SHELL, order.check))
        if order.reviewer is not None:
            yield Step(name="review", argv=(*SHELL, order.reviewer), transcript=REVIEW)

    def _launch(self, order: Order) -> Launch:
        agent, config = self._agent_of(order.agent), self._configs[order.agent]
        folder = self._state_dir(order)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        prompt = self._write_prompt(order)
        file = folder / f"prompt-{order.attempt}.md"
        _put(file, prompt, below=folder)
        session = order.session if Ability.SESSION in agent.abilities else None
        launch = agent.launch(
            Assignment(
                prompt_file=file,
                state_dir=folder,
                prompt=prompt,
                model=(order.model or config.model) if Ability.MODEL in agent.abilities else None,
                max_turns=config.max_turns,
                budget_usd=config.budget_usd,
                session=session,
            )
        )
        for name, patch in self._others_of(order).items():
            _put(folder / "others" / f"{safe_name(name, fallback='task')}.patch", patch, below=folder)
        for path, text in launch.files.items():
            _put(path, text, below=folder)
        return launch


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
