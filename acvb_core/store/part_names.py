"""Names of the parts of runs (clusters, topics, features), and how people arrange these: a JSON file next to each run.

A name belongs to what a part contains, not to its number: parts are numbered by size, and a run that continues may
change their order. So each name is kept with what marks its part, and given to the part that has most of these marks.
The marks of a topic are its top words; of a cluster or feature, objects in it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from acvb_core.core.errors import ParameterError
from acvb_core.store.files import (
    DAMAGE,
    LimitedLock,
    StoreError,
    as_store_error,
    check_id,
    remove_file,
    replace_file,
)

#: Version 2 says whose names they are, version 3 of which domain a part is: before, all were topics.
_VERSION = 3
_TOPICS = "topics"
#: Characters of a name that are kept.
MOST_CHARACTERS = 60
#: Names of a run, and marks of each, that are taken from elsewhere.
MOST_NAMES, MOST_MARKS = 10_000, 1_000
#: Share of the marks that a part must still have to keep its name.
LEAST_SHARED = 0.5

#: The marks of every part, by domain ("rows", "cols", "topics", "features"): indices of words or objects.
Marks = Mapping[str, Sequence[Sequence[int]]]
#: The user's name of every part, by domain; None for a part without one.
GivenNames = dict[str, tuple[str | None, ...]]
#: The kind of a change of parts, such as "merge", and the numbers of the parts, from 1.
Edit = tuple[str, tuple[int, ...]]
#: Behind the name of a domain: of its changes. They are kept as names are, one for each part and step.
_EDITS = " edits"


class PartNames:
    """The names of the parts of all runs in a store's folder.

    `folder`: of the store; made when it is not there.
    """

    #: Of all folders, however many objects there are of one: a name is read and written under it.
    _lock: ClassVar[LimitedLock] = LimitedLock("The names of parts are being written")

    def __init__(self, folder: Path) -> None:
        # Its name is from the time when only topics had names.
        self.folder = Path(folder) / "topic_names"

    def names(self, run: str, marks: Marks) -> GivenNames:
        """Return the user's name of each part of a run, None if it has none.

        `run`: id of the run.
        `marks`: of the parts, as the run has them now.
        Raises StoreError: the file cannot be read, is damaged, or was written by a newer version of the program.
        """
        entries = self.entries(run)
        return {
            domain: tuple(
                None if entry is None else str(entry["name"])
                for entry in _match_entries(_of_domain(entries, domain), parts)
            )
            for domain, parts in marks.items()
        }

    def rename(self, run: str, marks: Marks, domain: str, number: int, name: str) -> GivenNames:
        """Name a part, or remove its name if the new one is blank; return all names.

        Names of parts that the run does not have any more are kept, in case they come back.

        `number`: of the part in its domain, from 1.
        `name`: white space is brought to single blanks; what is beyond `MOST_CHARACTERS` is cut off.
        Raises ParameterError: there is no such part.
        Raises StoreError: the file cannot be read or written.
        """
        parts = marks.get(domain, ())
        if not 1 <= number <= len(parts):
            raise ParameterError(f"There is no part {number} of {domain}, only {len(parts):,}.")
        short = " ".join(name.split())[:MOST_CHARACTERS].strip()
        with self._lock:
            known = self.entries(run)
            old = _match_entries(_of_domain(known, domain), parts)[number - 1]
            entries = [entry for entry in known if entry is not old]
            if short:
                own = [int(mark) for mark in parts[number - 1]]
                entries.append({"domain": domain, "number": number, "name": short, "marks": own})
            self._write(run, entries)
        return self.names(run, marks)

    def keep(self, run: str, marks: Marks, given: Mapping[str, Sequence[str | None]]) -> None:
        """Name the parts of a run as a result in memory has them (`Result.given_names`).

        Raises StoreError: the file cannot be read or written.
        """
        for domain, names in given.items():
            for number, name in enumerate(names, start=1):
                if name:
                    self.rename(run, marks, domain, number, name)

    def edits(self, run: str, marks: Marks, domain: str) -> list[Edit]:
        """Return the changes that the user made to the parts of a run, in their order, by the parts' numbers now.

        A change is left out if the run does not have one of its parts any more.

        `run`, `marks`: as for `names`; of the run's own parts.
        Raises StoreError: as for `names`.
        """
        entries = _of_domain(self.entries(run), domain + _EDITS)
        known = {(entry["number"], tuple(entry["marks"])): entry for entry in entries}
        matched = _match_entries(list(known.values()), marks.get(domain, ()))
        now = {id(entry): part for part, entry in enumerate(matched, start=1) if entry is not None}
        steps: dict[int, list[dict[str, Any]]] = {}
        for entry in entries:
            steps.setdefault(entry.get("step", 0), []).append(entry)
        found = []
        for step in sorted(steps):
            parts = [now.get(id(known[entry["number"], tuple(entry["marks"])])) for entry in steps[step]]
            if None not in parts:
                found.append((str(steps[step][0]["name"]), tuple(part for part in parts if part is not None)))
        return found

    def set_edits(self, run: str, marks: Marks, domain: str, edits: Sequence[Edit]) -> None:
        """Keep these changes of a run's parts in place of those before.

        Raises StoreError: the file cannot be read or written.
        """
        parts = marks[domain]
        made = [
            {"domain": domain + _EDITS, "number": number, "name": kind, "step": step}
            | {"marks": [int(mark) for mark in parts[number - 1]]}
            for step, (kind, numbers) in enumerate(edits)
            for number in numbers
        ]
        with self._lock:
            rest = [entry for entry in self.entries(run) if entry["domain"] != domain + _EDITS]
            self._write(run, [*rest, *made])

    def entries(self, run: str) -> list[dict[str, Any]]:
        """Return the names of a run's parts, and their changes, in plain values, for `take_entries`.

        Raises StoreError: as for `names`.
        """
        path = self._file(run)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            version = int(stored["version"])
            entries = [_plain_entry(entry) for entry in stored["names"]]
            owner = str(stored["run"]) if version > 1 else run
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from error
        except DAMAGE as error:
            raise StoreError(
                f"{path} is damaged and cannot be read. Delete it to name the parts again, or put a copy back."
            ) from error
        if version > _VERSION:
            raise StoreError(f"{path} was written by a newer version of the program. Update the program.")
        if owner != run:
            raise StoreError(
                f"{path} holds the names of the parts of run {owner}. Call it {owner}.json again."
            )
        return entries

    def take_entries(self, run: str, entries: Any) -> None:
        """Keep what `entries` gave of a run, perhaps in another store; what was not given by it is not kept.

        Raises StoreError: the file cannot be written.
        """
        try:
            known = [_plain_entry(entry) for entry in list(entries or ())[:MOST_NAMES]]
        except DAMAGE:
            return
        if known:
            with self._lock:
                self._write(run, known)

    def forget(self, run: str) -> None:
        """Remove the names of a run, if it has any."""
        with self._lock:
            remove_file(self._file(run))

    def _file(self, run: str) -> Path:
        return self.folder / f"{check_id(run)}.json"

    def _write(self, run: str, entries: Sequence[dict[str, Any]]) -> None:
        path = self._file(run)
        text = json.dumps({"version": _VERSION, "run": run, "names": list(entries)})
        with as_store_error(f"{path} cannot be written"):
            self.folder.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as file:
            file.write(text.encode())


def _of_domain(entries: Sequence[dict[str, Any]], domain: str) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["domain"] == domain]


def _plain_entry(entry: Any) -> dict[str, Any]:
    """Return the name of one part as it is kept, also of an earlier version; raise one of DAMAGE if there is none."""
    name = str(entry["name"])[:MOST_CHARACTERS]
    number, marks = ("topic", "words") if "topic" in entry else ("number", "marks")
    step = {"step": int(entry["step"])} if "step" in entry else {}
    return step | {
        "domain": str(entry.get("domain", _TOPICS)),
        "number": int(entry[number]),
        "name": name,
        "marks": [int(mark) for mark in entry[marks][:MOST_MARKS]],
    }


def _match_entries(
    entries: Sequence[dict[str, Any]], parts: Sequence[Sequence[int]]
) -> list[dict[str, Any] | None]:
    """Return the entry of each part: the closest pairs first, each part and each entry once."""
    pairs = []
    of_mark: dict[int, list[int]] = {}
    for part, marks in enumerate(parts):
        for mark in {int(mark) for mark in marks}:
            of_mark.setdefault(mark, []).append(part)
    for number, entry in enumerate(entries):
        own = Counter(part for mark in set(entry["marks"]) for part in of_mark.get(mark, ()))
        for part, n_shared in own.items():
            shared = n_shared / max(len(parts[part]), len(entry["marks"]), 1)
            if shared >= LEAST_SHARED:
                # Of parts that are equally close, the one nearest to the number that got the name comes first.
                pairs.append((-shared, abs(entry["number"] - 1 - part), number, part))
    matches: list[dict[str, Any] | None] = [None] * len(parts)
    used: set[int] = set()
    for _, _, number, part in sorted(pairs):
        if number not in used and matches[part] is None:
            matches[part] = entries[number]
            used.add(number)
    return matches
