"""What owners do with their remotes: register and remove them, take their calls, and answer these."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from engine.errors import CallAlreadyDecided, CallNotFound, InvalidInput, NotFound, RunNotFound
from engine.inputs import checked_words
from engine.remotes.foreign_schema import BadSchema, checked_schema, size_of
from engine.remotes.guarded_http import BadUrl, checked_url
from engine.remotes.mcp_pool import McpPool, Unreachable
from engine.remotes.offer import MAX_DESCRIPTION, MAX_NAME, MAX_OFFER, MAX_TOOLS
from engine.remotes.presence import Presence
from engine.remotes.remote_policy import RemotePolicy
from engine.runs import Runs
from engine.threads import run_in_thread
from engine.user import User
from engine.workshop import Workshop
from models.away import DatabaseAway
from models.clock import Clock
from models.database import Database
from models.enums import RemoteKind
from models.ids import prefix_of
from models.remote import (
    FOREVER,
    Remote,
    RemoteCall,
    RemoteTool,
    configured_remotes,
    get_remote_call,
    get_remotes,
    open_remote_calls,
)
from models.run import get_run
from models.text import clean
from models.verbs.errors import RemoteMissing, TooMany
from models.verbs.remoting import (
    MAX_REMOTES,
    NewRemote,
    configure_remotes,
    delete_remote,
    note_contact,
    register_remote,
)

log = logging.getLogger("steersman.remote")
MAX_REMOTE_NAME = 64
LOOK_SECONDS = 5.0
"""How long a call of a lent remote may go unnoticed where no bell tells of it."""
AGAIN_SECONDS = 30.0
"""Between two tries to reach the configured servers that have never answered."""


class Remotes:
    """Remotes of users. Methods raise engine.errors.Refused."""

    def __init__(self, shop: Workshop, runs: Runs, policy: RemotePolicy, pool: McpPool, presence: Presence) -> None:
        self._shop = shop
        self._runs = runs
        self._policy = policy
        self._pool = pool
        self.presence = presence

    async def register(
        self,
        user: User,
        *,
        name: str,
        kind: RemoteKind,
        url: str | None = None,
        tools: Sequence[tuple[str, str, Any]] | None = None,
    ) -> Remote:
        """Register a client's tools, (name, description, schema) each, or a server at a URL, which is asked for its.

        In the place of the user's own remote of this name, which keeps its id.
        """
        called = checked_words("name", name.strip(), MAX_REMOTE_NAME)
        if kind is RemoteKind.CLIENT:
            if url is not None:
                raise InvalidInput("A client has no URL: it answers the calls that it subscribes to.", field=("url",))
            offers = await run_in_thread(lambda: _checked_tools(tools), "check the tools of a remote")
            new = NewRemote(user.id, called, kind, None, offers)
        else:
            if tools is not None:
                raise InvalidInput("An MCP server tells its tools itself.", field=("tools",))
            new = await self._server(user, called, url)
        try:
            remote = await self._shop.database.write(
                register_remote, new=new, ids=self._shop.ids, at=self._shop.clock()
            )
        except TooMany:
            raise InvalidInput(f"A user has at most {MAX_REMOTES:,} remotes.", field=("name",)) from None
        await self._pool.forget(remote.id)
        return remote

    async def _server(self, user: User, name: str, url: str | None) -> NewRemote:
        if url is None:
            raise InvalidInput("An MCP server has a URL.", field=("url",))
        try:
            where = clean(checked_url(url, private=self._policy.net.private))
            offers = await self._pool.tools_at(where)
        except BadUrl as error:
            raise InvalidInput(str(error), field=("url",)) from error
        except Unreachable as error:
            raise InvalidInput(f"The MCP server can't be reached: {error}.", field=("url",)) from error
        return NewRemote(user.id, name, RemoteKind.MCP, where, tuple(offers), FOREVER)

    async def delete(self, user: User, *, remote_id: str) -> str:
        """Remove a remote; runs that wait for it read that it has left."""
        try:
            await self._shop.database.write(delete_remote, user_id=user.id, remote_id=clean(remote_id))
        except RemoteMissing:
            raise NotFound("There is no such remote.", field=("id",)) from None
        await self._pool.forget(remote_id)
        self._shop.bell.ring(remote_id, user.id)  # who listens for its calls learns that there will be none
        return remote_id

    async def of(self, user: User, remote_id: str) -> Remote:
        """The user's own remote. Raises NotFound: missing and someone else's look the same."""
        known = prefix_of(remote_id) == "rmt"
        remote = (await self._shop.database.read(get_remotes, [remote_id])).get(remote_id) if known else None
        if remote is None or remote.user_id != user.id:
            raise NotFound("There is no such remote.", field=("remote_id",))
        return remote

    async def calls(self, remote: Remote) -> AsyncGenerator[RemoteCall]:
        """The calls that wait for a client's answer, then each that begins to; the client is connected meanwhile.

        Ends when the remote is removed. Runs of others ring for a remote that is lent to them by its id; the patrol,
        which goes by runs, does not find what that bell did not tell, so it is looked at from time to time.
        """
        shop, shown = self._shop, set[str]()
        with shop.bell.listen(user_id=remote.user_id) as listener:
            listener.also(remote.id)
            async with self.presence.of(remote.id):
                while remote.id in await shop.database.read_patiently(get_remotes, [remote.id]):
                    calls = await shop.database.read_patiently(open_remote_calls, remote.id)
                    for call in calls:
                        if call.id not in shown:
                            yield call
                    shown = {call.id for call in calls}
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_SECONDS):
                            await listener.wait()

    async def answer_call(self, user: User, *, call_id: str, result: Any, is_error: bool = False) -> bool:
        """Answer a call; False where it does not wait any more. Raises NotFound, InvalidInput."""
        known = prefix_of(call_id) == "rcl"
        call = await self._shop.database.read(get_remote_call, call_id) if known else None
        if call is None:
            raise NotFound("There is no such call.", field=("call_id",))
        if (owner := await self._answered_for(user, call)) is None:
            raise NotFound("There is no such call.", field=("call_id",))
        if call.deadline is not None and call.deadline <= self._shop.clock():
            return False
        try:
            await self._runs.complete(owner, run_id=call.run_id, call_id=call.call_id, result=result, is_error=is_error)
        except CallAlreadyDecided:
            return False
        except (RunNotFound, CallNotFound):
            raise NotFound("There is no such call.", field=("call_id",)) from None
        return True

    async def _answered_for(self, user: User, call: RemoteCall) -> User | None:
        """The owner of the run, where the user is that or has lent the remote to it; else None."""
        read = self._shop.database.read
        run, remote = await read(get_run, call.run_id), (await read(get_remotes, [call.remote_id])).get(call.remote_id)
        if run is None:
            return None
        is_lender = remote is not None and remote.user_id == user.id
        return user if run.user_id == user.id else User(run.user_id) if is_lender else None

    async def configure(self) -> None:
        """Offer the servers that an administrator configured, and connect to each until it has answered once.

        Where nothing is said of them here, what is there stays; where there is no other machine it is not connected.
        """
        shop, servers = self._shop, self._policy.servers
        if servers is None:
            for remote in await shop.read(configured_remotes) if shop.database.is_sqlite else ():
                await self._pool.note(remote, connected=False, tools=None)
            return
        urls = {name: spec.url for name, spec in servers.items()}
        found = await shop.store(configure_remotes, urls=urls, ids=shop.ids, at=shop.clock())
        await asyncio.gather(*(self._reach(remote) for remote in found))

    async def _reach(self, remote: Remote) -> None:
        """Try until a configured server answers."""
        while True:
            try:
                await self._pool.connect(remote)
            except Unreachable as error:
                log.warning("the configured MCP server %r is not there: %s", remote.name, error)
            except Exception:
                log.exception("the configured MCP server %r could not be connected to", remote.name)
            else:
                return
            await asyncio.sleep(AGAIN_SECONDS)


class Contacts:
    """Keeps what is learnt of servers on their rows."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def __call__(self, remote: Remote, *, connected: bool, tools: list[RemoteTool] | None) -> None:
        """Whether a server answers, and what it offers where that is known anew."""
        now = self._clock()
        until = FOREVER if connected else min(now, remote.connected_until)
        try:
            await self._database.write(note_contact, remote=remote, connected_until=until, tools=tools, at=now)
        except DatabaseAway as away:
            log.info("what was learnt of a remote is not kept: %s", away, extra={"remote_id": remote.id})


def _checked_tools(given: Sequence[tuple[str, str, Any]] | None) -> tuple[RemoteTool, ...]:
    if not given:
        raise InvalidInput("A client offers at least one tool.", field=("tools",))
    if len(given) > MAX_TOOLS:
        raise InvalidInput(f"A remote has at most {MAX_TOOLS} tools.", field=("tools",))
    _check_size(given)
    found: dict[str, RemoteTool] = {}
    for place, (name, description, schema) in enumerate(given):
        one = _checked_tool(place, name, description, schema)
        if one.name in found:
            raise InvalidInput("Two tools have this name.", field=("tools", str(place), "name"))
        found[one.name] = one
    return tuple(found.values())


def _check_size(given: Sequence[tuple[str, str, Any]]) -> None:
    """Raise InvalidInput where the tools take too much room, before any of them is looked at for long."""
    size = 0
    for place, (name, description, schema) in enumerate(given):
        try:
            size += len(name) + len(description) + size_of(schema)
        except BadSchema as error:
            where = ("tools", str(place), "input_schema")
            raise InvalidInput(f"The input schema can't be used: {error}.", field=where) from error
        if size > MAX_OFFER:
            raise InvalidInput(f"The tools take more than {MAX_OFFER:,} bytes together.", field=("tools",))


def _checked_tool(place: int, name: str, description: str, schema: Any) -> RemoteTool:
    where = ("tools", str(place))
    if not name.strip() or len(name) > MAX_NAME:
        raise InvalidInput(f"A tool's name has 1 to {MAX_NAME} characters.", field=(*where, "name"))
    if len(description) > MAX_DESCRIPTION:
        raise InvalidInput(f"A description has at most {MAX_DESCRIPTION:,} characters.", field=(*where, "description"))
    try:
        checked = checked_schema(schema)
    except BadSchema as error:
        raise InvalidInput(f"The input schema can't be used: {error}.", field=(*where, "input_schema")) from error
    return RemoteTool(clean(name), clean(description), checked)
