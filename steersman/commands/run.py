"""`steersman run`."""

from __future__ import annotations

import asyncio
import sys

import click

from steersman.commands.asked import Asked
from steersman.commands.loop import run
from steersman.commands.screen import Screen
from steersman.commands.showing import AnswerAlone, JsonLines, Show, Transcript


@click.command("run")
@click.argument("agent")
@click.argument("text")
@click.option("--run", "run_id", metavar="RUN_ID", help="Go on with this run, or speak to it while it works.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as one line of JSON, as the API gives it.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print the answer alone, once it is whole; a checked one as JSON.",
)
@click.option("--as-user", metavar="ID", help="Whose run it is; `dev` where not given.")
@click.option("--role", "roles", multiple=True, metavar="R", help="A role of that user; may be given again.")
@click.option("--scripted", is_flag=True, help="Let the scripted demo model answer, even where there is a key.")
@click.option("--local-model", is_flag=True, help="Let a small real model on this machine answer; needs no key.")
@click.option("--url", metavar="URL", help="Run it at a server, such as http://127.0.0.1:8000.")
@click.option("--token", metavar="TOKEN", help="Sign in at that server with a token (`steersman token` makes one).")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    agent: str,
    text: str,
    run_id: str | None,
    as_json: bool,
    quiet: bool,
    as_user: str | None,
    roles: tuple[str, ...],
    scripted: bool,
    local_model: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Run an agent once, here in the terminal; Ctrl-C stops it.

    TEXT is what it is told; `-` reads that from standard input.

    The answer goes to standard output as it comes; thoughts, tool calls and the outcome go to standard error. Ctrl-C
    stops the run and waits until it has settled; a second Ctrl-C leaves at once.

    It works in this process, on the database of the settings; a fresh SQLite file is migrated. Where a server works on
    that file already, or elsewhere, --url runs it there. Without ANTHROPIC_API_KEY the scripted demo model answers.

    The exit code is 0 where the run completed, 1 where it failed, 130 where it was stopped, 2 where it could not be
    started.
    """
    _check(url, token, here=[scripted, local_model, as_user is not None, bool(roles)])
    if as_json and quiet:
        raise click.UsageError("Give --json or --quiet, not both.")
    if scripted and local_model:
        raise click.UsageError("Give --scripted or --local-model, not both.")
    asked = Asked(agent, sys.stdin.read() if text == "-" else text, run_id)
    screen = Screen()
    show: Show = JsonLines(screen) if as_json else AnswerAlone(screen) if quiet else Transcript(screen)
    if url is not None:
        # Each way has its own libraries, which take longer to load than the rest.
        from steersman.commands.running_there import run_there  # noqa: PLC0415 - see above

        ctx.exit(asyncio.run(run_there(asked, url, token, show, screen)))
    from steersman.commands.running_here import run_here  # noqa: PLC0415 - see above

    user = as_user or "dev"
    ctx.exit(run(run_here(asked, user, roles, show, screen, scripted=scripted, local=local_model)))


def _check(url: str | None, token: str | None, *, here: list[bool]) -> None:
    if url is None and token is not None:
        raise click.UsageError("--token signs in at a server: give its --url too.")
    if url is not None and any(here):
        raise click.UsageError("--scripted, --local-model, --as-user and --role are not for runs at a server (--url).")
