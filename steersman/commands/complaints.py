"""What a command says where it can't do its work: one sentence, and never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, Any

import click

# Whose exceptions are for people already, by the module that has them: looking at them must not import them.
_MEANT_FOR_PEOPLE = {
    "engine.engine": ("SchemaNotCurrent",),
    "engine.errors": ("Refused",),
    "engine.loading": ("LoadError",),
    "engine.providers.local": ("LocalModelUnavailable",),
    "engine.providers.prices": ("PricesInvalid",),
    "engine.remotes.configured": ("McpServersInvalid",),
    "models.database": ("BadDatabaseUrl",),
    "models.single_process": ("FileInUse",),
    "steersman.process": ("DatabaseUnreachable",),
    "steersman.provider": ("NoProvider",),
    "steersman.settings": ("BadSettings",),
}


# Those of them that are no matter of use or settings: the world has failed.
_FAILURES = ("DatabaseUnreachable",)


class Complaint(click.ClickException):
    """Why a command can't do its work; `code` is 2 for bad use or settings, 1 for what failed."""

    def __init__(self, message: str, *, exit_code: int = 2) -> None:
        super().__init__(message)
        self.code = exit_code

    def show(self, file: IO[Any] | None = None) -> None:
        """Write it to standard error, each line under the program's name."""
        for line in self.message.splitlines():
            click.echo(f"steersman: {line}", file=file or sys.stderr)


def in_words(error: Exception) -> Complaint | None:
    """The complaint that an expected exception stands for; None for a defect."""
    if any(_is_meant_for_people(kind) for kind in type(error).__mro__):
        return Complaint(str(error), exit_code=1 if type(error).__name__ in _FAILURES else 2)
    return None


def _is_meant_for_people(kind: type) -> bool:
    return kind.__name__ in _MEANT_FOR_PEOPLE.get(kind.__module__, ())


def expected() -> Iterator[tuple[str, str]]:
    """The module and the name of each exception that is meant for people."""
    for module, names in _MEANT_FOR_PEOPLE.items():
        for name in names:
            yield module, name
