"""What a model is given in the place of references."""

from __future__ import annotations

from typing import Any

from engine.attachments.expanding import absent, fitting, references, replaced, whole
from models.attachment import Attachment


def attachment(name: str, *, size: int = 9, pages: int | None = None) -> Attachment:
    """A row."""
    kind = "image/png" if pages is None else "application/pdf"
    return Attachment(f"att_{name}", "alice", name * 8, kind, f"{name}.x", size, 1, 1, pages, 0)


def said(*attachments: Attachment) -> dict[str, Any]:
    """A user's turn with these."""
    return {"role": "user", "content": [*(one.block for one in attachments), {"type": "text", "text": "Look"}]}


A, B = attachment("a"), attachment("b", pages=2)
KNOWN = {A.id: A, B.id: B}


def test_references_are_found_where_users_made_them() -> None:
    """Blocks of users' turns that name an attachment of ours; a provider's own files, and answers, are left alone."""
    foreign = {"type": "image", "source": {"type": "file", "file_id": "file_011"}}
    turns = [said(A, B), {"role": "assistant", "content": [A.block]}, {"role": "user", "content": [foreign, A.block]}]
    assert references(turns) == {(0, 0): A.id, (0, 1): B.id, (2, 1): A.id}


def test_the_newest_that_fit_are_sent() -> None:
    """A request carries so many characters, pages and files: what is older is left out, and what is newer is not."""
    for large in (attachment("c", size=11_000_000), attachment("d", pages=60)):
        turns = [said(A), said(large), said(large), said(B, A)]
        fits = fitting(references(turns), KNOWN | {large.id: large})
        assert fits == {(2, 0), (3, 0), (3, 1)}
    many = [said(A) for _ in range(120)]
    assert fitting(references(many), KNOWN) == {(number, 0) for number in range(20, 120)}


def test_what_takes_its_place_says_what_it_is() -> None:
    """The file itself under its type, other keys as they were; or words that say what is missing and why."""
    turns = [said(B)]
    sent = replaced(turns, {(0, 0): whole(B.block, B, "Zm9v")})
    source = {"type": "base64", "media_type": "application/pdf", "data": "Zm9v"}
    assert sent[0]["content"][0] == {"type": "document", "source": source, "title": "b.x"}
    assert turns == [said(B)]
    assert absent(A, "why")["text"] == "[The attachment 'a.x' (image/png) can't be shown: why.]"
    assert absent(None, "why")["text"] == "[The attachment can't be shown: why.]"
