"""Threads as they are watched: each message, and those that are being written as they grow."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from engine.growing import Growing
from engine.streams.bell import Bell, Listener
from engine.watching import Watching
from models.chat_message import ChatMessage, get_chat_messages, seen_messages_after
from models.database import Database
from models.enums import ChatMessageStatus

PAGE = 100
"""How many messages are read at a time."""


class Conversations:
    """What members watch. Who watches waits for the bell and for the streams of runs alone, on whichever machine."""

    def __init__(self, database: Database, watching: Watching, bell: Bell) -> None:
        self._database = database
        self._watching = watching
        self._bell = bell

    async def messages(self, thread_id: str, user_id: str, after_seq: int = 0) -> AsyncGenerator[ChatMessage]:
        """The messages behind `after_seq` as they are now, in order; then new ones, and each again when it changes.

        It ends where the user is not in the chat, or leaves it.
        """
        growing: dict[str, Growing] = {}
        with self._bell.listen(run_id=thread_id) as listener:
            try:
                rung = frozenset({thread_id})
                while True:
                    while thread_id in rung:
                        page = await self._after(thread_id, user_id, after_seq)
                        if page is None:
                            return
                        for message in page:
                            after_seq = message.seq
                            yield message
                            if message.status is ChatMessageStatus.STREAMING and message.run_id is not None:
                                growing[message.id] = self._follow(message, listener)
                        if len(page) < PAGE:
                            break
                    for message in await self._changed(growing, rung, listener):
                        yield message
                    rung = await listener.wait()
            finally:
                for one in growing.values():
                    await one.close()

    def _follow(self, message: ChatMessage, listener: Listener) -> Growing:
        run_id = str(message.run_id)
        listener.also(run_id)
        listener.mark(run_id)  # it may have ended since its row was read
        events = self._watching.run_stream(run_id, message.stream_id)
        return Growing(message, events, grown=lambda: listener.mark(message.id), ended=lambda: listener.mark(run_id))

    async def _changed(
        self, growing: dict[str, Growing], rung: frozenset[str], listener: Listener
    ) -> list[ChatMessage]:
        """What has become of messages that were being written, as far as something rang; those that ended go."""
        asked = [message_id for message_id, one in growing.items() if one.message.run_id in rung]
        now = await self._database.read_patiently(get_chat_messages, asked) if asked else {}
        told: list[ChatMessage] = []
        for message_id, one in [*growing.items()]:
            row = now.get(message_id)
            if message_id in asked and (row is None or row.status is not ChatMessageStatus.STREAMING):
                listener.not_also(str(one.message.run_id))
                await growing.pop(message_id).close()
                told += [] if row is None else [row]
            elif message_id in rung:
                one.check()
                told.append(replace(one.message, text=one.text, reasoning=one.reasoning))
        return told

    async def _after(self, thread_id: str, user_id: str, after_seq: int) -> list[ChatMessage] | None:
        return await self._database.read_patiently(seen_messages_after, user_id, thread_id, after_seq, PAGE)
