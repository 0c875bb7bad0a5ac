"""Whether a server that speaks the Messages API can be reached and takes the key; no model is called."""

from __future__ import annotations

import httpx2
from anthropic import APIStatusError, AsyncAnthropic

from engine.providers.failures import failure_of
from models.clock import system_clock

_SECONDS = 5.0


async def problem_of_provider(api_key: str, base_url: str | None = None, *, seconds: float = _SECONDS) -> str | None:
    """What keeps the provider from being asked, in a sentence without keys; None where nothing does.

    The list of models is asked for, once. A server that has no such list is reached all the same.
    """
    timeout = httpx2.Timeout(seconds)
    async with AsyncAnthropic(api_key=api_key, base_url=base_url, timeout=timeout, max_retries=0) as client:
        try:
            await client.models.list(limit=1)
        except APIStatusError as error:
            if error.status_code in (404, 405, 501):
                return None
            return failure_of(error, system_clock).shown
        except Exception as error:  # noqa: BLE001 - whatever keeps it from answering is what is asked here
            return failure_of(error, system_clock).shown
    return None
