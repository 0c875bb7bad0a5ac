"""When what one input asked for has ended: pure, over the events of a run's streams."""

from __future__ import annotations

from collections.abc import Collection


class Turn:
    """The turn that an input began, or was queued for.

    A turn that the input began ends with its stream. One that it waits in ends with the stream in which the input was
    applied; where a stream ends without it, the run's row has to be asked (`is_over`).
    """

    def __init__(self, queued_as: str | None) -> None:
        """`queued_as` is the input's id where it waits, None where it began the turn."""
        self.queued_as = queued_as
        self._applied = queued_as is None

    def applied(self, input_ids: Collection[str]) -> None:
        """These inputs have become part of the transcript."""
        if self.queued_as in input_ids:
            self._applied = True

    @property
    def ends_with_its_stream(self) -> bool:
        """Whether the next RunResult is the turn's own."""
        return self._applied

    def is_over(self, *, running: bool, pending: Collection[str]) -> bool:
        """Whether nothing is left to wait for, after a stream has ended without the input.

        So it is where the input was taken back. A run that is RUNNING again has begun a turn with it.
        """
        return self._applied or (not running and self.queued_as not in pending)
