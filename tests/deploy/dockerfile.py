"""Reads deploy/Dockerfile and .dockerignore, as far as they go: what is not understood here is refused."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from tests.support.project import ROOT

DOCKERFILE = ROOT / "deploy" / "Dockerfile"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its word, its options (`--from=build` is `from`: `build`) and the rest as it stands."""

    word: str
    options: dict[str, str]
    rest: str

    @property
    def words(self) -> list[str]:
        """The rest as words, written as JSON or plainly."""
        if self.rest.startswith("["):
            return [str(word) for word in json.loads(self.rest)]
        return shlex.split(self.rest)


@dataclass(slots=True)
class Stage:
    """A stage: the image that it begins with, its name (or number) and its instructions."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def last(self, word: str) -> Instruction:
        """The last instruction of a kind. Raises LookupError where there is none."""
        for instruction in reversed(self.instructions):
            if instruction.word == word:
                return instruction
        raise LookupError(f"no {word}")

    def environment(self) -> dict[str, str]:
        """What ENV sets, `$PATH` and the like as they stand."""
        pairs = (word for found in self.instructions if found.word == "ENV" for word in found.words)
        return dict(pair.split("=", 1) for pair in pairs)

    def health_check(self) -> list[str]:
        """The words of the command that says whether a container lives."""
        kind, _, command = self.last("HEALTHCHECK").rest.partition(" ")
        assert kind == "CMD"
        return [str(word) for word in json.loads(command)]


@cache
def stages() -> list[Stage]:
    """The stages of deploy/Dockerfile; the last one is the image."""
    found: list[Stage] = []
    for instruction in _instructions(DOCKERFILE.read_text(encoding="utf-8")):
        if instruction.word == "FROM":
            base, _, name = instruction.rest.partition(" AS ")
            found.append(Stage(base, name or str(len(found))))
        else:
            found[-1].instructions.append(instruction)
    return found


def _instructions(text: str) -> Iterator[Instruction]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        word, _, rest = line.strip().partition(" ")
        options: dict[str, str] = {}
        while option := re.match(r"--([\w-]+)=(\S+)\s+", rest.lstrip()):
            options[option[1]] = option[2]
            rest = rest.lstrip()[option.end() :]
        yield Instruction(word, options, rest.strip())


def context(root: Path = ROOT) -> list[Path]:
    """Every file of a checkout that its .dockerignore lets a build copy, as paths from its root."""
    lines = [line.strip() for line in (root / ".dockerignore").read_text(encoding="utf-8").splitlines()]
    rules = [_Rule.of(line) for line in lines if line and not line.startswith("#")]
    found: list[Path] = []
    unread = [Path()]
    while unread:
        for entry in sorted((root / unread.pop()).iterdir()):
            path = entry.relative_to(root)
            if entry.is_dir():
                if not _is_ignored(path, rules) or any(rule.lets_in_below(path) for rule in rules):
                    unread.append(path)
            elif not _is_ignored(path, rules):
                found.append(path)
    return found


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line of .dockerignore; with `!` before it, it lets in what a line above keeps out."""

    line: str
    pattern: re.Pattern[str]
    lets_in: bool

    @staticmethod
    def of(line: str) -> _Rule:
        plain = line.removeprefix("!").strip("/")
        pattern = re.escape(plain).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        return _Rule(plain, re.compile(pattern), line.startswith("!"))

    def lets_in_below(self, path: Path) -> bool:
        """Whether it lets something in by its name below a folder that is kept out."""
        return self.lets_in and self.line.startswith(f"{path.as_posix()}/")


def _is_ignored(path: Path, rules: list[_Rule]) -> bool:
    """Whether the path is kept out: the last rule wins that fits it or a folder above it."""
    above = [str(one) for one in (PurePosixPath(path), *PurePosixPath(path).parents)]
    fitting = [rule for rule in rules if any(rule.pattern.fullmatch(one) for one in above)]
    return bool(fitting) and not fitting[-1].lets_in
