"""Tool types that come with Steersman: what a stored agent's tools are made of."""
