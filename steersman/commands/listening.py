"""The socket that a server listens on, taken before anything else is opened."""

from __future__ import annotations

import errno
import socket
import time

from steersman.commands.complaints import Complaint

BACKLOG = 2048
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on


def listen(host: str, port: int, *, setting: str = "STEERSMAN_PORT", patience: float = 0.0) -> socket.socket:
    """A listening socket; port 0 takes any free one. Raises Complaint, which names the `setting` of the port.

    `patience` is how many seconds to wait for a port that is taken: by a server that is about to end.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return _listen(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= until:
                raise Complaint(_words(host, port, setting, error)) from error
        time.sleep(0.05)


def address_of(listening: socket.socket) -> str:
    """Where to reach it from this machine, as http://host:port."""
    host, port = listening.getsockname()[:2]
    host = _ANY.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


def _words(host: str, port: int, setting: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken: stop what listens there, or choose another one ({setting})."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be taken by this user: choose one above 1023 ({setting})."
    return f"Can't listen on {host}, port {port}: {error.strerror or error} (STEERSMAN_HOST)."
