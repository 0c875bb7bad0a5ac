"""`steersman tools`: what an agent's tools take, and calls of them without a model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

import click

from engine.agent import Agent
from engine.bad_arguments import BadArguments
from engine.bad_config import BadConfig
from engine.cancelled import Cancelled
from engine.context import Context
from engine.executing import Outcome, execute
from engine.kinds import configured
from engine.loading import Agents, load_agents
from engine.tool import Tool
from models.ids import Ids
from steersman import log
from steersman.commands.complaints import Complaint
from steersman.commands.loop import run
from steersman.settings import read_settings, secrets_of


@click.group("tools")
def command() -> None:
    """List an agent's tools, and call one without a model.

    For authors of agents: nothing is stored, no server is needed, no model is asked.
    """


@command.command("list", short_help="List tools: what each takes, and what it is for.")
@click.argument("agent", required=False)
def show_list(agent: str | None) -> None:
    """List the tools of AGENT, or of every agent: what each takes, and what it is for."""
    agents = _agents()
    for name in [agent] if agent is not None else agents:
        for tool in _agent(agents, name).toolbox.values():
            click.echo(f"{name}.{tool.name}({', '.join(_parameter(*item) for item in _parameters(tool).items())})")
            click.echo(f"    {' '.join(tool.description.split()) or 'It has no description.'}")


@command.command("call", short_help="Call a tool as a model would, and print its result.")
@click.argument("name", metavar="AGENT.TOOL")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--as-user", default="dev", show_default=True, metavar="ID", help="Whose call it is.")
@click.option("--role", "roles", multiple=True, metavar="R", help="A role of that user; may be given again.")
def call(name: str, arguments: tuple[str, ...], as_user: str, roles: tuple[str, ...]) -> None:
    """Call a tool as a model would, its arguments checked, and print the result that the model would read.

    Values are taken as text, which the check turns into numbers and the like; what begins with { or [ is read as JSON.
    Progress goes to standard error. Ctrl-C asks the tool to stop. A tool that asks a model (ctx.llm) fails here. The
    exit code is 1 where it failed.
    """
    agents = _agents()
    agent_name, mark, tool_name = name.partition(".")
    if not mark:
        raise click.UsageError("Name it as AGENT.TOOL, such as calculator.calculate.")
    tool = _agent(agents, agent_name).toolbox.get(tool_name)
    if tool is None:
        there = ", ".join(_agent(agents, agent_name).toolbox) or "none"
        raise Complaint(f"The agent {agent_name!r} has no tool {tool_name!r}; its tools are: {there}.")
    try:
        checked = tool.check(_given(arguments, tool))
    except BadArguments as error:
        raise Complaint(str(error)) from error
    outcome = run(_call(agents, tool, checked, _agent(agents, agent_name), as_user, roles))
    click.echo(outcome.text, err=outcome.is_error)
    if outcome.is_error:
        click.get_current_context().exit(1)


def _agents() -> Agents:
    settings = read_settings(os.environ)
    log.configure(settings.log_format, settings.log_level, secrets=secrets_of(settings))
    agents = load_agents(settings.agents)
    for error in agents.errors:
        click.echo(f"steersman: not loaded: {error}", err=True)
    return agents


def _agent(agents: Agents, name: str) -> Agent:
    agent = agents.get(name)
    if agent is None:
        raise Complaint(f"There is no agent {name!r}; there are: {', '.join(agents) or 'none'}.")
    return agent


def _parameters(tool: Tool[..., Any]) -> dict[str, dict[str, Any]]:
    properties: dict[str, dict[str, Any]] = tool.parameters.schema["properties"]
    required = tool.parameters.schema.get("required", ())
    return {name: {**schema, "required": name in required} for name, schema in properties.items()}


def _parameter(name: str, schema: dict[str, Any]) -> str:
    kind = schema.get("type", "")
    default = "" if schema["required"] else f" = {json.dumps(schema.get('default'), ensure_ascii=False)}"
    return f"{name}{f': {kind}' if isinstance(kind, str) and kind else ''}{default}"


def _given(arguments: tuple[str, ...], tool: Tool[..., Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for argument in arguments:
        key, mark, text = argument.partition("=")
        if not mark or not key:
            raise click.UsageError(f"Arguments are given as KEY=VALUE, not {argument!r}.")
        given[key] = _value(key, text, _parameters(tool).get(key, {}))
    return given


def _value(key: str, text: str, schema: dict[str, Any]) -> Any:
    if schema.get("type") == "string" or not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{key} is no JSON: {error}.") from error


def _usual_config(agent: Agent) -> Any:
    """The configuration in which nothing is given; None where the agent has no fields, or one without a default."""
    try:
        return configured(agent, None).config
    except BadConfig:
        return None


async def _call(
    agents: Agents, tool: Tool[..., Any], checked: dict[str, Any], agent: Agent, user: str, roles: tuple[str, ...]
) -> Outcome:
    stop, ids = Cancelled(), Ids()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)

    def report(message: str, fraction: float | None) -> None:
        click.echo(message if fraction is None else f"{message} ({fraction:.0%})", err=True)

    async with agents.open_deps() as deps:
        context: Context[Any] = Context(
            user_id=user,
            roles=roles,
            run_id=ids("run"),
            agent=str(agent.name),
            config=_usual_config(agent),
            tool_call_id=ids("call"),
            deps=deps,
            report=report,
        )
        return await execute(tool, checked, context, stop=stop)
