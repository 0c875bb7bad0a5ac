"""Why a verb did nothing."""


class LeaseLost(Exception):
    """The right to write has passed on: whoever held this fence stops at once without another write."""


class RunMissing(Exception):
    """There is no such run."""


class QueueFull(Exception):
    """The run's queue of inputs is full."""


class Busy(Exception):
    """The run is generating or waiting."""


class NothingToAnswer(Exception):
    """The transcript ends with a whole answer, or has nothing to go on from: an input is needed."""


class NoSuchMessage(Exception):
    """The run has no message of that seq."""
