"""Text that every database and every JSON reader can hold."""

from __future__ import annotations

import re
from typing import Any

REPLACEMENT = "\ufffd"
_UNHOLDABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with NUL characters and lone surrogates replaced by U+FFFD; surrogate pairs become their character."""
    if text.isascii() and "\x00" not in text:
        return text
    if _UNHOLDABLE.search(text) is None:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", REPLACEMENT)


def clean_json(value: Any) -> Any:
    """The same for every string in a JSON value, keys included; a new value where anything changed."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): clean_json(item) for key, item in value.items()}
    return value


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units, as a browser's string length counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_prefix(text: str, units: int) -> str:
    """The first so many UTF-16 code units of the text; a pair that is cut in the middle becomes U+FFFD."""
    if text.isascii():
        return text[:units]
    return text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "replace")
