"""Tools: functions that a model may call."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from engine.docstring import Docstring, read_docstring
from engine.parameters import Parameters, parameters_of
from models.text import clean

P = ParamSpec("P")
R = TypeVar("R")
Approval = bool | Callable[[dict[str, Any]], bool]
"""Whether a call waits for a person: always, never, or where the checked arguments say so."""
ToolCrash = Literal["report", "retry"]
OWNER = "owner"
"""The word of `approvers` for the run's own user; models.call has the same."""
DEFAULT_TIMEOUT = 60.0
DEFAULT_RESULT_CHARS = 65_536
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the Messages API takes as a name; agents' names keep to it too


class Arguments(Protocol):
    """What a tool takes: `schema` for the model, the check of what it sends, and where the Context goes."""

    @property
    def schema(self) -> dict[str, Any]:
        """A JSON schema with "type": "object" at its top."""
        ...

    @property
    def context(self) -> str | None:
        """The name of the parameter that takes the Context."""
        ...

    def check(self, arguments: Any) -> dict[str, Any]:
        """A model's arguments, checked. Raises BadArguments."""
        ...


@dataclass(frozen=True, slots=True)
class Offered:
    """Whose tool it is, where a remote offers it: the remote's id and name, and what the remote calls the tool."""

    remote_id: str
    remote: str
    tool: str


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R]):
    """A function with what a model must know of it; made by `tool`. Called, it is the function itself.

    `timeout` is in seconds, `max_result_chars` in characters, 0 means none of either. `on_crash` says what becomes of
    a call that was running when its worker died: "report" tells the model, "retry" runs it again under the same
    idempotency key. `warnings` says what its author should mend, none of which keeps it from working.

    `approval` says which calls wait for a person's decision, `approvers` whose: "owner", the run's own user, or a
    role; `expires` is after how many seconds without one the model reads that nobody decided, None for never. With
    `client` the function is never called: a client of the run answers, within `timeout`. Nor is it with `agent`: the
    agent of that name answers, in a run of its own. `offered` says which remote it is of.
    """

    name: str
    description: str
    function: Callable[P, R]
    parameters: Arguments = field(repr=False)
    timeout: float = DEFAULT_TIMEOUT
    max_result_chars: int = DEFAULT_RESULT_CHARS
    on_crash: ToolCrash = "report"
    approval: Approval = False
    approvers: str = OWNER
    expires: float | None = None
    client: bool = False
    agent: str | None = None
    offered: Offered | None = None
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"tool {self.name!r}: a name is 1 to 64 letters, digits, _ or -")
        if not _is_number(self.timeout) or not math.isfinite(self.timeout) or self.timeout < 0:
            raise ValueError(f"tool {self.name}: timeout is in seconds, 0 for none; not {self.timeout!r}")
        if not _is_number(self.max_result_chars) or self.max_result_chars < 0 or self.max_result_chars % 1:
            raise ValueError(f"tool {self.name}: max_result_chars is a whole number, 0 for none")
        if self.on_crash not in ("report", "retry"):
            raise ValueError(f'tool {self.name}: on_crash is "report" or "retry", not {self.on_crash!r}')
        self._check_waiting()

    def _check_waiting(self) -> None:
        approval: Any = self.approval
        if not isinstance(approval, bool) and not callable(approval):
            raise TypeError(f"tool {self.name}: approval is True, False, or a function of the arguments")
        if callable(approval) and inspect.iscoroutinefunction(approval):
            raise TypeError(f"tool {self.name}: approval is asked without waiting; it can't be a coroutine function")
        approvers: Any = self.approvers
        if not isinstance(approvers, str) or not approvers.strip():
            raise ValueError(f'tool {self.name}: approvers is "owner" or a role, not {self.approvers!r}')
        if self.expires is not None and not (_is_number(self.expires) and 0 < self.expires < math.inf):
            raise ValueError(f"tool {self.name}: expires is in seconds, None for never; not {self.expires!r}")
        if not isinstance(self.client, bool):
            raise TypeError(f"tool {self.name}: client is True or False, not {self.client!r}")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it were no tool: nothing is checked, nothing is timed."""
        return self.function(*args, **kwargs)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function; plain ones run in a thread."""
        return _is_async(self.function)

    def check(self, arguments: Any) -> dict[str, Any]:
        """A model's arguments, checked and made what the function takes. Raises BadArguments with a text for it."""
        return self.parameters.check(arguments)

    def definition(self) -> dict[str, Any]:
        """The tool as the Messages API wants it: name, description, input_schema."""
        return {"name": self.name, "description": self.description, "input_schema": self.parameters.schema}


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    max_result_chars: int = DEFAULT_RESULT_CHARS,
    on_crash: ToolCrash = "report",
    approval: Approval = False,
    approvers: str = OWNER,
    expires: float | None = None,
    client: bool = False,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    max_result_chars: int = DEFAULT_RESULT_CHARS,
    on_crash: ToolCrash = "report",
    approval: Approval = False,
    approvers: str = OWNER,
    expires: float | None = None,
    client: bool = False,
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Make a function a tool, as `@tool` or `@tool(timeout=30, …)`.

    Its signature becomes the schema, its docstring the descriptions; name and description may be given instead. A
    first parameter annotated `Context` gets the call's context. Raises TypeError or ValueError, in words, for a
    function that can't be a tool.
    """
    frame = inspect.currentframe()
    # Types that are local to where the tool is defined are known only to the frame that defines it.
    local_names = dict(frame.f_back.f_locals) if frame and frame.f_back else {}

    def make(target: Callable[P, R]) -> Tool[P, R]:
        _refuse_unusable(target)
        called = _name_of(target) if name is None else name
        doc = read_docstring(target)
        try:
            parameters = parameters_of(target, doc.arguments, local_names)
        except TypeError as error:
            raise TypeError(f"tool {called}: {error}") from error
        said = clean(doc.description if description is None else description)
        return Tool(
            name=called,
            description=said,
            function=target,
            parameters=parameters,
            timeout=timeout,
            max_result_chars=max_result_chars,
            on_crash=on_crash,
            approval=approval,
            approvers=approvers,
            expires=expires,
            client=client,
            warnings=tuple(_warnings(said, doc, parameters)),
        )

    return make if function is None else make(function)


def _refuse_unusable(function: object) -> None:
    if isinstance(function, Tool):
        raise TypeError(f"{function.name} is a tool already")
    if isinstance(function, Mapping):
        raise TypeError(
            f"{dict(function)!r:.200} is no Python function: tools that the provider runs itself are refused, "
            "because no journal would know what they did"
        )
    if inspect.isclass(function) or not callable(function):
        raise TypeError(f"a tool is a function, not {function!r:.200}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function!r:.200}: a tool returns its result once; to tell more it has ctx.progress")


def _name_of(function: object) -> str:
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(f"{function!r:.200} has no name of its own: give it one, as in tool(name=…)")
    return name


def _warnings(description: str, doc: Docstring, parameters: Parameters) -> list[str]:
    warnings = [] if description.strip() else ["it has no description: give it a docstring"]
    warnings += [f"argument {name!r} has no description" for name in parameters.undescribed]
    known = {*parameters.schema["properties"], *([parameters.context] if parameters.context else [])}
    strays = [name for name in doc.arguments if name not in known]
    return warnings + [f"its docstring describes {name!r}, which it does not take" for name in strays]


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
