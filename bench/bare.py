"""The measure of comparison: a bare loop over the SDK. Nothing is kept, nothing can be resumed, stopped or steered.

`/deltas` sends each delta to one WebSocket; `/runs?n=` makes n runs of three steps with two tool calls, one after
another, and answers when they are done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anthropic import AsyncAnthropic
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from bench.agent import ANSWER, MODEL, SYSTEM, TOOL
from bench.serving import serve
from steersman.serving import make_server


async def steps(client: AsyncAnthropic, messages: list[dict[str, Any]]) -> AsyncIterator[str]:
    """An agent's loop over the SDK: the deltas of its text, until the model calls no more tools."""
    while True:
        blocks: list[dict[str, Any]] = []
        parts: list[str] = []
        request: dict[str, Any] = {"messages": messages, "tools": [TOOL], "system": SYSTEM}
        async with await client.messages.create(model=MODEL, max_tokens=8_192, stream=True, **request) as stream:
            async for event in stream:
                if event.type == "content_block_start":
                    blocks.append(event.content_block.model_dump())
                    parts = []
                elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                    parts.append(event.delta.text)
                    yield event.delta.text
                elif event.type == "content_block_delta":
                    parts.append(event.delta.partial_json)
                elif event.type == "content_block_stop":
                    whole = "".join(parts)
                    if blocks[-1]["type"] == "text":
                        blocks[-1]["text"] = whole
                    else:
                        blocks[-1]["input"] = json.loads(whole or "{}")
        messages.append({"role": "assistant", "content": blocks})
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if not calls:
            return
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": ANSWER} for call in calls]
        messages.append({"role": "user", "content": results})


def application(base_url: str) -> Starlette:
    """The two pages of the comparison."""
    client = AsyncAnthropic(api_key="none", base_url=base_url, max_retries=0)

    async def deltas(socket: WebSocket) -> None:
        await socket.accept()
        seq = 0
        async for text in steps(client, [{"role": "user", "content": "go"}]):
            seq += 1
            await socket.send_text(json.dumps({"seq": seq, "text": text}))
        await socket.send_text("end")
        await socket.close()

    async def runs(request: Request) -> PlainTextResponse:
        for _ in range(int(request.query_params["n"])):
            async for _text in steps(client, [{"role": "user", "content": "go"}]):
                pass
        return PlainTextResponse("done")

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await client.close()

    return Starlette(routes=[WebSocketRoute("/deltas", deltas), Route("/runs", runs)], lifespan=lifespan)


async def main() -> None:
    """Serve until SIGTERM; the first line of output is the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url", help="where the Messages API is")
    server = make_server(application(parser.parse_args().base_url), host="127.0.0.1", port=0)
    await serve(server)


if __name__ == "__main__":
    asyncio.run(main())
