"""What a process that runs or serves agents says in its log as it starts.

Apart from `serve`, so that a worker does not load all of GraphQL before it works.
"""

from __future__ import annotations

import logging

from engine.loading import Agents, load_agents
from steersman.settings import Settings

logger = logging.getLogger("steersman.start")


def tell_of_missing_redis(settings: Settings, *, served_here: bool) -> None:
    """Say in the log where nobody will see tokens as they come: runs work in one process and are watched in another."""
    on_a_file = settings.database_url.startswith("sqlite:")
    if settings.redis_url is not None or on_a_file or (served_here and settings.worker):
        return
    whose = "Clients of this server" if served_here else "Clients of the runs that work here"
    logger.warning(
        "STEERSMAN_REDIS_URL is not set. %s see no tokens as they come, only whole steps and messages once they are in "
        "the database: set it, the same for every process.",
        whose,
    )


def load_and_tell(settings: Settings) -> Agents:
    """The agents of the folder; what did not load is in the log. Raises LoadError where there is no folder."""
    agents = load_agents(settings.agents)
    for error in agents.errors:
        logger.error("an agent did not load: %s", error)
    for warning in agents.warnings:
        logger.warning("%s", warning)
    logger.info("agents: %s", ", ".join(agents) or "none")
    return agents
