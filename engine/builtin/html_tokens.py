"""HTML, read as tags and texts, in time that grows with its length alone.

`html.parser` takes minutes for a hundred thousand characters of tags that are never closed, and a thread can't be
stopped. Here what is not closed ends with the page, as browsers have it, so nothing is looked at twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)")
_ATTRIBUTE = re.compile(r"""([^\s/>][^\s/>=]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+))?""")
_BETWEEN = re.compile(r"[\s/]*+")
_RAW = {"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"}
"""Elements with nothing but text in them, whatever it looks like."""
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag by its name in small letters; of attributes that are given twice the first counts."""

    name: str
    is_end: bool = False
    is_closed: bool = False
    """Whether it ends with `/>`."""
    attributes: Mapping[str, str] = field(default_factory=dict)


def html_tokens(html: str) -> Iterator[Tag | str]:
    """The tags and the texts between them, in order, without comments; references such as `&amp;` are resolved."""
    at = 0
    while at < len(html):
        begin = html.find("<", at)
        if begin < 0:
            begin = len(html)
        if begin > at:
            yield _resolved(html[at:begin])
        if begin == len(html):
            return
        found = _TAG.match(html, begin)
        if found is None:
            at = _after_other(html, begin)
            if at == begin + 1:
                yield "<"
            continue
        tag, at = _tag(html, found)
        if at > len(html):
            return  # a tag that is not closed is none
        yield tag
        if tag.name in _RAW and not tag.is_end:
            end = _RAW_END[tag.name].search(html, at)
            text = html[at : end.start() if end else len(html)]
            at += len(text)
            yield _resolved(text)


def _tag(html: str, found: re.Match[str]) -> tuple[Tag, int]:
    """The tag that begins there, and where it has ended: beyond the page, where it is not closed."""
    attributes: dict[str, str] = {}
    at = found.end()
    while True:
        at = _end_of(_BETWEEN, html, at)
        one = _ATTRIBUTE.match(html, at)
        if one is None:
            break
        value = one[2] or ""
        if value[:1] in ('"', "'") and len(value) > 1 and value[-1] == value[0]:
            value = value[1:-1]
        attributes.setdefault(one[1].lower(), _resolved(value))
        at = one.end()
    is_closed = html[at - 1 : at] == "/"
    return Tag(found[2].lower(), bool(found[1]), is_closed, attributes), at + 1


def _after_other(html: str, begin: int) -> int:
    """Where a comment, a declaration or the like has ended that begins with this sign; else right behind the sign."""
    if html.startswith("<!--", begin):
        end = html.find("-->", begin + 2)  # `<!-->` is a whole one
        return len(html) if end < 0 else end + 3
    if html[begin + 1 : begin + 2] in ("!", "?", "/"):
        end = html.find(">", begin)
        return len(html) if end < 0 else end + 1
    return begin + 1


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _resolved(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a reference to a character by a number of thousands of digits
        return text
