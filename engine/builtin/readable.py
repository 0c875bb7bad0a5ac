"""A web page as text that a model reads well: headings, lists and links in Markdown's signs, nothing of the rest."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.builtin.html_tokens import Tag, html_tokens

_HIDDEN = {"iframe", "noscript", "object", "script", "style", "svg", "template"}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
    "form", "header", "hr", "main", "nav", "ol", "p", "section", "table", "ul",
}  # fmt: skip
_STARTS = {**{f"h{level}": "#" * level + " " for level in range(1, 7)}, "li": "- "}
_SPACE = re.compile(r"[ \t\r\n\f\v]+")
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([a-zA-Z0-9_.:-]{1,40})""", re.IGNORECASE)
_HEAD = 4_096  # bytes in which a page declares how it is written
_CHARSET = re.compile(
    r"utf-?(8|16|32)|ascii|latin|iso-?8859|iso-?2022|cp\d|koi8|mac-|shift|euc|gb|big5|hz|johab|tis", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Readable:
    """The text of a page, and its title; "" without one."""

    title: str
    text: str


def decoded(content: bytes, charset: str | None, *, is_html: bool) -> str:
    """The content as text, by what the server or the page says, else as UTF-8; what does not fit is replaced."""
    declared = _DECLARED.search(content[:_HEAD]) if is_html and charset is None else None
    name = declared[1].decode("ascii") if declared is not None else charset
    try:
        codec = codecs.lookup(name or "utf-8").name
    except (LookupError, ValueError):  # the latter for a NUL in its name
        codec = "utf-8"
    # Python has codecs that are no charsets, such as punycode, whose work grows with the square of the length.
    return content.decode(codec if _CHARSET.match(codec) else "utf-8", errors="replace").removeprefix("\ufeff")


def readable(html: str, absolute: Callable[[str], str | None]) -> Readable:
    """A page's text. `absolute` makes a link's address one that can be fetched; None for those that can't."""
    reader = _Reader(absolute)
    for token in html_tokens(html):
        reader.take(token)
    return Readable(_SPACE.sub(" ", "".join(reader.title)).strip(), _tidy("".join(reader.parts)))


class _Reader:
    """Writes down what is to be read, in `parts`; at a block's edges a line ends."""

    def __init__(self, absolute: Callable[[str], str | None]) -> None:
        self.parts: list[str] = []
        self.title: list[str] = []
        self._absolute = absolute
        self._hidden = ("", 0)  # the element that hides all that is in it, and how many of its kind are open
        self._preformatted = 0
        self._is_title = False
        self._link: tuple[str, int] | None = None  # where it leads, and where in `parts` its words begin

    def take(self, token: Tag | str) -> None:
        """Read on."""
        hider, depth = self._hidden
        if isinstance(token, str):
            if not depth:
                self._text(token)
        elif depth:
            if token.name == hider:
                self._hidden = (hider, depth + (-1 if token.is_end else 1))
        elif token.name in _HIDDEN:
            self._hidden = (token.name, 0 if token.is_end or token.is_closed else 1)
        elif token.name == "title":
            self._is_title = not token.is_end
        elif token.is_end:
            self._end(token.name)
        else:
            self._begin(token.name, token.attributes)

    def _text(self, text: str) -> None:
        if self._is_title:
            self.title.append(text)
        elif self._preformatted:
            self.parts.append(text)
        else:
            spaced = _SPACE.sub(" ", text)
            self.parts.append(spaced.removeprefix(" ") if self._last() in ("", "\n", " ") else spaced)

    def _last(self) -> str:
        return self.parts[-1][-1:] if self.parts else ""

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "a":
            self._end_link()
            address = self._absolute(attributes.get("href", ""))
            self._link = None if address is None else (address, len(self.parts))
        elif tag in _STARTS:
            self.parts.append(f"\n{'' if tag == 'li' else chr(10)}{_STARTS[tag]}")
        elif tag == "pre":
            self._preformatted += 1
            self.parts.append("\n\n")
        elif tag in ("br", "tr"):
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append("| " if self._last() in ("", "\n") else " | ")
        elif tag in _BLOCKS:
            self.parts.append("\n\n")

    def _end(self, tag: str) -> None:
        if tag == "a":
            self._end_link()
        elif tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
            self.parts.append("\n\n")
        elif tag in _BLOCKS or (tag in _STARTS and tag != "li"):
            self.parts.append("\n\n")

    def _end_link(self) -> None:
        if self._link is None:
            return
        address, start = self._link
        self._link = None
        words = _SPACE.sub(" ", "".join(self.parts[start:])).strip()
        if words:
            self.parts[start:] = [f"[{words}]({address})"]


def _tidy(text: str) -> str:
    """Without spaces at the ends of lines, and at most one empty line at a time."""
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
