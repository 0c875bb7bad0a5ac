"""The schema as text: the same text for the same schema, whatever the order of imports."""

from __future__ import annotations

from pathlib import Path

import strawberry
from strawberry.printer import print_schema

SCHEMA_FILE = Path(__file__).with_name("schema.graphql")
"""Where the printed schema is kept; CI compares it with what the code prints."""

_HEADER = "# Printed from the code; do not edit. `steersman schema` prints it again.\n\n"


def print_sdl(schema: strawberry.Schema) -> str:
    """The schema in GraphQL's schema language, with descriptions, types in alphabetical order."""
    return _HEADER + print_schema(schema).strip() + "\n"
