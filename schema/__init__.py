"""What clients see: types, inputs, enums, errors, connections; schema.graphql, printed."""
