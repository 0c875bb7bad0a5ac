"""Signatures of deliveries, as the convention Standard Webhooks has them: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import base64
import hashlib
import hmac

PREFIX = "whsec_"
KEY_BYTES = 32


def secret_of(key: bytes) -> str:
    """A secret as its owner is shown it."""
    return PREFIX + base64.b64encode(key).decode()


def signed_headers(secret: str, delivery_id: str, seconds: int, body: bytes) -> dict[str, str]:
    """The headers that prove a delivery, at a time in seconds since the epoch."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    content = b".".join([delivery_id.encode(), str(seconds).encode(), body])
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {"webhook-id": delivery_id, "webhook-timestamp": str(seconds), "webhook-signature": f"v1,{signature}"}
