"""The stories' model as a process of its own: `python -m tests.cluster.model`. Its first line is its address.

`GET /refusals` tells how many requests there were, and why any was refused.
"""

from __future__ import annotations

import argparse
import asyncio
import signal

import uvloop

from tests.cluster.stories import NoStory, spoken
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer, Request


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, required=True, help="words of each answer, one delta each")
    parser.add_argument("--pace", type=float, required=True, help="milliseconds before each delta")
    parser.add_argument("--longest", type=float, required=True, help="seconds that tools take at most")
    options = parser.parse_args()
    uvloop.run(_serve(options.words, options.pace / 1000, options.longest))


async def _serve(words: int, pace: float, longest: float) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with MessagesServer(keeps=False) as server:

        def answer(request: Request) -> Script:
            try:
                return script_for(request, words, longest).paced(pace)
            except NoStory as error:
                server.refused.append(f"no story: {error}")
                return Script.status(400, "invalid_request_error", "no story")

        server.answer(answer)
        print(server.url, flush=True)  # noqa: T201 - it is this command's output
        await stopped.wait()


def script_for(request: Request, words: int, longest: float) -> Script:
    """What is said in answer to a request."""
    answer = spoken(request.messages, words, longest)
    script = Script()
    if answer.thoughts:
        script.thinking(*answer.thoughts)
    script.text(*answer.words)
    if answer.call is not None:
        script.tool(*answer.call)
    if answer.is_dear:  # as much as a provider may take
        script.stop("end_turn" if answer.call is None else "tool_use", output_tokens=request.body["max_tokens"])
    return script


if __name__ == "__main__":
    main()
