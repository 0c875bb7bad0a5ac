"""What is measured: a whole Steersman server, on a SQLite file of its own, over the Messages API at an address."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import tempfile
from pathlib import Path

from bench.agent import ANSWER, MODEL, SYSTEM
from bench.serving import serve
from engine.engine import open_engine
from engine.loading import Agents
from engine.providers.anthropic import AnthropicProvider
from engine.providers.prices import load_prices
from models.database import Database
from models.migrate import migrate
from steersman import Agent, tool
from steersman.app import create_app
from steersman.process import engine_config
from steersman.serving import make_server
from steersman.settings import Settings


@tool
async def look_up(word: str) -> str:
    """Look something up.

    Args:
        word: what to look for.
    """
    return ANSWER


async def main() -> None:
    """Serve until SIGTERM; the first line of output is the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url", help="where the Messages API is")
    base_url = parser.parse_args().base_url
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(database_url=f"sqlite:///{Path(folder) / 'bench.db'}", jwt_secret="b" * 32, console=False)
        database = Database(settings.database_url)
        await database.write(migrate)
        await database.close()
        agent = dataclasses.replace(Agent(system=SYSTEM, model=MODEL, tools=[look_up]), name="bench")
        async with AnthropicProvider(api_key="none", base_url=base_url) as provider:
            app = create_app(
                settings,
                lambda: open_engine(
                    engine_config(settings), agents=Agents({"bench": agent}), provider=provider, prices=load_prices()
                ),
                dev_user="dev",
            )
            await serve(make_server(app, host="127.0.0.1", port=0))


if __name__ == "__main__":
    asyncio.run(main())
