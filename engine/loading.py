"""Finds the agents of a folder: each of its Python files is one, named after its file."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from engine.agent import Agent
from engine.agent_modules import import_from, open_folder
from engine.tool import NAME

DEPS_FILE = "deps.py"
MakeDeps = Callable[[], AbstractAsyncContextManager[Any]]


class LoadError(Exception):
    """A file of the agents folder, or the folder itself, that can't be used; its text says where, what and what to do.

    `file` is its path, `line` the line at fault where one is known, `problem` the exception's class and message or
    what else is wrong, `advice` what to do.
    """

    def __init__(self, file: Path, line: int | None, problem: str, advice: str) -> None:
        self.file = file
        self.line = line
        self.problem = problem
        self.advice = advice
        place = f"{file}" if line is None else f"{file}, line {line}"
        super().__init__(f"{place}: {problem}. {advice}")


class Agents(Mapping[str, Agent]):
    """The agents of a folder by name, in the order of their names.

    `errors` are the files that did not load, `warnings` what the authors of the others should mend, each a line that
    names its file. `deps` makes what deps.py shares with the tools, None without one.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        *,
        deps: MakeDeps | None = None,
        errors: list[LoadError] | None = None,
        warnings: list[str] | None = None,
    ) -> None:
        self._descriptions = {name: agent.description for name, agent in agents.items()}
        self._agents = {name: self.introduce(agents[name]) for name in sorted(agents)}
        self.deps = deps
        self.errors = errors or []
        self.warnings = warnings or []

    def __getitem__(self, name: str) -> Agent:
        return self._agents[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._agents)

    def __len__(self) -> int:
        return len(self._agents)

    def __repr__(self) -> str:
        return f"Agents({', '.join(self._agents)}; {len(self.errors)} errors)"

    def introduce(self, agent: Agent) -> Agent:
        """The agent, told what the agents of this folder say of themselves where they are its sub-agents."""
        return agent.introduced(self._descriptions)

    @property
    def broken(self) -> frozenset[str]:
        """The names of agents whose files are there and did not load: their runs wait until they do."""
        return frozenset(error.file.stem for error in self.errors)

    def names(self) -> list[str]:
        """The agents' names, in order."""
        return list(self._agents)

    @asynccontextmanager
    async def open_deps(self) -> AsyncIterator[Any]:
        """Enter what deps.py shares with the tools, and give it; None without one. Raises what entering it raises."""
        if self.deps is None:
            yield None
            return
        manager = self.deps()
        if not hasattr(manager, "__aenter__"):
            raise TypeError(f"deps in {DEPS_FILE} must give an async context manager: decorate it @asynccontextmanager")
        async with manager as deps:
            yield deps


def load_agents(folder: Path) -> Agents:
    """Load every agent of a folder anew; a file that does not load is told in `errors` and stops no other.

    Files whose names begin with an underscore are helpers, and deps.py is what tools share. Raises LoadError where
    there is no such folder.
    """
    if not folder.is_dir():
        raise LoadError(folder, None, "there is no such folder", "Create it, or set STEERSMAN_AGENTS to the right one.")
    package = open_folder(folder)
    agents: dict[str, Agent] = {}
    deps: MakeDeps | None = None
    errors: list[LoadError] = []
    warnings: list[str] = []
    for file in _files(folder):
        try:
            if file.name == DEPS_FILE:
                deps = _load_deps(package, file)
                continue
            agent = _load_agent(package, file)
        except LoadError as error:
            errors.append(error)
            continue
        agents[file.stem] = agent
        warnings += [f"{file}: {warning}" for warning in agent.warnings]
    for name, agent in agents.items():
        missing = [other for other in agent.subagents if other not in agents]
        warnings += [f"{folder / name}.py: its sub-agent {other!r} is not there" for other in missing]
    return Agents(agents, deps=deps, errors=errors, warnings=warnings)


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.py")) if file.is_file() and not file.name.startswith("_")]


def _load_agent(package: str, file: Path) -> Agent:
    if not NAME.fullmatch(file.stem):
        problem = f"{file.stem!r} is no name for an agent"
        raise LoadError(file, None, problem, "Rename the file: 1 to 64 letters, digits, _ or - before `.py`.")
    module = _load_module(package, file)
    agent = getattr(module, "agent", None)
    if agent is None:
        advice = "Add `agent = Agent(…)`, or begin the file's name with an underscore if it is a helper."
        raise LoadError(file, None, "it defines no `agent`", advice)
    if not isinstance(agent, Agent):
        problem = f"its `agent` is a {type(agent).__name__}, not an Agent"
        raise LoadError(file, None, problem, "Write `agent = Agent(…)`.")
    if agent.name not in (None, file.stem):
        problem = f"its agent names itself {agent.name!r}"
        raise LoadError(file, None, problem, "Leave out name=: an agent is named after its file.")
    return dataclasses.replace(agent, name=file.stem)


def _load_deps(package: str, file: Path) -> MakeDeps | None:
    deps = getattr(_load_module(package, file), "deps", None)
    if deps is None or callable(deps):
        return deps
    problem = f"its `deps` is a {type(deps).__name__}, which can't be called"
    raise LoadError(file, None, problem, "Write `deps` as a function, decorated @asynccontextmanager.")


def _load_module(package: str, file: Path) -> ModuleType:
    try:
        return import_from(package, file.stem)
    except (Exception, SystemExit) as error:
        message = str(error).strip()
        problem = type(error).__name__ + (f": {message}" if message else "")
        raise LoadError(*_place(error, file), problem, _advice(error, file)) from error


def _place(error: BaseException, file: Path) -> tuple[Path, int | None]:
    """Where in the folder it went wrong: the innermost line of its files."""
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))
    folder = file.parent.resolve()
    for filename, line in reversed(places):
        if Path(filename).is_relative_to(folder):
            return file.parent / Path(filename).relative_to(folder), line
    return file, None


def _advice(error: BaseException, file: Path) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"Install {error.name!r}, or put it beside {file.name} with a name that begins with an underscore."
    if isinstance(error, SystemExit):
        return "Take out what ends the program: an agent file only defines an agent."
    return "Mend that line; the agent is left out until the file loads."
