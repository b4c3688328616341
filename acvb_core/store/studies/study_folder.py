"""A plan of several runs in a folder: the plan, and a line for every run that is over."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from acvb_core.core.errors import ParameterError
from acvb_core.engine.study import StudyT
from acvb_core.store.export import to_plain
from acvb_core.store.files import DAMAGE, StoreError, replace_file

PlanT = TypeVar("PlanT", bound=Any)
#: Most bytes of the lines that are read.
_MOST_BYTES = 256 << 20


class StudyFolder(ABC, Generic[PlanT, StudyT]):
    """A folder that keeps the runs of one plan: one that was interrupted goes on from it.

    `version` is that of the package: another one may give other numbers.

    Raises
    ------
    StoreError
        The folder cannot be written to, or holds runs of another plan.
    """

    #: What such a plan is called, one of its runs, and what two of them differ in.
    noun: ClassVar[str]
    run_noun: ClassVar[str]
    differences: ClassVar[str]
    place: ClassVar[str]  #: folder of all of them, below that of the store
    #: `plan_file`, `lines_file`: names of the files in the folder.
    plan_file: ClassVar[str]
    lines_file: ClassVar[str]
    remedy: ClassVar[str]  #: what to do about a line that is damaged
    #: What may be another in the plan when it goes on.
    may_change: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folder: Path, plan: PlanT, version: str) -> None:
        self.folder, self.plan, self.version = folder, plan, version
        identity = {"version": version, **to_plain(plan.identity())}
        path = folder / self.plan_file
        try:
            folder.mkdir(parents=True, exist_ok=True)
            known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        except (OSError, *DAMAGE) as error:
            raise StoreError(f"{path} cannot be read ({error}). Give another folder.") from None
        if known is not None and not (isinstance(known, dict) and self._fix(known) == self._fix(identity)):
            raise StoreError(
                f"{folder} holds another {self.noun}: with other {self.differences} or of another version. Give "
                "another folder, or the same command to go on with it."
            )
        if known != identity:
            with replace_file(path) as file:
                file.write(json.dumps(identity, indent=2).encode() + b"\n")

    @classmethod
    def reopen(cls, folder: Path, data: Any) -> Self:
        """Return a folder that was written before, with its plan made anew on the same data.

        Raises AcvbError or OSError: a file of it is gone or damaged, or the data are others.
        """
        path = folder / cls.plan_file
        try:
            identity = json.loads(path.read_text(encoding="utf-8"))
            return cls(folder, cls._rebuild(data, identity), str(identity["version"]))
        except (*DAMAGE, ParameterError) as error:
            raise StoreError(f"{path} is damaged, or a copy from elsewhere: {error}") from None

    def append(self, run: Any) -> None:
        """Write one more run, which is on the disk when this returns.

        Raises StoreError: it cannot be written.
        """
        path = self.folder / self.lines_file
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(to_plain(self._encode(run)), allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from None

    def read_lines(self) -> list[Any]:
        """Return the runs that are over; a last line that was cut off counts as not run, and is removed.

        Of lines of one run that differ in nothing but times the first counts: two processes made it.

        Raises StoreError: another line is damaged.
        """
        path = self.folder / self.lines_file
        if not path.exists():
            return []
        if path.stat().st_size > _MOST_BYTES:
            raise StoreError(
                f"{path} is longer than {_MOST_BYTES:,} bytes, and cannot be of one {self.noun}."
            )
        stored = path.read_bytes()
        whole, _, rest = stored.rpartition(b"\n")
        runs: list[Any] = []
        known: set[str] = set()
        for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
            try:
                held = json.loads(line)
                same = json.dumps({name: held[name] for name in sorted(held) if "seconds" not in name})
                if same not in known:
                    known.add(same)
                    runs.append(self._decode(held, len(runs) + 1))
            except (*DAMAGE, AttributeError) as error:
                raise StoreError(
                    f"{path}, line {number:,}: this is not a {self.run_noun} of the {self.noun} ({error}). "
                    f"{self.remedy}"
                ) from None
        if rest:
            path.write_bytes(stored[: len(stored) - len(rest)])
        return runs

    @abstractmethod
    def read(self) -> StudyT:
        """Return the runs that are over.

        Raises StoreError: a line is damaged.
        """

    def copy_lines(self, other: Self) -> None:
        """Take the runs of another folder of the same plan, which were read before.

        Raises StoreError: they cannot be written.
        """
        path = other.folder / self.lines_file
        if path.exists():
            with replace_file(self.folder / self.lines_file) as file:
                file.write(path.read_bytes())

    @property
    def data(self) -> Any:
        """The data of the plan."""
        return self.plan.data

    @staticmethod
    @abstractmethod
    def _rebuild(data: Any, identity: Mapping[str, Any]) -> PlanT:
        """Return the plan of an identity, checked."""

    @abstractmethod
    def _encode(self, run: Any) -> Any:
        """Return a run as its line holds it."""

    @abstractmethod
    def _decode(self, line: Any, number: int) -> Any:
        """Return the run of a line, from 1; raise one of DAMAGE where it is none."""

    def _fix(self, identity: dict[str, Any]) -> dict[str, Any]:
        """Return what must be the same for a plan to go on."""
        return {name: value for name, value in identity.items() if name not in self.may_change}
