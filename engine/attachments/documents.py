"""PDFs: read far enough to know that they open without a password, and how many pages they have."""

from __future__ import annotations

import io
import logging
from typing import Any

from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject

from engine.attachments.given import NotTaken
from engine.attachments.limits import MAX_PAGES

# It tells each oddity of a file that it reads all the same.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)
_MAX_NODES = 10_000  # of the tree of pages: one that is made to be endless is given up


def pages_of(data: bytes) -> int:
    """How many pages the PDF has. Raises NotTaken where it is broken, locked, or has more than are taken."""
    try:
        reader = PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted
        pages = 0 if locked else _count(reader.root_object["/Pages"])
    except NotTaken:
        raise
    except Exception as error:  # the reader raises whatever a broken file makes it stumble over
        raise _broken() from error
    if locked:
        raise NotTaken("The PDF is encrypted: a model can't read it.")
    if pages == 0:
        raise _broken()
    return pages


def _broken() -> NotTaken:
    return NotTaken("The PDF is broken, or was cut off.")


def _count(root: Any) -> int:
    """The leaves of the tree of pages. What a file itself says of their number may be untrue."""
    pages, seen, nodes = 0, 0, [root]
    while nodes:
        node, seen = nodes.pop().get_object(), seen + 1
        if seen > _MAX_NODES:
            raise _broken()
        if not isinstance(node, DictionaryObject):
            continue
        kids = node.get("/Kids")
        if kids is not None:
            below = kids.get_object()
            nodes += below[:_MAX_NODES] if isinstance(below, ArrayObject) else []
        else:
            pages += 1
        if pages > MAX_PAGES:
            raise NotTaken(f"The PDF has more than {MAX_PAGES} pages.")
    return pages
