"""Why a verb did nothing."""

from __future__ import annotations

from models.purse import PurseKind
from models.spending import Bounds


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


class NoSuchCall(Exception):
    """The run has no such call that waits for what it was given; its id is the argument."""


class AlreadyDecided(Exception):
    """The call has been decided or answered, or waits no more; its id is the argument."""


class NotADecider(Exception):
    """The call waits for somebody else's decision; its id is the argument."""


class Unaffordable(Exception):
    """A model can't be asked: what it would take can't be paid for."""


class Spent(Unaffordable):
    """Too little is left: in which purse, of which bounds, and how much of them is spent or reserved."""

    def __init__(self, kind: PurseKind, bounds: Bounds, taken: Bounds, *, of_tokens: bool) -> None:
        super().__init__(f"{kind} {bounds}: {taken}")
        self.kind = kind
        self.bounds = bounds
        self.taken = taken
        self.of_tokens = of_tokens


class NoPrice(Unaffordable):
    """Money is limited, and the model has no known price."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model


class NoMoreChildren(Exception):
    """A run may begin no other one: its argument says why, in words for a model."""


class NoSuchMessage(Exception):
    """The run has no message of that seq."""


class AgentMissing(Exception):
    """The user has no such agent."""


class HandleInUse(Exception):
    """Another agent has this handle."""


class NoSuchResource(Exception):
    """The agent has no such resource."""


class RemoteMissing(Exception):
    """The user has no such remote."""


class TooMany(Exception):
    """There are as many of these as there may be; whose they are is the argument."""


class NoSuchSchedule(Exception):
    """The user has no such schedule."""


class TickPassed(Exception):
    """The schedule does not wait for this tick any more, or somebody else takes it just now."""


class NoSuchWebhook(Exception):
    """The user has no such webhook."""


class ChatMissing(Exception):
    """The user is in no such chat."""


class MemberMissing(Exception):
    """An agent that is to be a member is not there; its id is the argument."""


class MemberBound(Exception):
    """An agent and its owner stay in its main chat, which is temporary where the agent is, and only there."""
