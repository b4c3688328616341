"""Limits of a view-only link: its id, methods that it may not call, and handles of runs that it cannot change."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from acvb_core.core.errors import AcvbError

HandleT = TypeVar("HandleT")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")

#: What pages read of runs, experiments and searches. Whatever is not named here is refused.
READABLE = frozenset(
    {
        "can_continue", "can_extend", "can_go_on", "created", "history", "id", "inspect", "label", "outline",
        "plan", "position", "prepared", "race_report",
    }
)  # fmt: skip


class ViewOnlyError(AcvbError):
    """Something that would change a workspace was asked of a view-only link."""

    def __init__(self) -> None:
        super().__init__("This link only shows the workspace. Open the full link to change anything.")


class _Viewable(Protocol):
    @property
    def view_only(self) -> bool: ...


ViewableT = TypeVar("ViewableT", bound=_Viewable)


def owner_only(
    method: Callable[Concatenate[ViewableT, Given], Answer],
) -> Callable[Concatenate[ViewableT, Given], Answer]:
    """Have a method of a workspace raise ViewOnlyError where the workspace is view only."""

    @wraps(method)
    def check_first(workspace: ViewableT, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        if workspace.view_only:
            raise ViewOnlyError
        return method(workspace, *given, **named)

    return check_first


class ViewedHandle:
    """A run, an experiment or a search that can be looked at; what would change it raises ViewOnlyError."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Any) -> None:
        object.__setattr__(self, "_handle", handle)

    def __getattr__(self, name: str) -> Any:
        if name in READABLE:
            return getattr(self._handle, name)
        if name.startswith("__"):  # Python itself asks whether there is such a method
            raise AttributeError(name)
        raise ViewOnlyError

    def __setattr__(self, name: str, value: Any) -> None:
        raise ViewOnlyError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ViewedHandle) and self._handle is other._handle

    def __hash__(self) -> int:
        return hash(self._handle)


def view_handle(handle: HandleT) -> HandleT:
    """Return a handle that shows what another one is at and cannot change it."""
    return cast(HandleT, ViewedHandle(handle))


def view_id(key: str) -> str:
    """Return the name by which a workspace is shown view only; its key cannot be found from it."""
    return hmac.new(key.encode(), b"acvb: view only", "sha256").hexdigest()[:32]
