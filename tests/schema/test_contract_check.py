"""The check of the printed schema against a contract finds every kind of break."""

from __future__ import annotations

from pathlib import Path

import pytest

from schema.contract_check import differences, main
from schema.printing import SCHEMA_FILE, print_sdl
from tests.support.api import the_schema

PRINTED = print_sdl(the_schema())


def test_a_schema_keeps_the_contract_that_it_is() -> None:
    """Nothing is found where there is nothing."""
    assert differences(PRINTED, PRINTED) == []


@pytest.mark.parametrize(
    ("promised", "printed", "finding"),
    [
        ("  title: String\n", "  title: String!\n", "AgentRun.title: is String!, not String"),
        ("  STOP\n", "  STOPPED\n", "FinishReason.STOP: is missing"),
        ("  mode: SteerMode = QUEUE\n", "  mode: SteerMode\n", "SteerRunInput.mode: defaults to None, not QUEUE"),
        (
            "    afterSeq: Int = 0\n",
            "    afterSeq: Int = 1\n",
            "Subscription.messages(afterSeq:): defaults to 1, not 0",
        ),
        ("    afterSeq: Int = 0\n", "    since: Int = 0\n", "Subscription.messages(afterSeq:): is missing"),
        (
            "    afterSeq: Int = 0\n",
            "    afterSeq: Int = 0\n    x: Int!\n",
            "(x:): is not in the contract and required",
        ),
        ("  key: String\n", "  key: String\n  x: Int!\n", "Input.x: is not in the contract and required"),
        ("type AgentRun implements Node {", "type AgentRun {", "AgentRun: does not implement Node"),
        (" | OtherBlock\n", "\n", "ContentBlock.OtherBlock: is missing"),
        ("scalar BigInt\n", "enum BigInt { ONE }\n", "BigInt: is enum_type_definition, not scalar_type_definition"),
        ("type RunResult ", "type RunsResult ", "RunResult: is missing"),
        ("  hasNextPage: Boolean!\n", "  hasNext: Boolean!\n", "PageInfo.hasNextPage: is missing"),
        ("  totalCount: Int!\n", "  totalCount: Int\n", "AgentRunConnection.totalCount: is Int, not Int!"),
    ],
)
def test_what_differs_is_named(promised: str, printed: str, finding: str) -> None:
    """Each break of the contract is one sentence that says where it is."""
    assert promised in PRINTED
    found = differences(PRINTED, PRINTED.replace(promised, printed))
    assert any(finding in sentence for sentence in found), found


def test_what_is_added_and_optional_is_no_break() -> None:
    """The project may add to the contract."""
    added = PRINTED.replace("  key: String\n", "  key: String\n  label: String\n") + "\ntype Extra { a: Int }\n"
    assert differences(PRINTED, added) == []


def test_what_the_contract_promises_for_later_need_not_be_there() -> None:
    """Parts arrive one by one, each whole."""
    promised = (
        PRINTED.replace("type Mutation {", "type Mutation {\n  addRunTools(input: String!): String")
        + "type Later { a: Int }"
    )
    assert differences(promised, PRINTED) == []


def test_a_contract_in_compact_style_is_read() -> None:
    """Several fields may stand on one line."""
    compact = PRINTED + "type Compact { a: ID!  b: [Int!]! }"
    found = differences(compact, PRINTED + "type Compact { a: ID! b: [Int]! }")
    assert found == ["Compact.b: is [Int]!, not [Int!]!"]


def test_the_command_says_what_differs_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CI stops at exit status 1."""
    contract = tmp_path / "contract.graphql"
    contract.write_text(SCHEMA_FILE.read_text(encoding="utf-8"), encoding="utf-8")
    assert main([str(contract)]) == 0
    broken = tmp_path / "broken.graphql"
    broken.write_text(PRINTED.replace("  STOP\n", "  STOPPED\n"), encoding="utf-8")
    assert main([str(contract), str(broken)]) == 1
    assert "FinishReason.STOP: is missing" in capsys.readouterr().err
    assert main([]) == 2
