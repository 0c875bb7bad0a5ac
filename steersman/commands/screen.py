"""What a command writes while a run goes on: the answer to standard output, all else to standard error."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

import click

# A model's words may hold what a terminal takes for commands: all controls but tabs and line ends are left out.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Screen:
    """Writes both streams so that notes begin on a line of their own where a reader sees the two together."""

    def __init__(self, out: TextIO | None = None, notes: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._notes = notes or sys.stderr
        self._together = self._out.isatty() and self._notes.isatty()
        self._coloured = self._notes.isatty() and not os.environ.get("NO_COLOR")
        self._open_out = False  # whether a line of the answer has no end yet
        self._open_note = False

    def answer(self, text: str) -> None:
        """More of the answer."""
        if self._open_note and self._together:
            self._note_end()
        self._write(self._out, printable(text) if self._out.isatty() else text)
        self._open_out = not text.endswith("\n")

    def aside(self, text: str) -> None:
        """More of what goes on beside the answer, such as thoughts; it may stop in the middle of a line."""
        if self._open_out and self._together:
            self.end_answer()
        self._write(self._notes, self._style(printable(text), "dim"))
        self._open_note = not text.endswith("\n")

    def note(self, text: str, style: str = "plain") -> None:
        """A line beside the answer; `style` is plain, dim, good, bad or call."""
        if self._open_out and self._together:
            self.end_answer()
        if self._open_note:
            self._note_end()
        self._write(self._notes, self._style(printable(text), style) + "\n")

    def end_answer(self) -> None:
        """End the answer's line where it is open."""
        if self._open_out:
            self._write(self._out, "\n")
            self._open_out = False

    def line(self, text: str) -> None:
        """A whole line of standard output, as it is."""
        self._write(self._out, text + "\n")

    def _note_end(self) -> None:
        self._write(self._notes, "\n")
        self._open_note = False

    def _style(self, text: str, style: str) -> str:
        if not self._coloured or style == "plain":
            return text
        if style == "dim":
            return click.style(text, dim=True)
        return click.style(text, fg={"good": "green", "bad": "red", "call": "cyan"}[style])

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        stream.write(text)
        stream.flush()


def printable(text: str) -> str:
    """The text without control characters, other than tabs and line ends."""
    return _CONTROLS.sub("", text)
