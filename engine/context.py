"""What a tool knows of the call that it serves, and what it can ask for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import copy
import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from engine.cancelled import Cancelled
from engine.tool_error import ToolError
from engine.words import words_of
from models.text import clean
from models.usage import Usage

Deps = TypeVar("Deps", default=Any)
T = TypeVar("T")
MAX_PROGRESS_CHARS = 1_000
_MAX_WAITING_PROGRESS = 64  # what a thread may be ahead of the event loop; the oldest are dropped first


@dataclass(frozen=True, slots=True)
class LlmReply:
    """What a sub-call of a model gave; `stop_reason` and `usage` are the provider's own words and figures."""

    text: str
    usage: Usage
    model: str
    stop_reason: str | None = None


class Llm(Protocol):
    """Makes one sub-call that is counted on the run; what is None is chosen by the agent's own settings."""

    async def __call__(
        self, messages: list[dict[str, Any]], *, system: str | None, model: str | None, max_tokens: int | None
    ) -> LlmReply:
        """Send messages, `{"role": …, "content": …}`, and wait for the whole answer."""
        ...


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What came of a run of another agent.

    - `status`, `finish`: how it stands, in the words of the API: COMPLETED, FAILED, CANCELLED; or WAITING, for a person
      or a client.
    - `text`: its last answer; `output`: the checked structured one, where that agent has an output type.
    - `usage`: what it has used; `error`: why it failed, in words; `run_id`: the run.
    """

    run_id: str
    status: str
    finish: str | None
    text: str
    output: Any
    usage: Usage
    error: str | None = None


class RunAgent(Protocol):
    """Runs another agent, and waits until it does not generate any more."""

    async def __call__(self, name: str, task: str) -> AgentReply:
        """Hand this task to the agent of that name. Raises ToolError where it can't be run."""
        ...


class Report(Protocol):
    """Takes what a tool says of its progress; called on the event loop, must not block."""

    def __call__(self, message: str, fraction: float | None) -> None:
        """Take a clean text of at most MAX_PROGRESS_CHARS, and a fraction from 0 to 1."""
        ...


class Context(Generic[Deps]):
    """One tool call, as its handler sees it. Annotate a tool's first parameter with it; the model never sees it.

    - `user_id`, `roles`: whose run it is; `run_id`, `agent`: the run and its agent's name.
    - `tool_call_id`: this call; `attempt`: 1, or more where the call is run again after a crash.
    - `idempotency_key`: the same over all attempts of this call; hand it to services that know such keys.
    - `context`: trusted values that only server code can set on a run; read-only.
    - `cancelled`: set when the run stops, or when this tool's time is over (see `Cancelled`).
    - `deps`: what the agents folder's deps.py shares with its tools; None without one.
    - `config`: the agent's configuration, an instance of its `fields`; None where it has none.
    - `log`: a logger whose records carry the ids of this call.

    All methods but `llm` and `run_agent` may be called from any thread.
    """

    def __init__(
        self,
        *,
        user_id: str,
        run_id: str,
        agent: str,
        tool_call_id: str,
        roles: Iterable[str] = (),
        idempotency_key: str | None = None,
        attempt: int = 1,
        context: Mapping[str, Any] | None = None,
        deps: Deps | None = None,
        config: Any = None,
        cancelled: Cancelled | None = None,
        report: Report | None = None,
        llm: Llm | None = None,
        agents: RunAgent | None = None,
    ) -> None:
        """`report`, `llm` and `agents` are what the engine does for this call; unit tests of a tool may leave them out.

        Where an event loop runs, the context belongs to it: they are called there.
        """
        self.user_id = user_id
        self.roles = frozenset(roles)
        self.run_id = run_id
        self.agent = agent
        self.tool_call_id = tool_call_id
        self.idempotency_key = tool_call_id if idempotency_key is None else idempotency_key
        self.attempt = attempt
        # A copy: what one tool does to a nested value must not reach another call.
        self.context: Mapping[str, Any] = MappingProxyType(copy.deepcopy(dict(context or {})))
        self.cancelled = Cancelled() if cancelled is None else cancelled
        ids = {"agent": agent, "run_id": run_id, "tool_call_id": tool_call_id, "user_id": user_id}
        self.log: logging.LoggerAdapter[logging.Logger] = _CallLog(logging.getLogger("steersman.tool"), ids)
        self.config = config
        self._deps = deps
        self._report = report
        self._llm = llm
        self._agents = agents
        self._loop = _running_loop()
        self._lock = threading.Lock()
        self._closed = False
        self._waiting: deque[tuple[str, float | None]] = deque(maxlen=_MAX_WAITING_PROGRESS)
        self._sub_calls: set[concurrent.futures.Future[Any]] = set()

    def __repr__(self) -> str:
        return f"Context(agent={self.agent!r}, run_id={self.run_id!r}, tool_call_id={self.tool_call_id!r})"

    @property
    def deps(self) -> Deps:
        """What the agents folder's deps.py shares with its tools."""
        return self._deps  # type: ignore[return-value]  # None only where the author declares no deps

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Tell watchers how far this call is: a short text, and a fraction from 0 to 1. Never blocks, never fails.

        Progress is shown, not stored: a watcher that is slow may miss some of it, and so may all where a thread says
        more than the event loop can hand on.
        """
        if self._report is None or self._closed:
            return
        words = words_of(message, type(message).__name__)
        said = (clean(words[:MAX_PROGRESS_CHARS]), _as_fraction(fraction))
        if self._loop is None or _running_loop() is self._loop:
            self._report(*said)
            return
        with self._lock:
            first = not self._waiting
            self._waiting.append(said)
        if first:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody watches any more
                self._loop.call_soon_threadsafe(self._hand_on)

    async def llm(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        system: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> LlmReply:
        """Ask a model something beside the conversation; its usage is counted on the run.

        `prompt` is a text, or messages as `{"role": …, "content": …}`. Model and max_tokens are the agent's own where
        they are not given. Raises ToolError once the call has ended, and whatever the engine raises of a failed call.
        """
        if self._llm is None:
            raise RuntimeError("this context has no model to ask: build it with llm=")
        if self._closed:
            raise ToolError("This tool call has ended.")
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(turn) for turn in prompt]
        return await self._llm(messages, system=system, model=model, max_tokens=max_tokens)

    def llm_sync(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        system: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> LlmReply:
        """`llm` for plain-function tools, which run in a thread. Raises RuntimeError where it would block a loop."""
        return self._from_thread("llm", partial(self.llm, prompt, system, model, max_tokens))

    async def run_agent(self, name: str, input: str) -> AgentReply:  # noqa: A002 - the contract's name
        """Hand a task to another agent, and wait for what comes of it: a run of its own, below this one.

        This tool's timeout stands still meanwhile. Tried again after a crash, the call finds the run that it had
        begun, for the same name and input. A run that waits for a person or a client comes back with status WAITING;
        what should wait with its parent is given as `subagents=` instead. It is stopped with this call. Raises
        ToolError where the agent can't be run, and once the call has ended.
        """
        if self._agents is None:
            raise RuntimeError("this context can run no agent: build it with agents=")
        if self._closed:
            raise ToolError("This tool call has ended.")
        return await self._agents(name, input)

    def run_agent_sync(self, name: str, input: str) -> AgentReply:  # noqa: A002 - the contract's name
        """`run_agent` for plain-function tools, which run in a thread. Raises RuntimeError where it would block."""
        return self._from_thread("run_agent", partial(self.run_agent, name, input))

    def _from_thread(self, name: str, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Have the loop await something, and wait for it in a tool's thread."""
        if self._loop is None or _running_loop() is not None:
            raise RuntimeError(
                f"{name}_sync is for plain functions, which run in a thread; in a coroutine await ctx.{name}"
            )
        call = asyncio.run_coroutine_threadsafe(ask(), self._loop)
        with self._lock:
            self._sub_calls.add(call)
            closed = self._closed
        if closed:
            call.cancel()
        try:
            return call.result()
        except concurrent.futures.CancelledError:
            raise ToolError("This tool call has ended.") from None
        finally:
            with self._lock:
                self._sub_calls.discard(call)

    def close(self) -> None:
        """The call has ended: what a thread that still runs says or asks is dropped. For the engine, on the loop."""
        with self._lock:
            self._closed = True
            calls = list(self._sub_calls)
        for call in calls:
            call.cancel()

    def _hand_on(self) -> None:
        with self._lock:
            said, closed = list(self._waiting), self._closed
            self._waiting.clear()
        if self._report is not None and not closed:
            for message, fraction in said:
                self._report(message, fraction)


class _CallLog(logging.LoggerAdapter[logging.Logger]):
    """Adds a call's ids to each record, beside what the tool itself adds with extra=."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _as_fraction(value: object) -> float | None:
    try:
        fraction = float(value)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError, OverflowError):
        return None
    return min(1.0, max(0.0, fraction)) if math.isfinite(fraction) else None
