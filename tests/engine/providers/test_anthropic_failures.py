"""The real SDK against a real server that fails, stalls and is left."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from engine.providers.anthropic import AnthropicProvider
from engine.providers.provider import FailureKind, ProviderFailure
from models.clock import ManualClock
from tests.support.asking import ASK, KEY, ask, failure, outcome
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer

# What breaks


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, FailureKind.ERROR, False), (401, FailureKind.ERROR, False), (402, FailureKind.ERROR, False),
        (403, FailureKind.ERROR, False), (404, FailureKind.ERROR, False), (408, FailureKind.TIMEOUT, True),
        (409, FailureKind.ERROR, True), (413, FailureKind.ERROR, False), (422, FailureKind.ERROR, False),
        (429, FailureKind.OVERLOADED, True), (500, FailureKind.ERROR, True), (502, FailureKind.ERROR, True),
        (503, FailureKind.OVERLOADED, True), (504, FailureKind.TIMEOUT, True), (529, FailureKind.OVERLOADED, True),
    ],
)  # fmt: skip
async def test_each_http_status_is_a_failure_of_its_kind(
    server: MessagesServer, provider: AnthropicProvider, status: int, kind: FailureKind, retryable: bool
) -> None:
    """Asked once: whether it is asked again is decided elsewhere. What the owner reads has no words of the server's."""
    server.play(Script.status(status, "some_error", f"secret words, {KEY}, {server.url}"))
    failed = await failure(provider)
    assert (failed.kind, failed.retryable) == (kind, retryable)
    assert len(server.requests) == 1
    for secret in ("secret", KEY, server.url, "some_error", str(status)):
        assert secret not in failed.shown
    assert "secret words" in str(failed)
    assert failed.__cause__ is not None


@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long: 208310 tokens > 200000 maximum",
        "the request exceeds the available context size, try increasing it",
        "This model's maximum context length is 4096 tokens.",
    ],
)
async def test_a_request_that_is_too_long_is_told_apart_from_a_refused_one(
    server: MessagesServer, provider: AnthropicProvider, words: str
) -> None:
    """In the words of the API, and of other servers that speak it: shortening it may help, asking again does not."""
    server.play(Script.status(400, "invalid_request_error", words))
    failed = await failure(provider)
    assert (failed.kind, failed.retryable, failed.elsewhere) == (FailureKind.TOO_LONG, False, False)
    assert failed.shown == "The conversation is too long for the model."


async def test_a_model_that_is_not_there_may_have_a_successor(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """Which no header of the provider's changes; a refused request has none."""
    for status, elsewhere in ((404, True), (410, True), (529, True), (400, False), (403, False)):
        server.play(Script.status(status, "some_error", x_should_retry="false"))
        assert (await failure(provider)).elsewhere is elsewhere


async def test_a_wrong_key_is_told_apart_from_a_refused_request(server: MessagesServer) -> None:
    """An operator who reads it knows what to mend."""
    async with AnthropicProvider(api_key="another", base_url=server.url) as provider:
        assert (await failure(provider)).shown == "The model's provider refused the API key."


@pytest.mark.parametrize(
    ("named", "seconds"),
    [
        ({"retry_after": "7"}, 7.0), ({"retry_after": "0.5"}, 0.5), ({"retry_after": "-3"}, 0.0),
        ({"retry_after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30.0),
        ({"retry_after": "Fri, 01 Jan 2027 08:00:00 GMT"}, 0.0),
        ({"retry_after_ms": "250", "retry_after": "7"}, 0.25), ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None), ({"retry_after": "inf"}, None), ({}, None),
    ],
)  # fmt: skip
async def test_the_wait_that_a_provider_names_is_told_in_seconds(
    server: MessagesServer, named: dict[str, str], seconds: float | None
) -> None:
    """As a number or as a date; nonsense is as if it were not there."""
    server.play(Script.status(429, "rate_limit_error", **named))
    clock = ManualClock(1_800_000_000_000)  # Fri, 15 Jan 2027 08:00:00 GMT
    async with AnthropicProvider(api_key=KEY, base_url=server.url, clock=clock) as provider:
        assert (await failure(provider)).retry_after == seconds


@pytest.mark.parametrize(("status", "said"), [(429, "false"), (400, "true")])
async def test_a_provider_that_says_whether_to_ask_again_is_believed(
    server: MessagesServer, provider: AnthropicProvider, status: int, said: str
) -> None:
    """It knows why it failed."""
    server.play(Script.status(status, "rate_limit_error", x_should_retry=said))
    assert (await failure(provider)).retryable is (said == "true")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("overloaded_error", FailureKind.OVERLOADED), ("rate_limit_error", FailureKind.OVERLOADED),
        ("timeout_error", FailureKind.TIMEOUT), ("api_error", FailureKind.ERROR), ("new_error", FailureKind.ERROR),
    ],
)  # fmt: skip
async def test_an_error_inside_the_stream_is_a_failure_with_what_was_used(
    server: MessagesServer, provider: AnthropicProvider, error: str, kind: FailureKind
) -> None:
    """Its status was 200; the deltas before it were shown, and what was reported is counted."""
    server.play(Script(input_tokens=9).text("a", "b", "c").fail(error, "secret words"))
    failed = await failure(provider)
    assert (failed.kind, failed.retryable) == (kind, True)
    assert failed.usage is not None
    assert failed.usage.input_tokens == 9
    assert "secret" not in failed.shown


async def test_an_end_without_message_stop_is_a_failure(server: MessagesServer, provider: AnthropicProvider) -> None:
    """A clean end of the connection is not the end of an answer."""
    server.play(Script().text("Hello").end())
    failed = await failure(provider)
    assert (failed.kind, failed.retryable) == (FailureKind.ERROR, True)


async def test_a_connection_cut_at_any_byte_is_a_failure_or_the_answer_is_whole(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """Never half an answer that passes for a whole one: it is whole only when message_stop has come."""
    script = Script().text("Hé", "llo").tool("search", {"q": "x"})
    server.play(script)
    _, whole = await ask(provider)
    length = server.requests[0].bytes
    for byte in range(1, length, 7):
        server.play(Script().text("Hé", "llo").tool("search", {"q": "x"}).cut(at=byte))
        came = await outcome(provider)
        if isinstance(came, ProviderFailure):
            assert (came.kind, came.retryable) == (FailureKind.ERROR, True)
        else:
            assert came.stop_reason == whole.stop_reason
            assert len(came.blocks) == len(whole.blocks)


async def test_a_connection_that_ends_before_an_answer_is_a_failure(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """Asked once, like every call."""
    server.play(Script().cut())
    assert (await failure(provider)).retryable
    assert len(server.requests) == 1


async def test_a_server_that_is_not_there_is_a_failure(server: MessagesServer) -> None:
    """It may come back."""
    async with MessagesServer() as gone:
        url = gone.url
    async with AnthropicProvider(api_key=KEY, base_url=url) as provider:
        failed = await failure(provider)
    assert (failed.kind, failed.retryable) == (FailureKind.ERROR, True)
    assert failed.shown == "The model's provider could not be reached."


@pytest.mark.parametrize("shown", [True, False], ids=["inside the stream", "before the answer"])
async def test_a_stalled_server_is_a_timeout(server: MessagesServer, shown: bool) -> None:
    """Silence beyond the limit ends the call, and its connection."""
    never = asyncio.Event()
    server.play(Script().half_text("a").hold(never) if shown else Script().hold(never).text("a"))
    async with AnthropicProvider(api_key=KEY, base_url=server.url, stall_seconds=0.2) as provider:
        failed = await failure(provider)
        assert (failed.kind, failed.retryable) == (FailureKind.TIMEOUT, True)
        await (await server.arrived(1)).cut_off()


async def test_a_body_that_is_no_event_stream_is_a_failure(server: MessagesServer, provider: AnthropicProvider) -> None:
    """Garbled JSON or bytes that are no UTF-8: asked again, as after a cut."""
    server.play(Script().text("a").raw(b"event: message_delta\ndata: {\n\n"), Script().raw(b"event: \xff\n\n"))
    server.play(Script.status(200, "no_stream"))
    for _ in range(3):
        failed = await failure(provider)
        assert (failed.kind, failed.retryable) == (FailureKind.ERROR, True)


async def test_a_request_that_can_not_be_sent_is_a_failure_that_is_not_repeated(provider: AnthropicProvider) -> None:
    """Any exception of the SDK or under it is translated, with its cause."""
    failed = await failure(provider, replace(ASK, messages=[{"role": "user", "content": object()}]))
    assert (failed.kind, failed.retryable) == (FailureKind.ERROR, False)
    assert failed.__cause__ is not None


async def test_what_the_caller_raises_is_the_callers(server: MessagesServer, provider: AnthropicProvider) -> None:
    """Only the provider's own troubles are ProviderFailures."""
    server.play(Script().text("a"))

    async def stumble() -> None:
        async with provider.stream(ASK) as response:
            async for _ in response:
                raise LookupError

    with pytest.raises(LookupError):
        await stumble()


# Stopping


@pytest.mark.parametrize("shown", [True, False], ids=["inside the stream", "before the answer"])
async def test_cancelling_closes_the_connection_at_once(
    server: MessagesServer, provider: AnthropicProvider, shown: bool
) -> None:
    """The server sees it go and writes nothing more; the task is cancelled, not failed."""
    never = asyncio.Event()
    started = asyncio.Event()
    server.play(Script().half_text("a").hold(never).text("b") if shown else Script().hold(never).text("a"))

    async def run() -> None:
        async with provider.stream(ASK) as response:
            async for _ in response:
                started.set()

    task = asyncio.create_task(run())
    request = await server.arrived(1)
    if shown:
        await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await request.cut_off()
    assert request.events == (3 if shown else 0)


async def test_leaving_the_context_closes_the_connection_and_keeps_what_was_shown(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """An interrupt takes what was shown, and the provider stops writing."""
    server.play(Script().text("a", "b", "c").paced(0.01).text(*["more"] * 10_000))
    async with provider.stream(ASK) as response:
        async for _ in response:
            break
    await server.requests[0].cut_off()
    assert server.requests[0].events < 100
    assert response.partial().blocks == [{"type": "text", "text": "a"}]


async def test_nothing_is_left_running_after_a_call_was_left(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """No task outlives a call, however it ended."""
    never = asyncio.Event()
    server.play(Script().text("a"), Script().half_text("a").hold(never), Script().text("a").fail())
    await ask(provider)
    async with provider.stream(ASK) as response, aclosing(response.__aiter__()) as deltas:  # type: ignore[type-var]
        await anext(deltas)
    await failure(provider)
    await server.requests[1].cut_off()
    for _ in range(10):
        await asyncio.sleep(0)
    left = [repr(task) for task in asyncio.all_tasks() - {asyncio.current_task()}]
    assert not [task for task in left if "MessagesServer" not in task]


async def test_a_server_that_holds_a_finished_answer_open_delays_nobody_for_long(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """After message_stop the answer is whole, whatever the connection does."""
    never = asyncio.Event()
    server.play(Script().text("a").stop().hold(never))
    assert (await ask(provider))[1].stop_reason == "end_turn"


async def test_connections_are_used_again(server: MessagesServer, provider: AnthropicProvider) -> None:
    """One after the other, calls need one connection: none of them begins with a handshake."""
    server.answer(lambda _: Script().text("a"))
    for _ in range(3):
        await ask(provider)
    assert server.connections == 1


async def test_connections_of_a_server_that_breaks_them_are_not_used_again(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """llama.cpp's server closes a connection that it promised to keep, and the next request would be lost with it."""
    server.answer(lambda _: Script().text("a").served_by("llama.cpp"))
    for _ in range(3):
        await ask(provider)
    assert server.connections == 3


async def test_many_calls_share_one_provider(server: MessagesServer, provider: AnthropicProvider) -> None:
    """At once, each with its own answer."""
    server.answer(lambda request: Script().text(*request.messages[0]["content"][0]["text"]))
    requests = [replace(ASK, messages=[{"role": "user", "content": f"call {n}"}]) for n in range(40)]
    answers = await asyncio.gather(*(ask(provider, request) for request in requests))
    assert [answer.blocks[0]["text"] for _, answer in answers] == [f"call {n}" for n in range(40)]
