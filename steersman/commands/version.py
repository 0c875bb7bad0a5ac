"""`steersman version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(f"steersman {own_version()} (Python {platform.python_version()})")


def own_version() -> str:
    """The version that is installed."""
    try:
        return version("steersman")
    except PackageNotFoundError:
        return "of a checkout that is not installed"
