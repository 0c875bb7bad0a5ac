"""The stand-in of the Messages API as a process of its own, which says its address in its first line of output."""

from __future__ import annotations

import asyncio
import signal

import uvloop

from bench.scaling.plot import plot_of
from tests.support.messages_rules import blocks_of
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer, Request


def script_for(request: Request) -> Script:
    """What the plot in the first input says to this step."""
    messages = request.messages
    plot = plot_of("".join(block.get("text", "") for block in blocks_of(messages[0])))
    step = 1 + sum(message["role"] == "assistant" for message in messages)
    words = ("word " * (plot.size // 5 + 1))[: plot.size]
    script = Script().paced(plot.pace / 1000).text(*([words] * plot.deltas))
    return script.tool(plot.tool, {"word": f"word{step}"}) if step < plot.steps else script


async def main() -> None:
    """Serve until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with MessagesServer(keeps=False) as server:
        server.answer(script_for)
        print(server.url, flush=True)
        await stopped.wait()


if __name__ == "__main__":
    uvloop.run(main())
