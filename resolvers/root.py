"""The three roots, joined: each field names its resolver, its type and its meaning. One guard covers them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import strawberry
from strawberry.extensions import FieldExtension, SchemaExtension
from strawberry.schema.config import StrawberryConfig

from engine.user import User
from models.clock import Clock, system_clock
from resolvers.access import Sight
from resolvers.agents import (
    create_agent,
    delete_agent,
    delete_resource,
    get_agent,
    list_agent_kinds,
    list_agents,
    list_tool_types,
    set_resource,
    update_agent,
)
from resolvers.approvals import complete_tool_call, decide_tool_calls, list_approvals, watch_approvals
from resolvers.chats import (
    create_chat,
    create_thread,
    get_chat,
    list_chats,
    post_message,
    set_thread_resource,
    update_chat_members,
    watch_chat_messages,
)
from resolvers.loaders import BatchedLoaders
from resolvers.node import get_node, get_nodes
from resolvers.prompting import add_run_tools, prompt_agent
from resolvers.remotes import answer_remote_call, delete_remote, list_remotes, register_remote, watch_remote_calls
from resolvers.runs import fork_run, get_run, list_runs, retry_run, start_run
from resolvers.schedules import create_schedule, delete_schedule, list_schedules
from resolvers.statistics import get_statistics
from resolvers.steering import cancel_run, steer_run, withdraw_input
from resolvers.streams import watch_messages, watch_run, watch_run_stream, watch_runs, watch_stream
from resolvers.viewer import get_viewer, list_models
from resolvers.webhooks import create_webhook, delete_webhook, list_webhooks
from schema.agent import Agent
from schema.agent_kind import AgentKind, ToolType
from schema.approvals import CompleteToolCallPayload, DecideToolCallsPayload
from schema.call import ToolCall
from schema.chat import Chat, ChatMessage
from schema.chatting import (
    CreateChatPayload,
    CreateThreadPayload,
    PostMessagePayload,
    SetThreadResourcePayload,
    UpdateChatMembersPayload,
)
from schema.connections import Connection
from schema.context import Info, RequestContext
from schema.errors import AgentRequiresUser
from schema.events import EVENT_TYPES, StreamEvent
from schema.keeping import (
    CreateAgentPayload,
    DeleteAgentPayload,
    DeleteResourcePayload,
    SetResourcePayload,
    UpdateAgentPayload,
)
from schema.message import AgentMessage
from schema.node import Node
from schema.operations import (
    CancelRunPayload,
    ForkRunPayload,
    RetryRunPayload,
    StartRunPayload,
    SteerRunPayload,
    WithdrawInputPayload,
)
from schema.prompting import AddRunToolsPayload, PromptAgentPayload
from schema.remote import (
    AnswerRemoteCallPayload,
    DeleteRemotePayload,
    RegisterRemotePayload,
    Remote,
    RemoteCall,
)
from schema.run import AgentRun, RunChange
from schema.scalars import SCALARS
from schema.schedule import CreateSchedulePayload, DeleteSchedulePayload, Schedule
from schema.statistics import Statistics
from schema.viewer import Model, Viewer
from schema.webhook import CreateWebhookPayload, DeleteWebhookPayload, Webhook

if TYPE_CHECKING:
    from engine.engine import Engine


@strawberry.type(description="What can be asked.")
class Query:
    """Reads."""

    node = strawberry.field(
        resolver=get_node,
        graphql_type=Node | None,
        description="Anything by its id; null where there is no such thing, and where it is someone else's.",
    )
    nodes = strawberry.field(
        resolver=get_nodes,
        graphql_type=list[Node | None],
        description="Several things by their ids, in the same order; null for each that `node` would give null for.",
    )
    viewer = strawberry.field(
        resolver=get_viewer,
        graphql_type=Viewer | None,
        description="Who is signed in; null when nobody is, and the one field that then answers.",
    )
    run = strawberry.field(
        resolver=get_run,
        graphql_type=AgentRun | None,
        description=(
            "One of the viewer's runs, or for administrators anybody's; null where there is no such run, and where it "
            "is someone else's."
        ),
    )
    runs = strawberry.field(
        resolver=list_runs,
        graphql_type=Connection[AgentRun],
        description="The viewer's runs, newest first; for administrators anybody's, where the filter says so.",
    )
    approvals = strawberry.field(
        resolver=list_approvals,
        graphql_type=Connection[ToolCall],
        description="The tool calls that wait for the viewer's decision, whoever's run they belong to, oldest first.",
    )
    agent_kinds = strawberry.field(
        resolver=list_agent_kinds,
        graphql_type=list[AgentKind],
        description="The kinds that agents can be created of.",
    )
    agent = strawberry.field(
        resolver=get_agent,
        graphql_type=Agent | None,
        description="One of the viewer's agents, by id or by handle; null where there is no such agent.",
    )
    agents = strawberry.field(
        resolver=list_agents, graphql_type=Connection[Agent], description="The viewer's agents, newest first."
    )
    remotes = strawberry.field(
        resolver=list_remotes,
        graphql_type=Connection[Remote],
        description="What offers tools to the viewer's runs, connected or not, newest first.",
    )
    tool_types = strawberry.field(
        resolver=list_tool_types,
        graphql_type=list[ToolType],
        description="What tools of agents can be made of; see `setResource`.",
    )
    schedules = strawberry.field(
        resolver=list_schedules,
        graphql_type=Connection[Schedule],
        description="The schedules that the viewer has created, and those whose runs are the viewer's, newest first.",
    )
    webhooks = strawberry.field(
        resolver=list_webhooks, graphql_type=Connection[Webhook], description="The viewer's webhooks, newest first."
    )
    statistics = strawberry.field(
        resolver=get_statistics,
        graphql_type=Statistics,
        description="How the viewer's runs have gone over a span of time, and how they stand now.",
    )
    models = strawberry.field(
        resolver=list_models,
        graphql_type=list[Model],
        description="The models that this deployment knows, and whether agents may use them.",
    )
    chat = strawberry.field(
        resolver=get_chat,
        graphql_type=Chat | None,
        description="A chat that the viewer is in; null where there is none, and where the viewer is not in it.",
    )
    chats = strawberry.field(
        resolver=list_chats, graphql_type=Connection[Chat], description="The chats that the viewer is in, newest first."
    )


@strawberry.type(
    description=(
        "What can be done. Expected failures are data, in a payload's `errors`; a defect, a limit or a missing sign-in "
        "is a top-level error."
    )
)
class Mutation:
    """Writes."""

    start_run = strawberry.field(
        resolver=start_run,
        graphql_type=StartRunPayload,
        description=(
            "Start a run of an agent. With `runId`, say the next thing to that run, or queue it where the run is "
            "generating or waiting."
        ),
    )
    steer_run = strawberry.field(
        resolver=steer_run,
        graphql_type=SteerRunPayload,
        description=(
            "Say something to a run at work: it is folded in at the next turn boundary, or at once with INTERRUPT. A "
            "run that is not at work begins its next turn with it."
        ),
    )
    withdraw_input = strawberry.field(
        resolver=withdraw_input,
        graphql_type=WithdrawInputPayload,
        description="Take back an input that still waits.",
    )
    cancel_run = strawberry.field(
        resolver=cancel_run,
        graphql_type=CancelRunPayload,
        description=(
            "Stop a run, in the middle of a response or of a tool if need be. What was shown of the response is kept. "
            "Input sent before is kept unanswered; input sent after begins the next turn."
        ),
    )
    add_run_tools = strawberry.field(
        resolver=add_run_tools,
        graphql_type=AddRunToolsPayload,
        description=(
            "Give a run further tools, before or while it works; for holders of a role that the server's settings "
            "name, else FORBIDDEN."
        ),
    )
    prompt_agent = strawberry.field(
        resolver=prompt_agent,
        graphql_type=PromptAgentPayload,
        description="Ask an agent once, outside any chat: a new run, whose stream is the answer.",
    )
    decide_tool_calls = strawberry.field(
        resolver=decide_tool_calls,
        graphql_type=DecideToolCallsPayload,
        description=(
            "Approve or deny tool calls that wait for a person: any of them at a time, each once. With the last one "
            "the run goes on."
        ),
    )
    complete_tool_call = strawberry.field(
        resolver=complete_tool_call,
        graphql_type=CompleteToolCallPayload,
        description="Answer a tool call that waits for a client. With the last one that waits the run goes on.",
    )
    retry_run = strawberry.field(
        resolver=retry_run,
        graphql_type=RetryRunPayload,
        description="Go on with a FAILED or CANCELLED run from its last completed step, without new input.",
    )
    fork_run = strawberry.field(
        resolver=fork_run,
        graphql_type=ForkRunPayload,
        description="Begin a new run with a copy of another's transcript up to a message. Tools are not run again.",
    )
    create_agent = strawberry.field(
        resolver=create_agent,
        graphql_type=CreateAgentPayload,
        description="Store an agent of a kind, which startRun runs by its id or handle.",
    )
    update_agent = strawberry.field(
        resolver=update_agent,
        graphql_type=UpdateAgentPayload,
        description="Change an agent. What runs of it generate from then on follows the change.",
    )
    delete_agent = strawberry.field(
        resolver=delete_agent,
        graphql_type=DeleteAgentPayload,
        description="Remove an agent with its resources. Its runs stay, and can't be gone on with.",
    )
    set_resource = strawberry.field(
        resolver=set_resource,
        graphql_type=SetResourcePayload,
        description="Give an agent a tool or a document, in the place of the one with the same kind and key.",
    )
    delete_resource = strawberry.field(
        resolver=delete_resource,
        graphql_type=DeleteResourcePayload,
        description="Take a tool or a document from an agent.",
    )
    create_schedule = strawberry.field(
        resolver=create_schedule,
        graphql_type=CreateSchedulePayload,
        description="Have an agent told something again and again, when a cron expression says so.",
    )
    delete_schedule = strawberry.field(
        resolver=delete_schedule,
        graphql_type=DeleteSchedulePayload,
        description="Remove a schedule. What it has begun goes on.",
    )
    create_webhook = strawberry.field(
        resolver=create_webhook,
        graphql_type=CreateWebhookPayload,
        description="Have an address posted to, signed, when a turn of one of the viewer's runs has ended.",
    )
    delete_webhook = strawberry.field(
        resolver=delete_webhook,
        graphql_type=DeleteWebhookPayload,
        description="Remove a webhook. What it was not yet told is told no more.",
    )
    register_remote = strawberry.field(
        resolver=register_remote,
        graphql_type=RegisterRemotePayload,
        description=(
            "Offer tools to the viewer's runs: a client's own, which answers their calls in `remoteCalls`, or those of "
            "an MCP server. The same name again replaces what was offered, under the same id."
        ),
    )
    delete_remote = strawberry.field(
        resolver=delete_remote,
        graphql_type=DeleteRemotePayload,
        description="Take a remote away. Runs that wait for it read that it has left.",
    )
    answer_remote_call = strawberry.field(
        resolver=answer_remote_call,
        graphql_type=AnswerRemoteCallPayload,
        description="Answer a call of a client's tool, once. With the last call that it waits for the run goes on.",
    )
    create_chat = strawberry.field(
        resolver=create_chat,
        graphql_type=CreateChatPayload,
        description="Make a chat of people and agents, with its first thread.",
    )
    update_chat_members = strawberry.field(
        resolver=update_chat_members,
        graphql_type=UpdateChatMembersPayload,
        description="Let people and agents into a chat, or take them out; taking out oneself is leaving it.",
    )
    create_thread = strawberry.field(
        resolver=create_thread,
        graphql_type=CreateThreadPayload,
        description="Begin a further thread of a chat, with nothing said in it.",
    )
    set_thread_resource = strawberry.field(
        resolver=set_thread_resource,
        graphql_type=SetThreadResourcePayload,
        description="Give the agents of a thread a remote to use in it, or take it away.",
    )
    post_message = strawberry.field(
        resolver=post_message,
        graphql_type=PostMessagePayload,
        description=(
            "Post a message in a thread: the agents that it mentions answer it, else all that are in the chat. One "
            "that is answering already takes it in."
        ),
    )


@strawberry.type(
    description=(
        "What can be watched. `stream` completes after RunResult; the others go on until the client leaves. Leaving "
        "never stops a run."
    )
)
class Subscription:
    """What is live."""

    run = strawberry.subscription(
        resolver=watch_run,
        graphql_type=AgentRun,
        description="A run as it is now, then again at each change; states that passed in between may be skipped.",
    )
    runs = strawberry.subscription(
        resolver=watch_runs,
        graphql_type=RunChange,
        description="Changes alone, of every run that the viewer may see: subscribe first, then query `runs`.",
    )
    messages = strawberry.subscription(
        resolver=watch_messages,
        graphql_type=AgentMessage,
        description="Each message of a run once and in order: those that are stored first, then each as it is stored.",
    )
    approvals = strawberry.subscription(
        resolver=watch_approvals,
        graphql_type=ToolCall,
        description=(
            "The tool calls that wait for the viewer's decision now, oldest first; then each that begins to wait, and "
            "each again when it is decided or ceases to wait."
        ),
    )
    stream = strawberry.subscription(
        resolver=watch_stream,
        graphql_type=StreamEvent,
        description=(
            "One generation: what has happened, then what happens, up to RunResult. The stream of a generation that "
            "has ended stays readable for as long as its run does."
        ),
    )
    remote_calls = strawberry.subscription(
        resolver=watch_remote_calls,
        graphql_type=RemoteCall,
        description=(
            "The calls that wait for a client's answer, oldest first, then each that begins to; all that is unanswered "
            "comes again at each subscription. The client is connected for as long as one lives, and a little longer."
        ),
    )
    run_stream = strawberry.subscription(
        resolver=watch_run_stream,
        graphql_type=StreamEvent,
        description="One generation of a run, the current one by default, and then every later one, missing none.",
    )
    chat_messages = strawberry.subscription(
        resolver=watch_chat_messages,
        graphql_type=ChatMessage,
        description=(
            "The messages of a thread as they are, then each new one, and each that is being written again as it "
            "grows, up to what it stays. It completes when the viewer leaves the chat."
        ),
    )


OPEN_FIELDS = frozenset({"viewer"})
"""The root fields that answer without a signed-in user."""


class RequiresUser(FieldExtension):
    """Refuses a root field where nobody is signed in."""

    def resolve(self, next_: Callable[..., Any], source: Any, info: Info, **arguments: Any) -> Any:
        """Call a plain resolver. Raises AgentRequiresUser."""
        _require_user(info)
        return next_(source, info, **arguments)

    async def resolve_async(self, next_: Callable[..., Any], source: Any, info: Info, **arguments: Any) -> Any:
        """Call a coroutine. Raises AgentRequiresUser."""
        _require_user(info)
        return await next_(source, info, **arguments)


def _require_user(info: Info) -> None:
    if info.context.user is None:
        raise AgentRequiresUser


def _guard(roots: Iterable[Any]) -> None:
    """Put RequiresUser on every field of the roots but OPEN_FIELDS, so that a new field can't be forgotten."""
    for root in roots:
        for field in root.__strawberry_definition__.fields:
            if field.python_name not in OPEN_FIELDS:
                field.extensions.append(RequiresUser())


_guard((Query, Mutation, Subscription))


def build_schema(extensions: Iterable[type[SchemaExtension] | Callable[[], SchemaExtension]] = ()) -> strawberry.Schema:
    """The whole schema; `extensions` are the server's own (limits, caches, masking)."""
    return strawberry.Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=EVENT_TYPES,
        extensions=extensions,
        config=StrawberryConfig(scalar_map=SCALARS),
    )


def new_context(engine: Engine, user: User | None, request_id: str, *, clock: Clock = system_clock) -> RequestContext:
    """The context of one HTTP request or one WebSocket; `user` is None where nobody is signed in."""
    sight = Sight(user, sees_all_runs=user is not None and engine.is_admin(user))
    loaders = BatchedLoaders(engine.database, engine.roster, sight)
    return RequestContext(user=user, engine=engine, request_id=request_id, loaders=loaders, clock=clock)
