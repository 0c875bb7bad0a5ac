"""`steersman token`."""

from __future__ import annotations

import os

import click

from steersman.auth import mint
from steersman.commands.complaints import Complaint
from steersman.settings import read_settings

MOST_HOURS = 24 * 365


@click.command("token")
@click.option("--sub", required=True, metavar="ID", help="The user whom it signs in.")
@click.option("--role", "roles", multiple=True, metavar="R", help="A role of that user; may be given again.")
@click.option(
    "--hours",
    default=1.0,
    show_default=True,
    metavar="N",
    type=click.FloatRange(min=0, min_open=True, max=MOST_HOURS),
    help="How long it is good for.",
)
def command(*, sub: str, roles: tuple[str, ...], hours: float) -> None:
    """Make a token that signs a user in.

    It is signed with STEERSMAN_JWT_SECRET. Clients send it as `Authorization: Bearer TOKEN`; on a WebSocket the
    same stands as `authorization` in the payload of connection_init. Where a sign-in service makes the tokens
    (STEERSMAN_JWKS_URL), ask that one.
    """
    settings = read_settings(os.environ)
    try:
        token = mint(settings, sub, roles, seconds=max(1, round(hours * 3600)))
    except ValueError as error:
        raise Complaint(str(error)) from error
    click.echo(token)
