"""What GraphiQL opens with is real: each tab's operation fits the schema, and has the variables that it asks for."""

from __future__ import annotations

import re

import pytest
from graphql import OperationDefinitionNode, build_schema, parse, validate

from tests.support.project import ROOT

TEXT = (ROOT / "console" / "src" / "graphiql" / "examples.ts").read_text(encoding="utf-8")
SCHEMA = build_schema((ROOT / "schema" / "schema.graphql").read_text(encoding="utf-8"))
QUERIES = dict(re.findall(r"^const (\w+) = `(.*?)`;$", TEXT, re.DOTALL | re.MULTILINE))
TABS = TEXT[TEXT.index("export const TABS") :]


@pytest.mark.parametrize("name", QUERIES)
def test_every_tab_is_an_operation_of_the_schema(name: str) -> None:
    """It validates, stands among the tabs, and each variable that must be given is given there."""
    document = parse(QUERIES[name])
    assert validate(SCHEMA, document) == []
    (operation,) = document.definitions
    assert isinstance(operation, OperationDefinitionNode)
    (tab,) = [line for line in re.split(r"\n  \{", TABS) if re.search(rf"query: {name}\b", line)]
    for variable in operation.variable_definitions or ():
        assert f"{variable.variable.name.value}:" in tab


def test_there_are_tabs() -> None:
    """The text is read as it is meant."""
    assert len(QUERIES) >= 10
