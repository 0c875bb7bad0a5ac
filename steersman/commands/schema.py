"""`steersman schema`."""

from __future__ import annotations

import click

from resolvers.root import build_schema
from schema.printing import print_sdl


@click.command("schema")
def command() -> None:
    """Print the GraphQL schema.

    It has the descriptions of everything in it, and clients make their types from it. The same text is kept in
    schema/schema.graphql.
    """
    click.echo(print_sdl(build_schema()), nl=False)
