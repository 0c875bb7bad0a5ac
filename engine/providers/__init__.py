"""The makers of answers: the Messages API through its SDK, and a scripted model."""
