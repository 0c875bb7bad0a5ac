"""JSON for the database: orjson, and Python's own where a value is beyond it (big integers)."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

from models.text import clean_json

_LONG_NUMBER = re.compile(r"\d{19}")  # 2**63 has 19 digits


def dump_json(value: Any) -> str:
    """JSON text that every database holds: no NUL, no lone surrogate, no NaN."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # integers past 64 bits, lone surrogates
        return json.dumps(_finite(clean_json(value)), ensure_ascii=False, allow_nan=False)
    if "\\u0000" in text:
        return orjson.dumps(clean_json(value), option=orjson.OPT_NON_STR_KEYS).decode()
    return text


def load_json(text: str | bytes) -> Any:
    """A value from JSON text; integers of any size (orjson makes floats of those past 64 bits)."""
    if isinstance(text, bytes):
        text = text.decode()
    return json.loads(text) if _LONG_NUMBER.search(text) else orjson.loads(text)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value
