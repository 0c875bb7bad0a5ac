"""How large a document may be, once its fragments are spread."""

from __future__ import annotations

from dataclasses import dataclass

from graphql import GraphQLError
from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest document that is taken; the defaults leave room for every introspection query."""

    characters: int = 262_144
    tokens: int = 4_000
    depth: int = 20
    fields: int = 600


def too_complex(what: str) -> GraphQLError:
    """The error for a document that is over a limit."""
    return GraphQLError(f"The document is too large: {what}.", extensions={"code": "TOO_COMPLEX"})


def check(document: DocumentNode, limits: Limits) -> None:
    """Raises a GraphQLError with the code TOO_COMPLEX where an operation is too deep, or selects too many fields."""
    measure = _Measure(document)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            try:
                depth, fields = measure.of(definition.selection_set)
            except RecursionError:
                raise too_complex("fragments spread fragments too many times over") from None
            if depth > limits.depth:
                raise too_complex(f"fields are nested {depth} deep, and {limits.depth} is the most")
            if fields > limits.fields:
                raise too_complex(f"it selects {fields} fields, and {limits.fields} is the most")


class _Measure:
    """Depth and number of fields of selections; each fragment is measured once, so spreading costs nothing."""

    def __init__(self, document: DocumentNode) -> None:
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._known: dict[str, tuple[int, int]] = {}

    def of(self, selections: SelectionSetNode | None) -> tuple[int, int]:
        """The depth of these selections, and how many fields they select."""
        depth, fields = 0, 0
        for node in selections.selections if selections is not None else ():
            if isinstance(node, FieldNode):
                below, inside = self.of(node.selection_set)
                below, inside = below + 1, inside + 1
            elif isinstance(node, InlineFragmentNode):
                below, inside = self.of(node.selection_set)
            elif isinstance(node, FragmentSpreadNode):
                below, inside = self._fragment(node.name.value)
            else:  # pragma: no cover - the grammar has no other selection
                continue
            depth, fields = max(depth, below), fields + inside
        return depth, fields

    def _fragment(self, name: str) -> tuple[int, int]:
        if name not in self._known:
            self._known[name] = (0, 0)  # a cycle ends here; validation refuses it afterwards
            definition = self._fragments.get(name)
            if definition is not None:
                self._known[name] = self.of(definition.selection_set)
        return self._known[name]
