"""How much a remote may offer."""

from __future__ import annotations

MAX_TOOLS = 200
MAX_NAME = 200  # characters of a tool's name
MAX_DESCRIPTION = 4_000
MAX_OFFER = 256 * 1024
"""Characters of all its tools together, their schemas as JSON: each is checked, and told to the model at every step."""
