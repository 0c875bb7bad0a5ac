"""A program of its own: llama.cpp's server with one model file, until its standard input ends.

    python local_server.py MODEL.gguf NAME

It prints its address as its first line. It imports nothing of this project, so that it starts from any directory.
"""

from __future__ import annotations

import os
import sys

CONTEXT_TOKENS = 8_192  # what SmolLM2 was trained with
SLOTS = 2  # answers at a time; they share the context


def main(model: str, name: str) -> None:
    """Serve on a free port of loopback."""
    import xllamacpp  # noqa: PLC0415 - an extra, which this program alone needs

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.model_alias = {name}  # otherwise answers would name the model by its path on this machine
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = SLOTS
    parameters.kv_unified = True
    parameters.ui = False
    parameters.verbosity = 1  # errors
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()  # ends when the parent closes it, and when the parent dies
    os._exit(0)  # at once: nothing here is worth waiting for a half-spoken answer


if __name__ == "__main__":
    main(*sys.argv[1:])
