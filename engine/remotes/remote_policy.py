"""What the deployment lets remotes do: how long they have, where they may be, and which an administrator configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.builtin.fetch_policy import FetchPolicy


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """An MCP server as an administrator configured it: a command to start, or the address of one that runs.

    `approval` has every call of its tools wait for a person's decision.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    approval: bool = False


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """How remotes are treated; times are in seconds.

    - `grace_seconds`: how long a client still counts as connected after its last subscription has ended.
    - `call_seconds`: how long a remote has to answer a call; `connect_seconds`, to be connected to.
    - `idle_seconds`: after how long without a call a connection to a registered server is closed.
    - `net`: how servers that users register are found, and whether in private networks.
    - `servers`: those that an administrator configured, by name; None where nothing is said of them here.
    """

    grace_seconds: float = 10.0
    call_seconds: float = 60.0
    connect_seconds: float = 10.0
    idle_seconds: float = 600.0
    net: FetchPolicy = field(default_factory=FetchPolicy)
    servers: Mapping[str, ServerSpec] | None = None
