"""Connections to Redis (or Valkey), and its failures in our own words."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0  # longer than any command blocks; a connection that is silent for longer is taken for dead

FAILURES = (RedisError, OSError, asyncio.TimeoutError)
"""What a command raises where Redis is away, is loading, refuses us, or is no Redis."""


def connect(url: str, **options: Any) -> Redis:
    """A client that connects when it is first used and never repeats a command by itself: its users know better."""
    if not url.startswith("unix:"):
        options["socket_keepalive"] = True
    return Redis.from_url(
        url,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=ANSWER_SECONDS,
        **options,
    )


async def problem_of_redis(url: str) -> str | None:
    """What keeps this Redis from serving, in words without its address; None where it answers."""
    client = connect(url)
    try:
        await client.ping()
    except FAILURES as error:
        return words_of(error)
    finally:
        await client.aclose()
    return None


def words_of(error: BaseException) -> str:
    """A failure in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def stream_key(stream_id: str) -> str:
    """The key of a stream; on a Redis Cluster the tag in braces says where it lives."""
    return f"steersman:stream:{{{stream_id}}}"
