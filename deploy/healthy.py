"""The image's health check: exit code 0 where the process of this container answers /healthz, else 1.

`steersman serve` answers at STEERSMAN_PORT, `steersman worker` at STEERSMAN_WORKER_PORT. A container runs one of them,
so one of the two ports is enough. It needs nothing but Python, which the image has anyway.
"""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection, HTTPException

PATIENCE = 2.0  # seconds for each port; two fit into the check's own limit
# Who listens at every address is reached at this machine's own.
OWN = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - it is looked up, not listened at


def is_alive(host: str, port: int) -> bool:
    """Whether a process answers there that it lives."""
    connection = HTTPConnection(host, port, timeout=PATIENCE)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def main() -> int:
    """The exit code."""
    host = os.environ.get("STEERSMAN_HOST", "")
    ports = (os.environ.get("STEERSMAN_PORT") or "8000", os.environ.get("STEERSMAN_WORKER_PORT") or "8001")
    return 0 if any(is_alive(OWN.get(host, host), int(port)) for port in ports) else 1


if __name__ == "__main__":
    sys.exit(main())
