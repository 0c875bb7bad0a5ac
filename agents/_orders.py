"""The orders of the help desk: three of them, in memory, made up."""

from __future__ import annotations

import threading
from decimal import Decimal

_ORDERS = {"A-1042": ("Fountain pen, brass", 240), "A-1043": ("Notebooks, a dozen", 78), "A-1044": ("Ink, blue", 12)}
_refunds: dict[str, tuple[str, Decimal]] = {}
"""Each refund by the key that it was asked for with: the order and the amount."""
_lock = threading.Lock()


class NoSuchOrder(LookupError):
    """No order has this number."""


class TooMuch(ValueError):
    """More than is left of an order."""


def find(order: str) -> dict[str, object]:
    """What is known of an order. Raises NoSuchOrder."""
    if order not in _ORDERS:
        raise NoSuchOrder(order)
    what, price = _ORDERS[order]
    return {"order": order, "what": what, "price": price, "refunded": float(_refunded(order))}


def refund(order: str, amount: float, *, key: str) -> str:
    """Refund; the same key never refunds twice. Raises NoSuchOrder and TooMuch."""
    if order not in _ORDERS:
        raise NoSuchOrder(order)
    euros = round(Decimal(str(amount)), 2)
    with _lock:
        if key not in _refunds:
            left = _ORDERS[order][1] - _refunded(order)
            if euros > left:
                raise TooMuch(f"{left} euros")
            _refunds[key] = order, euros
        return f"Refunded {_refunds[key][1]} euros of {order}."


def _refunded(order: str) -> Decimal:
    return sum((euros for of, euros in _refunds.values() if of == order), Decimal(0))
