"""The GraphQL endpoint and its protocols; the one place outside schema/ and resolvers/ that knows strawberry."""

from steersman.graphql.endpoint import GraphQLEndpoint
from steersman.graphql.limits import Limits

__all__ = ["GraphQLEndpoint", "Limits"]
