"""The page of all commands, docs/commands.md, made from their own help: `python -m steersman.commands.page`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from steersman.commands import steersman

_HEAD = """# Commands

Made from each command's own `--help` by `python -m steersman.commands.page`; a test compares the two.

All of them take their settings from the environment ([settings.md](settings.md)), and none ever asks a question. Exit
codes: 0 where all went well, 1 where something failed, 2 for bad use or settings, 130 where Ctrl-C ended it.
"""


def helps() -> Iterator[tuple[str, str]]:
    """Every command by its whole name, such as `steersman dev`, with its help; in the order of the help."""
    yield from _helps(steersman, "steersman", None)


def page() -> str:
    """The page, as Markdown."""
    sections = [f"## {path}\n\n```text\n{text}\n```\n" for path, text in helps()]
    return "\n".join([_HEAD, *sections])


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            if found is not None:
                yield from _helps(found, sub, context)


if __name__ == "__main__":
    click.echo(page(), nl=False)
