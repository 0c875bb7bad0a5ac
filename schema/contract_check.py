"""Compares the printed schema with a contract: `python -m schema.contract_check CONTRACT [PRINTED]`.

Whatever both name must agree in kind, type, arguments, defaults, interfaces, members and values; what the contract
promises and this version delivers (WHOLE and PARTLY) must be there, and what the project adds must be optional for
clients. Exits 1 and says what differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from graphql import (
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    InputObjectTypeDefinitionNode,
    InputValueDefinitionNode,
    InterfaceTypeDefinitionNode,
    NonNullTypeNode,
    ObjectTypeDefinitionNode,
    TypeDefinitionNode,
    UnionTypeDefinitionNode,
    parse,
    print_ast,
)

from schema.printing import SCHEMA_FILE


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Types that are delivered with every field, value and member that the contract gives them.
WHOLE = _words("""
    DateTime JSON Decimal BigInt Node
    RunStatus FinishReason Role ToolCallState SteerMode ErrorCode ChangeKind
    AgentRun ModelCall RunError PendingInput Usage Budget AgentMessage ToolCall
    ContentBlock TextBlock ReasoningBlock ToolUseBlock ToolResultBlock ImageBlock DocumentBlock OtherBlock
    AttachmentInput RunFilter StartRunInput RunOverridesInput RunToolInput StartRunPayload SteerRunInput SteerRunPayload
    WithdrawInputInput WithdrawInputPayload
    CancelRunInput CancelRunPayload Decision ToolCallDecisionInput DecideToolCallsInput DecideToolCallsPayload
    CompleteToolCallInput CompleteToolCallPayload BudgetInput RetryRunInput RetryRunPayload ForkRunInput ForkRunPayload
    AddRunToolsInput AddRunToolsPayload PromptAgentInput PromptAgentPayload UserError RunChange
    StreamEvent TextDelta ReasoningDelta ToolCallStarted ToolCallProgress ToolCallFinished InputQueued InputApplied
    StepFinished StepRestarted ModelFellBack ContextCompacted CallsWaiting SubagentStarted SubagentFinished RunResult
    Viewer Model AgentKind ConfigField ToolType Resource
    CreateAgentPayload UpdateAgentInput UpdateAgentPayload DeleteAgentInput DeleteAgentPayload
    SetResourceInput SetResourcePayload DeleteResourceInput DeleteResourcePayload
    Schedule CreateScheduleInput CreateSchedulePayload DeleteScheduleInput DeleteSchedulePayload
    Webhook WebhookDelivery CreateWebhookInput CreateWebhookPayload DeleteWebhookInput DeleteWebhookPayload
    Remote RemoteKind RemoteTool RemoteCall RemoteToolInput RegisterRemoteInput RegisterRemotePayload
    AnswerRemoteCallInput AnswerRemoteCallPayload
    Agent CreateAgentInput Subscription
    Chat ChatMember Thread ChatMessage ChatMessageStatus CreateChatInput CreateChatPayload
    UpdateChatMembersInput UpdateChatMembersPayload CreateThreadInput CreateThreadPayload
    SetThreadResourceInput SetThreadResourcePayload PostMessageInput PostMessagePayload
""")

# Types of which a part is delivered, and that part.
PARTLY = {
    "Query": _words("""
        node nodes viewer run runs approvals agentKinds agent agents toolTypes remotes models schedules webhooks
        chat chats
    """),
    "Mutation": _words("""
        startRun steerRun withdrawInput cancelRun decideToolCalls completeToolCall retryRun forkRun
        addRunTools promptAgent createAgent updateAgent deleteAgent setResource deleteResource
        createChat updateChatMembers createThread setThreadResource postMessage
        registerRemote answerRemoteCall createSchedule deleteSchedule createWebhook deleteWebhook
    """),
}

CONNECTED = _words("""
    AgentRun AgentMessage ToolCall ModelCall Agent Resource Chat Thread ChatMessage Remote Schedule Webhook
""")
"""Types that come in connections, whose form the contract gives in words."""

_PAGE_INFO = """
    type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
"""
_CONNECTIONS = _PAGE_INFO + "".join(
    f"""
    type {name}Edge {{ cursor: String! node: {name}! }}
    type {name}Connection {{ edges: [{name}Edge!]! nodes: [{name}!]! pageInfo: PageInfo! totalCount: Int! }}
    """
    for name in CONNECTED
)

Types: TypeAlias = dict[str, TypeDefinitionNode]
Member: TypeAlias = FieldDefinitionNode | InputValueDefinitionNode
_WITH_FIELDS = (ObjectTypeDefinitionNode, InterfaceTypeDefinitionNode, InputObjectTypeDefinitionNode)


def differences(contract_text: str, printed_text: str) -> list[str]:
    """Where the printed schema breaks the contract, a sentence each. Raises GraphQLSyntaxError."""
    contract, printed = _types(contract_text) | _types(_CONNECTIONS), _types(printed_text)
    found = list(_missing(contract, printed))
    for name in contract.keys() & printed.keys():
        found += _of_type(name, contract[name], printed[name])
    return sorted(found)


def main(arguments: Sequence[str]) -> int:
    """The command: 0 where the schema keeps the contract, 1 where it does not, 2 where the arguments are wrong."""
    if len(arguments) not in (1, 2):
        print("usage: python -m schema.contract_check CONTRACT [PRINTED]", file=sys.stderr)
        return 2
    contract, printed = Path(arguments[0]), Path(arguments[1]) if len(arguments) == 2 else SCHEMA_FILE
    found = differences(contract.read_text(encoding="utf-8"), printed.read_text(encoding="utf-8"))
    for difference in found:
        print(difference, file=sys.stderr)
    if not found:
        print(f"{printed.name} keeps the contract: {len(WHOLE)} types whole, {len(PARTLY)} in part")
    return 1 if found else 0


def _types(text: str) -> Types:
    definitions = parse(text, no_location=True).definitions
    return {node.name.value: node for node in definitions if isinstance(node, TypeDefinitionNode)}


def _missing(contract: Types, printed: Types) -> Iterator[str]:
    """What is delivered and not printed, or said to be delivered and not in the contract."""
    wanted: dict[str, Iterable[str]] = {name: _parts(contract[name]) for name in WHOLE if name in contract}
    wanted |= {name: _parts(node) for name, node in _types(_CONNECTIONS).items()}
    wanted |= PARTLY
    for name in (*WHOLE, *PARTLY):
        if name not in contract:
            yield f"{name}: is listed as delivered, but the contract has no such type"
    for name, parts in wanted.items():
        if name not in printed:
            yield f"{name}: is missing"
            continue
        for part in sorted(set(parts) - set(_parts(printed[name]))):
            yield f"{name}.{part}: is missing"


def _parts(node: TypeDefinitionNode) -> list[str]:
    """The names of a type's fields, values or members."""
    if isinstance(node, _WITH_FIELDS):
        return [field.name.value for field in node.fields or ()]
    if isinstance(node, EnumTypeDefinitionNode):
        return [value.name.value for value in node.values or ()]
    if isinstance(node, UnionTypeDefinitionNode):
        return [member.name.value for member in node.types or ()]
    return []


def _of_type(name: str, contract: TypeDefinitionNode, printed: TypeDefinitionNode) -> Iterator[str]:
    """Differences within one type that both name."""
    if contract.kind != printed.kind:
        yield f"{name}: is {printed.kind}, not {contract.kind}"
        return
    for interface in sorted(_interfaces(contract) - _interfaces(printed)):
        yield f"{name}: does not implement {interface}"
    if not isinstance(contract, _WITH_FIELDS) or not isinstance(printed, _WITH_FIELDS):
        return
    promised = _by_name(contract.fields)
    for field_name, field in _by_name(printed.fields).items():
        path = f"{name}.{field_name}"
        if field_name in promised:
            yield from _of_member(path, promised[field_name], field)
        elif isinstance(field, InputValueDefinitionNode) and _is_required(field):
            yield f"{path}: is not in the contract and required"


def _of_member(path: str, contract: Member, printed: Member) -> Iterator[str]:
    """Differences within one field, input field or argument that both name."""
    if print_ast(contract.type) != print_ast(printed.type):
        yield f"{path}: is {print_ast(printed.type)}, not {print_ast(contract.type)}"
    if isinstance(contract, InputValueDefinitionNode) and isinstance(printed, InputValueDefinitionNode):
        if _default(contract) != _default(printed):
            yield f"{path}: defaults to {_default(printed)}, not {_default(contract)}"
        return
    promised, given = _by_name(_arguments(contract)), _by_name(_arguments(printed))
    for name in sorted(promised.keys() - given.keys()):
        yield f"{path}({name}:): is missing"
    for name, argument in given.items():
        if name in promised:
            yield from _of_member(f"{path}({name}:)", promised[name], argument)
        elif _is_required(argument):
            yield f"{path}({name}:): is not in the contract and required"


def _arguments(member: Any) -> Sequence[InputValueDefinitionNode]:
    return member.arguments or ()


def _by_name(nodes: Iterable[Any] | None) -> dict[str, Any]:
    return {node.name.value: node for node in nodes or ()}


def _interfaces(node: TypeDefinitionNode) -> set[str]:
    return {interface.name.value for interface in getattr(node, "interfaces", None) or ()}


def _default(node: InputValueDefinitionNode) -> str | None:
    return print_ast(node.default_value) if node.default_value else None


def _is_required(node: InputValueDefinitionNode) -> bool:
    return isinstance(node.type, NonNullTypeNode) and node.default_value is None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
