"""The printed schema is what the code says, whole, described, and in the contract's habits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    build_schema,
    is_introspection_type,
    is_specified_scalar_type,
)

from schema.printing import SCHEMA_FILE, print_sdl
from tests.support.api import the_schema

PRINTED = print_sdl(the_schema())


def own_types() -> list[GraphQLNamedType]:
    """Every type of the schema that is not GraphQL's own."""
    types = the_schema()._schema.type_map.values()
    return [kind for kind in types if not is_introspection_type(kind) and not is_specified_scalar_type(kind)]


def described() -> Iterator[tuple[str, str | None]]:
    """The path of everything that can have a description, with its description."""
    for kind in own_types():
        yield kind.name, kind.description
        if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            for field_name, field in kind.fields.items():
                yield f"{kind.name}.{field_name}", field.description
                for name, argument in field.args.items():
                    yield f"{kind.name}.{field_name}({name}:)", argument.description
        elif isinstance(kind, GraphQLInputObjectType):
            for name, input_field in kind.fields.items():
                yield f"{kind.name}.{name}", input_field.description
        elif isinstance(kind, GraphQLEnumType):
            for name, value in kind.values.items():
                yield f"{kind.name}.{name}", value.description


@pytest.mark.parametrize(("path", "description"), [pytest.param(*pair, id=pair[0]) for pair in described()])
def test_everything_is_described_in_a_sentence(path: str, description: str | None) -> None:
    """Types, fields, arguments and enum values say what they mean, to people who read them in GraphiQL."""
    assert description, f"{path} has no description"
    assert description[0].isupper() or description[0] == "`", path
    assert description.rstrip().endswith("."), path


def test_the_printed_schema_is_the_one_in_the_repository() -> None:
    """Who changes the schema sees it in the diff: print it again where this fails."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == PRINTED


def test_another_process_prints_the_same_text() -> None:
    """The order of imports, of sets and of hashes does not show."""
    imports = "from resolvers.root import build_schema; from schema.printing import print_sdl"
    code = f"{imports}; print(print_sdl(build_schema()))"
    printed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == PRINTED + "\n"


def test_the_printed_schema_is_valid() -> None:
    """Other tools can read it."""
    assert build_schema(PRINTED).query_type is not None


@pytest.mark.parametrize(
    "line",
    [
        "  mode: SteerMode = QUEUE\n",
        "    afterSeq: Int = 0\n",
        "    after: Int = 0\n",
        "    filter: RunFilter\n",
        "  nodes(\n",
        "  ): [Node]!\n",
        "  ): AgentRunConnection!\n",
        "  ): StreamEvent!\n",
        "  status: [RunStatus!]\n",
        "  metadata: JSON!\n",
        "  field: [String!]\n",
        "  agentKinds: [AgentKind!]!\n",
        "  toolTypes: [ToolType!]!\n",
        "  ): AgentConnection!\n",
        "  ): ResourceConnection\n",
        "  ): ScheduleConnection!\n",
        "  ): WebhookConnection!\n",
        "  lastDelivery: WebhookDelivery\n",
        '  timeZone: String = "UTC"\n',
        "scalar DateTime",
    ],
)
def test_the_contract_s_words_are_printed_as_they_stand(line: str) -> None:
    """Nullability and defaults are part of what was promised."""
    assert line in PRINTED


def test_what_may_be_left_out_is_not_printed_with_a_null_default() -> None:
    """Left out and null are not the same for generated clients."""
    assert "= null" not in PRINTED
    assert "__UNSET__" not in PRINTED


def test_every_event_has_the_fields_of_all_events() -> None:
    """Each event names its stream, number, step, attempt and moment."""
    schema = the_schema()._schema
    interface = schema.type_map["StreamEvent"]
    assert isinstance(interface, GraphQLInterfaceType)
    events = schema.get_possible_types(interface)
    assert len(events) == 15
    for event in events:
        assert list(event.fields)[:5] == ["streamId", "seq", "step", "attempt", "at"]


def test_no_type_is_there_that_nothing_leads_to() -> None:
    """Types of later parts are not shown before they work."""
    names = {kind.name for kind in own_types()}
    assert not names & {"ApiKey"}
