"""What runs agents: definitions, the loop, tools, providers, streams, workers."""
