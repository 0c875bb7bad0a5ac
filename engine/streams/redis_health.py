"""Whether Redis is there: what each of its users found last, told in the log when it changes."""

from __future__ import annotations

import logging

from engine.streams.redis_client import words_of

log = logging.getLogger("steersman.redis")
LOST = "Redis can't be reached: runs and messages go on, but tokens are seen live on the machine of their run alone."


class RedisHealth:
    """Each user of Redis (`part`) says `up` after a success and `down` after a failure."""

    def __init__(self) -> None:
        self._down: dict[str, set[str]] = {}

    @property
    def problem(self) -> str | None:
        """What is wrong, in words for people, without the cause; None while every part works."""
        return LOST if self._down else None

    def up(self, part: str) -> None:
        """The part works."""
        if self._down.pop(part, None) is not None and not self._down:
            log.warning("Redis is back: tokens are seen live everywhere again")

    def down(self, part: str, error: BaseException) -> None:
        """The part has failed; each cause is logged once, however often it is met."""
        words = words_of(error)
        if not self._down:
            log.error("%s (%s: %s)", LOST, part, words, exc_info=error)
        elif words not in self._down.get(part, ()):
            log.info("Redis is still away (%s: %s)", part, words)
        self._down.setdefault(part, set()).add(words)
