"""The command line: `steersman COMMAND`. Each command is a module beside this one, loaded only when it is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from steersman.commands.complaints import Complaint, in_words

COMMANDS = {
    "dev": "Serve and run agents on this machine, and start anew when a file changes.",
    "run": "Run an agent once, here in the terminal; Ctrl-C stops it.",
    "tools": "List an agent's tools, and call one without a model.",
    "serve": "Serve the API by the settings, and run agents too.",
    "worker": "Run agents, and serve nothing.",
    "migrate": "Bring the database's schema up to date, or back.",
    "balance": "Show what the workspace may still spend, and add to it.",
    "token": "Make a token that signs a user in.",
    "doctor": "Check settings, database, Redis, files, agents and provider.",
    "settings": "Print the settings as they are, secrets redacted.",
    "schema": "Print the GraphQL schema.",
    "version": "Print the version.",
}
"""The commands in the order of the help, each with what it does."""

WIDTH = 100  # of help texts, whatever the terminal's: so they can be compared with their page


class Commands(click.Group):
    """A group whose commands are imported when they are asked for, so that the short ones start at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, imported now; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"steersman.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help; nothing is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "terminal_width": WIDTH})
def steersman() -> None:
    """Run AI agents durably behind a GraphQL API: start, steer, stop and watch them.

    `steersman dev` is the place to begin. Settings are environment variables; `steersman settings --reference` lists
    them. Nothing here ever asks a question.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and end the process: 0 where all went well, 1 where something failed, 2 for bad use or settings."""
    sys.exit(_code_of(arguments))


def _code_of(arguments: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that can't show a character is no reason to fail
    try:
        code = steersman.main(arguments, prog_name="steersman", standalone_mode=False)
    except Complaint as error:
        error.show()
        return error.code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; what is left in the buffers must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("STEERSMAN_LOG_LEVEL", "").strip().lower() == "debug":
            raise
        complaint = in_words(error) or Complaint(_first_words(error), exit_code=1)
        complaint.show()
        return complaint.code
    return code if isinstance(code, int) else 0


def _first_words(error: Exception) -> str:
    from steersman.log import Redaction  # noqa: PLC0415 - only where something went wrong

    text = " ".join(str(error).split())[:500] or "no more is known"
    return f"{type(error).__name__}: {Redaction()(text)} (STEERSMAN_LOG_LEVEL=debug shows where)"
