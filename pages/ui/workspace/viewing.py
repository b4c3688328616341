"""Limits of a view-only link: its id, and stores and handles of runs that it cannot change."""

from __future__ import annotations

import hmac
from typing import Any

from acvb_core.core.errors import AcvbError

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


class ViewedStore(ViewedHandle):
    """A store of runs, experiments or searches that shows their handles, and nothing that only their owner can mend."""

    __slots__ = ()

    def jobs(self, workspace: str) -> list[ViewedHandle]:
        """Return the handles of a workspace, which can be looked at."""
        return [ViewedHandle(job) for job in self._handle.jobs(workspace)]

    def name(self, job_id: str) -> str:
        """Return the name of the data of an experiment or a search."""
        return str(self._handle.name(job_id))

    def deleted_runs(self, workspace: str) -> list[Any]:
        """Return none."""
        return []

    def unsaved_runs(self, workspace: str) -> dict[str, str]:
        """Return none."""
        return {}

    unreadable_runs, unreadable = deleted_runs, unsaved_runs


def view_id(key: str) -> str:
    """Return the name by which a workspace is shown view only; its key cannot be found from it."""
    return hmac.new(key.encode(), b"acvb: view only", "sha256").hexdigest()[:32]
