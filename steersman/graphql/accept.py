"""Which media type answers an Accept header (RFC 9110 section 12.5.1)."""

from __future__ import annotations

from dataclasses import dataclass

RESPONSE_JSON = "application/graphql-response+json"
JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Range:
    """One media range of an Accept header, such as `text/*;q=0.5`."""

    kind: str
    subkind: str
    quality: float

    def match(self, media_type: str) -> int:
        """How exactly it names the media type: 3 by name, 2 by its kind, 1 as anything, 0 not at all."""
        kind, _, subkind = media_type.partition("/")
        if self.kind == "*" and self.subkind == "*":
            return 1
        if self.kind != kind:
            return 0
        return 3 if self.subkind == subkind else 2 if self.subkind == "*" else 0


def choose(accept: str | None) -> str | None:
    """The media type to answer with, or None where none of ours is acceptable.

    Without an Accept header it is application/json. Event streams are chosen only where no JSON type is acceptable:
    clients (urql) name them in the Accept header of every request.
    """
    if accept is None or not accept.strip():
        return JSON
    ranges = _parse(accept)
    plain, typed = _quality(ranges, JSON), _quality(ranges, RESPONSE_JSON)
    named = any(found.match(RESPONSE_JSON) == 3 for found in ranges)
    if typed > 0 and (typed > plain or (typed == plain and named)):
        return RESPONSE_JSON
    if plain > 0:
        return JSON
    return EVENTS if _quality(ranges, EVENTS) > 0 else None


def wants_page(accept: str | None) -> bool:
    """Whether a browser asks for a page: HTML is named, and nothing of ours by name."""
    ranges = _parse(accept or "")
    html = any(found.match("text/html") == 3 and found.quality > 0 for found in ranges)
    return html and not any(found.match(ours) == 3 for found in ranges for ours in (JSON, RESPONSE_JSON, EVENTS))


def _quality(ranges: list[Range], media_type: str) -> float:
    best = max(ranges, key=lambda found: found.match(media_type), default=None)
    return best.quality if best is not None and best.match(media_type) else 0.0


def _parse(accept: str) -> list[Range]:
    ranges = []
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        kind, slash, subkind = name.partition("/")
        if slash:
            ranges.append(Range(kind, subkind, _q(parameters)))
    return ranges


def _q(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
