"""Runs a command beside a PostgreSQL server of its own, which STEERSMAN_TEST_POSTGRES_URL names meanwhile.

    python -m tests.support.with_postgres -- python -m pytest -m service

Both end with this process, and the server with the command, whatever happens; the exit code is the command's own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.databases import POSTGRES_VARIABLE
from tests.support.services import OwnPostgres, die_with_parent


async def run(command: Sequence[str]) -> int:
    """Run it to its end; its exit code, or 128 + N where signal N ended it. Raises ServiceMissing, ServiceFailed.

    It is for the loop of a process of its own: that loop's signals are handed on.
    """
    with tempfile.TemporaryDirectory(prefix="steersman-test-") as folder:
        async with OwnPostgres(Path(folder)) as postgres:
            process = await asyncio.create_subprocess_exec(
                *command, env={**os.environ, POSTGRES_VARIABLE: postgres.url}, preexec_fn=die_with_parent
            )
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, process.terminate)
            loop.add_signal_handler(signal.SIGINT, lambda: None)  # a terminal sends it to the command too
            code = await process.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        sys.exit("Usage: python -m tests.support.with_postgres -- COMMAND ...")
    sys.exit(asyncio.run(run(words)))
