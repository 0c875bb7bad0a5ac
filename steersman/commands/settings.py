"""`steersman settings`."""

from __future__ import annotations

import os

import click

from steersman.settings import read_settings, reference, shown


@click.command("settings")
@click.option("--reference", "as_reference", is_flag=True, help="Print the page that explains every setting instead.")
def command(*, as_reference: bool) -> None:
    """Print the settings as they are, secrets redacted.

    One line each, as NAME=value, in the form in which the environment takes them. Problems go to standard error, all at
    once.
    """
    if as_reference:
        click.echo(reference(), nl=False)
        return
    for name, value in shown(read_settings(os.environ)).items():
        click.echo(f"{name}={value}")
