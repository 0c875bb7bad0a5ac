"""How an operation is executed: a result that was begun is finished, also where nobody wants it any more."""

from __future__ import annotations

from typing import Any

from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from models.uninterrupted import uninterrupted


class WholeResults(StrawberryGraphQLCoreExecutionContext):
    """Executes a query, a mutation, or one event of a subscription to its end before a cancellation goes on.

    The library's tasks for fields, cancelled before they begin, would leave resolvers that were called and never
    awaited. Results take a few reads at most; waiting for a subscription's next event is cut as ever.
    """

    def execute_operation(self, serially: bool | None = None) -> Any:
        """The result, or an awaitable of it that can't be cut short."""
        result: Any = super().execute_operation(serially)
        return uninterrupted(result) if self.is_awaitable(result) else result
