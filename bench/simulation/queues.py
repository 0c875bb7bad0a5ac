"""Waiting lines: how long one waits where what comes is random."""

from __future__ import annotations

import math


def erlang_c(servers: int, load: float) -> float:
    """The chance that one who comes must wait (M/M/c); `load` is how many servers are busy on average.

    1.0 where they can't keep up.
    """
    if load >= servers:
        return 1.0
    blocked = 1.0  # Erlang B, by its recurrence in the number of servers
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def wait_of_many(servers: int, load: float, service: float) -> float:
    """The mean wait before one of several servers takes a job (M/M/c), in the unit of `service`; inf where never."""
    if load >= servers:
        return math.inf
    return erlang_c(servers, load) * service / (servers - load)


def wait_of_one(load: float, service: float, variation: float = 1.0) -> float:
    """The mean wait for one server, by Kingman's formula; `variation` is the mean of both squared variations.

    Exact for M/M/1 with 1.0, and for M/D/1 with 0.5. In the unit of `service`; inf where never.
    """
    return math.inf if load >= 1 else load / (1 - load) * variation * service
