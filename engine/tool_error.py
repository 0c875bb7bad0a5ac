"""What a tool raises to speak to the model."""

from __future__ import annotations


class ToolError(Exception):
    """A failure that the model should read: the text says what to do next.

    `raise ToolError("No order A-9. Order numbers look like A-1042.")` gives the model that text as an error result.
    Any other exception reaches the model as its class's name alone, and the log whole.
    """
