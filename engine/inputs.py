"""What clients may say: checked and cleaned before anything is stored."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from engine.errors import AgentInputRequired, InputTooLarge, InvalidInput
from engine.user import User
from models.json_codec import dump_json
from models.key import Key
from models.text import clean, clean_json

MAX_INPUT = 262_144  # characters of one input that begins a turn; what is queued has the queue's own limit
MAX_TITLE = 512
MAX_METADATA = 16 * 1024  # bytes as JSON
MAX_KEY = 255
MAX_REASON = 1_000


def checked_input(text: str) -> str:
    """An input with something in it. Raises AgentInputRequired, InputTooLarge."""
    if len(text) > MAX_INPUT:
        raise InputTooLarge(f"The input has {len(text):,} characters; at most {MAX_INPUT:,} fit.", field=("input",))
    if not text.strip():
        raise AgentInputRequired("The input is empty.", field=("input",))
    return clean(text)


def checked_title(title: str | None) -> str | None:
    """A title of at most 512 characters; one of white space alone counts as none. Raises InvalidInput."""
    if title is None or not title.strip():
        return None
    if len(title) > MAX_TITLE:
        raise InvalidInput(f"The title has more than {MAX_TITLE} characters.", field=("title",))
    return clean(title)


def checked_metadata(metadata: Any) -> dict[str, Any] | None:
    """A JSON object of at most 16 KB. Raises InvalidInput."""
    return None if metadata is None else checked_object("metadata", metadata, MAX_METADATA)


def checked_object(name: str, given: Any, most: int) -> dict[str, Any]:
    """The JSON object in the argument of this name, of at most so many bytes. Raises InvalidInput."""
    if not isinstance(given, dict):
        raise InvalidInput(f"{name} must be a JSON object.", field=(name,))
    cleaned: dict[str, Any] = checked_size(name, given, most, (name,))
    if not _is_finite(cleaned):
        raise InvalidInput(f"{name} holds a number that is too large for JSON.", field=(name,))
    return cleaned


def checked_size(name: str, given: Any, most: int, field: tuple[str, ...]) -> Any:
    """A JSON value, cleaned, of at most so many bytes. Raises InvalidInput, about this field."""
    cleaned = clean_json(given)
    try:
        size = len(dump_json(cleaned).encode())
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} can't be written as JSON.", field=field) from error
    if size > most:
        raise InvalidInput(f"{name} takes {size:,} bytes; at most {most:,} fit.", field=field)
    return cleaned


def checked_words(name: str, text: str, most: int) -> str:
    """A text with something in it, of at most so many characters. Raises InvalidInput."""
    if not text.strip() or len(text) > most:
        raise InvalidInput(f"{name} has 1 to {most:,} characters.", field=(name,))
    return clean(text)


def _is_finite(value: Any) -> bool:
    """Whether it holds no infinity, which is what a number such as 1e400 is read as, and would be stored as null."""
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def checked_reason(reason: str | None) -> str | None:
    """Why a run is cancelled, in at most 1,000 characters. Raises InvalidInput."""
    if reason is not None and len(reason) > MAX_REASON:
        raise InvalidInput(f"The reason has more than {MAX_REASON:,} characters.", field=("reason",))
    return None if reason is None else clean(reason)


def key_of(user: User, operation: str, key: str | None, **arguments: Any) -> Key | None:
    """A caller's idempotency key with a digest of what it stands for. Raises InvalidInput."""
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_KEY:
        raise InvalidInput(f"A key has 1 to {MAX_KEY} characters.", field=("key",))
    digest = hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()  # in whichever order they came
    return Key(user.id, operation, clean(key), digest)
