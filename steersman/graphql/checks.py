"""What each operation passes before it is executed: limits, one operation to run, parsing and validation, cached."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import lru_cache

import strawberry
from graphql import GraphQLError
from graphql.language import DocumentNode, OperationDefinitionNode
from graphql.validation import NoSchemaIntrospectionCustomRule
from strawberry.extensions import AddValidationRules, ParserCache, SchemaExtension, ValidationCache
from strawberry.types import ExecutionContext

from steersman.graphql import limits
from steersman.graphql.executing import WholeResults
from steersman.graphql.limits import Limits
from steersman.graphql.masking import VALIDATION_FAILED

# Documents are kept parsed and validated: what starts an operation costs 73 microseconds then, and 1,780 otherwise.
KEPT_DOCUMENTS = 256


class Checks(SchemaExtension):
    """Refuses documents over the limits, and requests that don't say which of several operations to run."""

    def __init__(self, most: Limits) -> None:
        self._most = most

    def on_operation(self) -> Iterator[None]:
        """Before anything: the document's length and number of tokens."""
        query = self.execution_context.query or ""
        if len(query) > self._most.characters:
            raise limits.too_complex(
                f"it has {len(query):,} characters, and {self._most.characters:,} is the most; use variables"
            )
        self.execution_context.parse_options["max_tokens"] = self._most.tokens
        yield

    def on_validate(self) -> Iterator[None]:
        """Before validation, which takes long for large documents: its depth, its fields, its operation."""
        document = self.execution_context.graphql_document
        if document is not None:
            # The public property gives the first operation's name where none was given.
            if self.execution_context._provided_operation_name is None:  # noqa: SLF001 - hence; a test pins it
                _check_lone_operation(document)
            _check_size(document, self._most)
        yield
        for error in self.execution_context.pre_execution_errors or ():
            error.extensions = {"code": VALIDATION_FAILED, **(error.extensions or {})}


def with_checks(
    schema: strawberry.Schema, *, introspection: bool = True, most: Limits | None = None
) -> strawberry.Schema:
    """The same schema, whose operations pass the checks; the one given stays as it is."""
    allowed = most or Limits()
    # Factories: one instance an operation. The caches behind them are the library's own and outlive the instances; the
    # rules must be the same objects each time, or the cache of validated documents never hits.
    factories: list[Callable[[], SchemaExtension]] = [lambda: Checks(allowed)]
    if not introspection:
        factories.append(lambda: AddValidationRules([NoSchemaIntrospectionCustomRule]))
    factories += [lambda: ParserCache(maxsize=KEPT_DOCUMENTS), lambda: ValidationCache(maxsize=KEPT_DOCUMENTS)]
    checked = copy.copy(schema)
    checked.extensions = (*schema.extensions, *factories)
    checked.execution_context_class = WholeResults
    # The library would log each error with its trace, expected ones too; defects are logged where they are masked.
    checked.process_errors = _log_nothing  # type: ignore[method-assign]
    return checked


def _log_nothing(errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
    """In the place of Schema.process_errors."""


@lru_cache(maxsize=KEPT_DOCUMENTS)
def _check_size(document: DocumentNode, most: Limits) -> None:
    limits.check(document, most)


def _check_lone_operation(document: DocumentNode) -> None:
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    if len(operations) > 1:
        raise GraphQLError(
            "The document has several operations: say which one to run with `operationName`.",
            extensions={"code": "BAD_USER_INPUT"},
        )
