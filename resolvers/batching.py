"""Waiting for a batched read, to its end."""

from __future__ import annotations

from typing import TypeVar

from strawberry.dataloader import DataLoader

from models.uninterrupted import uninterrupted

K = TypeVar("K")
V = TypeVar("V")


async def loaded(loader: DataLoader[K, V], key: K) -> V:
    """What the loader gives for the key, also where the caller is cancelled meanwhile; the cancellation goes on then.

    Where all who wait for a batch are cancelled before it begins, the library cancels the batch and yet keeps it as the
    one to add to: whatever the socket's later operations asked of that loader would wait for ever.
    """
    return await uninterrupted(loader.load(key))
