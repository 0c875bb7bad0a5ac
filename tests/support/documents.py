"""GraphQL documents as a client's developer would write them: every field of every type, and one for each operation."""

from __future__ import annotations

import re

USAGE = "inputTokens outputTokens cacheReadTokens cacheWriteTokens cost"

BLOCK = """
__typename
... on TextBlock { text }
... on ReasoningBlock { text }
... on ToolUseBlock { toolCallId name input }
... on ToolResultBlock { toolCallId content isError }
... on ImageBlock { mediaType url }
... on DocumentBlock { mediaType title url }
... on OtherBlock { type data }
"""

FRAGMENTS = {
    "Message": f"""
fragment Message on AgentMessage {{
  __typename id runId userId seq role content blocks {{ {BLOCK} }} text model stopReason usage {{ {USAGE} }} createdAt
}}""",
    "Call": """
fragment Call on ToolCall {
  __typename id runId agent userId step name input inputSchema state result isError startedAt finishedAt
  approvers expiresAt decidedBy decidedAt reason childRun { id }
}""",
    "ModelAnswer": f"""
fragment ModelAnswer on ModelCall {{
  __typename id runId step attempt model usage {{ {USAGE} }} stopReason startedAt firstTokenAt finishedAt requestId
}}""",
    "Row": f"""
fragment Row on AgentRun {{
  __typename id agent userId status finish title streamId error {{ code message }}
  pendingInput {{ id text mode createdAt }} pendingCalls {{ ...Call }} cancelRequested steps usage {{ {USAGE} }}
  budget {{ cost tokens spentCost spentTokens }} output metadata parent {{ id }}
  children {{ nodes {{ id }} totalCount }} forkedFrom {{ id runId seq }} createdAt startedAt updatedAt
}}""",
    "Whole": """
fragment Whole on AgentRun {
  ...Row
  messages(first: 100) { nodes { ...Message } totalCount }
  toolCalls(first: 100) { nodes { ...Call } totalCount }
  modelCalls(first: 100) { nodes { ...ModelAnswer } totalCount }
}""",
    "Stored": """
fragment Stored on Agent {
  __typename id name handle description picture userId temporary sharedWith config createdAt updatedAt
  kind { identifier available description examples fields { name type default description required } jsonSchema }
  resources(first: 100) { nodes { __typename id key kind value } totalCount }
  runs(first: 100) { nodes { id } totalCount } mainChat { id }
}""",
    "Spoken": """
fragment Spoken on ChatMessage {
  __typename id threadId seq senderUserId senderAgent { id name config resources { totalCount } }
  text reasoning runId status createdAt
}""",
    "Conversation": """
fragment Conversation on Thread {
  __typename id chatId title createdAt
  resources(first: 100) { nodes { __typename id key kind value } totalCount }
  messages(first: 100) { nodes { ...Spoken } totalCount }
}""",
    "Room": """
fragment Room on Chat {
  __typename id title temporary createdAt members { userId agent { id name } }
  threads(first: 100) { nodes { ...Conversation } totalCount }
}""",
    "Planned": """
fragment Planned on Schedule {
  __typename id userId agent input cron timeZone enabled nextAt lastRun { id } lastError
}""",
    "Hook": """
fragment Hook on Webhook {
  __typename id url agent enabled lastDelivery { runId status attempts deliveredAt error }
}""",
    "Offered": """
fragment Offered on Remote { __typename id name kind connected tools { name description inputSchema } }""",
    "Event": f"""
fragment Event on StreamEvent {{
  __typename streamId seq step attempt at
  ... on TextDelta {{ block offset text }}
  ... on ReasoningDelta {{ block offset text }}
  ... on ToolCallStarted {{ toolCallId name input }}
  ... on ToolCallProgress {{ toolCallId message fraction }}
  ... on ToolCallFinished {{ toolCallId name input result isError }}
  ... on InputQueued {{ inputId queued }}
  ... on InputApplied {{ inputIds messageSeq }}
  ... on StepFinished {{ messageSeq stopReason usage {{ {USAGE} }} }}
  ... on StepRestarted {{ reason }}
  ... on ModelFellBack {{ from to reason }}
  ... on ContextCompacted {{ tokensBefore tokensAfter }}
  ... on CallsWaiting {{ calls {{ ...Call }} }}
  ... on SubagentStarted {{ toolCallId runId agent }}
  ... on SubagentFinished {{ toolCallId runId status }}
  ... on RunResult {{
    runId status finish text output model steps usage {{ {USAGE} }} cancelled error {{ code message }}
  }}
}}""",
}


_SPREAD = re.compile(r"\.\.\.([A-Z]\w*)")


def document(operation: str) -> str:
    """The operation with the fragments that it spreads, and those that these spread."""
    needed: dict[str, str] = {}
    unread = [operation]
    while unread:
        for name in _SPREAD.findall(unread.pop()):
            if name not in needed:
                needed[name] = FRAGMENTS[name]
                unread.append(FRAGMENTS[name])
    return "\n".join([operation, *needed.values()])


def keeping(name: str, answer: str = "agent { ...Stored }") -> str:
    """A mutation of what is kept, with what it answers and its errors."""
    """A mutation of agents or chats, with what it answers and its errors."""
    kind = name[0].upper() + name[1:]
    fields = f"{answer} errors {{ code message field }}"
    return document(f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {fields} }} }}")


def mutation(name: str, *fields: str) -> str:
    """A mutation with its run, its errors and further fields of its payload."""
    kind = name[0].upper() + name[1:]
    selected = " ".join(["run { ...Row }", *fields, "errors { code message field }"])
    return document(f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {selected} }} }}")


RUN = document("query ($id: ID!) { run(id: $id) { ...Whole } }")
START = mutation("startRun", "queued", "inputId")
STEER = mutation("steerRun", "queued", "inputId")
WITHDRAW = mutation("withdrawInput", "withdrawn")
CANCEL = mutation("cancelRun")
RETRY = mutation("retryRun")
FORK = mutation("forkRun")
DECIDE = mutation("decideToolCalls")
COMPLETE = mutation("completeToolCall")
ADD_RUN_TOOLS = mutation("addRunTools")
PROMPT = mutation("promptAgent")
CREATE_AGENT = keeping("createAgent")
UPDATE_AGENT = keeping("updateAgent")
DELETE_AGENT = keeping("deleteAgent", "deletedId")
SET_RESOURCE = keeping("setResource")
DELETE_RESOURCE = keeping("deleteResource")
CREATE_SCHEDULE = keeping("createSchedule", "schedule { ...Planned }")
DELETE_SCHEDULE = keeping("deleteSchedule", "deletedId")
SCHEDULES = document("{ schedules { nodes { ...Planned } totalCount } }")
CREATE_WEBHOOK = keeping("createWebhook", "webhook { ...Hook } secret")
DELETE_WEBHOOK = keeping("deleteWebhook", "deletedId")
WEBHOOKS = document("{ webhooks { nodes { ...Hook } totalCount } }")
CREATE_CHAT = keeping("createChat", "chat { ...Room } thread { ...Conversation }")
UPDATE_CHAT_MEMBERS = keeping("updateChatMembers", "chat { ...Room }")
CREATE_THREAD = keeping("createThread", "thread { ...Conversation }")
SET_THREAD_RESOURCE = keeping("setThreadResource", "thread { ...Conversation }")
POST_MESSAGE = keeping("postMessage", "message { ...Spoken }")
CHAT = document("query ($id: ID!) { chat(id: $id) { ...Room } }")
CHATS = document(
    "query ($first: Int, $after: String) { chats(first: $first, after: $after) "
    "{ nodes { ...Room } totalCount pageInfo { hasNextPage endCursor } } }"
)
WATCH_CHAT_MESSAGES = document(
    "subscription ($threadId: ID!, $afterSeq: Int) "
    "{ chatMessages(threadId: $threadId, afterSeq: $afterSeq) { ...Spoken } }"
)
AGENT = document("query ($id: ID, $handle: String) { agent(id: $id, handle: $handle) { ...Stored } }")
AGENTS = document(
    "query ($first: Int, $after: String) { agents(first: $first, after: $after) "
    "{ nodes { ...Stored } totalCount pageInfo { hasNextPage endCursor } } }"
)
REGISTER_REMOTE = keeping("registerRemote", "remote { ...Offered }")
DELETE_REMOTE = keeping("deleteRemote", "deletedId")
ANSWER_REMOTE_CALL = keeping("answerRemoteCall", "accepted")
REMOTES = document("query ($first: Int) { remotes(first: $first) { nodes { ...Offered } totalCount } }")
REMOTE = document("query ($id: ID!) { node(id: $id) { ...Offered } }")
KINDS = (
    "{ agentKinds { identifier available description examples jsonSchema"
    " fields { name type default description required } } }"
)
TOOL_TYPES = "{ toolTypes { identifier description inputSchema configSchema } }"
APPROVALS = document(
    "query ($first: Int, $after: String) { approvals(first: $first, after: $after) "
    "{ nodes { ...Call } totalCount pageInfo { hasNextPage endCursor } } }"
)

WATCH_RUN = document("subscription ($id: ID!) { run(id: $id) { ...Row } }")
WATCH_RUNS = document("subscription ($filter: RunFilter) { runs(filter: $filter) { kind runId run { ...Row } } }")
WATCH_MESSAGES = document(
    "subscription ($runId: ID!, $afterSeq: Int) { messages(runId: $runId, afterSeq: $afterSeq) { ...Message } }"
)
WATCH_STREAM = document(
    "subscription ($streamId: ID!, $after: Int) { stream(streamId: $streamId, after: $after) { ...Event } }"
)
WATCH_APPROVALS = document("subscription { approvals { ...Call } }")
WATCH_RUN_STREAM = document(
    "subscription ($runId: ID!, $streamId: ID, $after: Int) "
    "{ runStream(runId: $runId, streamId: $streamId, after: $after) { ...Event } }"
)
WATCH_REMOTE_CALLS = (
    "subscription ($id: ID!) { remoteCalls(remoteId: $id) { __typename id remoteId runId tool input deadline } }"
)
