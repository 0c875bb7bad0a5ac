"""The scripted Messages API server as a process of its own, for benchmarks and crash tests.

Which script answers depends on the request alone, on how many answers there are since its last input, so a step that
is asked for again after a crash is answered alike. `GET /requests` tells what was asked and how far each answer got.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from pathlib import Path
from typing import Any

from engine.providers.arguments import sample_arguments
from tests.support.messages_script import Script, script_of
from tests.support.messages_server import Chooser, MessagesServer, Request


def main() -> None:
    """Serve until SIGTERM, SIGINT; the first line of the output is the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--programme", type=Path, help="a JSON list of scripts, one a step (messages_script.script_of)")
    parser.add_argument("--steps", type=int, default=3, help="steps of a turn; all but the last call a tool")
    parser.add_argument("--deltas", type=int, default=50, help="deltas of text in each step")
    parser.add_argument("--pace", type=float, default=0.0, help="milliseconds before each delta")
    options = parser.parse_args()
    if options.programme is not None:
        chooser = scripts_by_step(json.loads(options.programme.read_text(encoding="utf-8")), options.pace / 1000)
    else:
        chooser = steps_with_tools(options.steps, options.deltas, options.pace / 1000)
    asyncio.run(_serve(options.port, chooser))


def scripts_by_step(programme: list[list[dict[str, Any]]], pace: float = 0.0) -> Chooser:
    """The script of a step by its number in the turn; after the last one it begins again."""
    return lambda request: script_of(programme[step_of(request) % len(programme)]).paced(pace)


def steps_with_tools(steps: int, deltas: int, pace: float = 0.0) -> Chooser:
    """So many steps of so many deltas; all but the last call the first tool that is offered, with plausible input."""

    def choose(request: Request) -> Script:
        step, tools = step_of(request), request.body.get("tools", [])
        script = Script().paced(pace).text(*(f"word{number} " for number in range(deltas)))
        if step < steps - 1 and tools:
            tool = tools[step % len(tools)]
            script.tool(tool["name"], sample_arguments(tool["input_schema"]))
        return script

    return choose


def step_of(request: Request) -> int:
    """How many answers the request holds since the last input that was no tool result, from 0."""
    step = 0
    for message in reversed(request.messages):
        if message["role"] == "assistant":
            step += 1
        elif isinstance(message["content"], str) or message["content"][0]["type"] != "tool_result":
            break
    return step


async def _serve(port: int, chooser: Chooser) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with MessagesServer(port=port) as server:
        server.answer(chooser)
        print(server.url, flush=True)  # noqa: T201 - it is this command's output
        await stopped.wait()


if __name__ == "__main__":
    main()
