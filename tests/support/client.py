"""A client of the API as its developer would write it: requests by POST, everything live over one socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Self

import httpx2

from tests.support import documents
from tests.support.clients import TLS, GraphQLFailed, TransportWsClient, bearer, connected, event_stream
from tests.support.page import Page
from tests.support.server import Running

Json = dict[str, Any]
SETTLED = ("COMPLETED", "FAILED", "CANCELLED")


class Client:
    """One user on one device; connections are made when they are first needed, and again after a restart."""

    def __init__(self, server: Callable[[], Running], token: str | None) -> None:
        self.server = server
        self.token = token
        self.feeds: list[Feed] = []
        self._http = httpx2.AsyncClient(headers=bearer(token), timeout=60, verify=TLS)
        self._socket: TransportWsClient | None = None
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()

    # ------------------------------------------------------------------ requests

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        """Post a body as JSON, every character beyond ASCII as an escape; bytes are sent as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **headers}
        return await self._http.post(self.server().graphql, content=content, headers=headers)

    async def answer(self, document: str, **variables: Any) -> Json:
        """The whole answer, errors and all."""
        response = await self.post({"query": document, "variables": variables})
        answer: Json = response.json()
        return answer

    async def answer_raw(self, document: str, variables: str) -> Json:
        """The whole answer to a request whose variables are this very text."""
        response = await self.post(f'{{"query": {json.dumps(document)}, "variables": {variables}}}'.encode())
        answer: Json = response.json()
        return answer

    async def ask(self, document: str, **variables: Any) -> Json:
        """The data. Raises GraphQLFailed where there are errors."""
        answer = await self.answer(document, **variables)
        if answer.get("errors"):
            raise GraphQLFailed(answer["errors"])
        data: Json = answer["data"]
        return data

    async def codes(self, document: str, **variables: Any) -> list[str]:
        """The codes of the top-level errors."""
        return GraphQLFailed((await self.answer(document, **variables)).get("errors", [])).codes

    async def do(self, document: str, **given: Any) -> Json:
        """What came of a mutation whose one argument is an input: its payload, refused or not."""
        (payload,) = (await self.ask(document, input=given)).values()
        return dict(payload)

    async def done(self, document: str, **given: Any) -> Json:
        """What came of a mutation that must not be refused."""
        payload = await self.do(document, **given)
        assert payload["errors"] == [], payload["errors"]
        return payload

    async def refusal(self, document: str, **given: Any) -> tuple[str, list[str] | None]:
        """The code and the field of the one reason for which a mutation is refused."""
        payload = await self.do(document, **given)
        done = {name: value for name, value in payload.items() if name != "errors" and value not in (None, False)}
        assert done == {}, payload
        (error,) = payload["errors"]
        assert error["message"]
        return error["code"], error["field"]

    async def start(self, text: str = "Hi", *, agent: str = "helper", **more: Any) -> Json:
        """Start a run; it."""
        run: Json = (await self.done(documents.START, agent=agent, input=text, **more))["run"]
        return run

    async def steer(self, run_id: str, text: str, **more: Any) -> Json:
        """Say something to a run; the payload."""
        return await self.done(documents.STEER, runId=run_id, input=text, **more)

    async def cancel(self, run_id: str) -> Json:
        """Stop a run; it."""
        run: Json = (await self.done(documents.CANCEL, runId=run_id))["run"]
        return run

    async def run(self, run_id: str) -> Json:
        """A run with everything that is in it."""
        run: Json = (await self.ask(documents.RUN, id=run_id))["run"]
        return run

    # ------------------------------------------------------------------ what is live

    async def socket(self) -> TransportWsClient:
        """The socket."""
        async with self._lock:
            if self._socket is None:
                self._socket = await self._stack.enter_async_context(connected(self.server().socket, self.token))
            return self._socket

    async def watch(self, document: str, **variables: Any) -> Feed:
        """Follow a subscription over the socket."""
        operation = await (await self.socket()).subscribe(document, variables)
        return self._follow(Feed(aiter(operation), operation.stop))

    async def watch_events(self, document: str, *, method: str = "POST", **variables: Any) -> Feed:
        """Follow a subscription as server-sent events, on a connection of its own."""
        return self._follow(Feed(self._sent_events(document, variables, method)))

    async def _sent_events(self, document: str, variables: Json, method: str) -> AsyncIterator[Json]:
        async with event_stream(self.server().graphql, document, variables, token=self.token, method=method) as events:
            async for event in events:
                if event.event == "next":
                    payload = json.loads(event.data)
                    if payload.get("errors"):
                        raise GraphQLFailed(payload["errors"])
                    yield payload["data"]
                elif event.event == "complete":
                    return
        raise ConnectionError("the events ended without `complete`")

    def _follow(self, feed: Feed) -> Feed:
        self.feeds.append(feed)
        return feed

    async def watch_run(self, run_id: str) -> Feed:
        """Follow a run's row."""
        return await self.watch(documents.WATCH_RUN, id=run_id)

    async def watch_stream(self, stream_id: str, after: int = 0) -> Feed:
        """Follow a generation."""
        return await self.watch(documents.WATCH_STREAM, streamId=stream_id, after=after)

    async def stream(self, stream_id: str, after: int = 0) -> list[Json]:
        """A generation from a number to its end."""
        feed = await self.watch_stream(stream_id, after)
        await feed.end()
        return feed.items

    async def settled(self, run_id: str) -> Json:
        """The run once it is COMPLETED, FAILED or CANCELLED, as the `run` subscription tells."""
        feed = await self.watch_run(run_id)
        await feed.until(lambda feed: feed.items and feed.items[-1]["status"] in SETTLED)
        await feed.leave()
        return await self.run(run_id)

    # ------------------------------------------------------------------ the end

    async def disconnect(self) -> None:
        """Leave everything that is watched, and close the socket."""
        for feed in self.feeds:
            await feed.leave()
        self.feeds.clear()
        self._socket = None
        await self._stack.aclose()

    async def close(self) -> None:
        """Leave for good."""
        await self.disconnect()
        await self._http.aclose()


class Feed:
    """What a subscription has brought: the value of its one field each time, and the page that shows its events."""

    def __init__(
        self, results: AsyncIterator[Json], stop: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        self.items: list[Json] = []
        self.page = Page()
        self.codes: list[str] | None = None
        self.completed = False
        self._stop = stop
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._take(results))

    async def _take(self, results: AsyncIterator[Json]) -> None:
        try:
            async for data in results:
                (item,) = data.values()
                self.items.append(item)
                self.page.show(item)
                self._changed.set()
            self.completed = True
        except GraphQLFailed as failed:
            self.codes = failed.codes
        finally:
            self._changed.set()

    @property
    def text(self) -> str:
        """All text that the page shows."""
        return self.page.text

    def of(self, kind: str) -> list[Json]:
        """The events of one type."""
        return [item for item in self.items if item["__typename"] == kind]

    async def until(self, condition: Callable[[Self], object]) -> Self:
        """Wait until it holds; what went wrong with the subscription is raised."""
        while not condition(self):
            if self._task.done():
                self._task.result()
                raise AssertionError(f"the subscription is over: {self.codes}, {self.items}")
            self._changed.clear()
            await self._changed.wait()
        return self

    async def shows(self, text: str) -> Self:
        """Wait until the page shows this text."""
        return await self.until(lambda feed: text in feed.text)

    async def sees(self, kind: str, count: int = 1) -> Self:
        """Wait for so many events of a type."""
        return await self.until(lambda feed: len(feed.of(kind)) >= count)

    async def end(self) -> Self:
        """Wait until the server has completed it."""
        await self._task
        assert self.completed, self.codes
        return self

    async def failed(self) -> list[str]:
        """The codes of the errors that it ended with, before anything came."""
        await self._task
        assert self.codes is not None, self.items
        assert self.items == []
        return self.codes

    async def leave(self) -> None:
        """Want no more of it, whether its connection still stands or not."""
        self._task.cancel()
        await asyncio.wait((self._task,))
        if not self._task.cancelled():
            self._task.exception()
        if self._stop is not None:
            await self._stop()
