"""Names that people give to topics: a small JSON file next to each run.

A name belongs to what a topic says, not to its number: topics are numbered by size, and a run that continues may change
their order. So each name is kept with the topic's top words, and given to the topic that has most of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

#: Version 2 says whose names they are.
_VERSION = 2
#: Characters of a name that are kept.
MOST_CHARACTERS = 60
#: Names of a run, and words of each, that are taken from elsewhere.
MOST_NAMES, MOST_WORDS = 10_000, 1_000
#: Share of the top words that a topic must still have to keep its name.
LEAST_SHARED = 0.5

Names = tuple[str | None, ...]


class TopicNames:
    """The names of the topics of all runs in a store's folder.

    `folder`: of the store; made when it is not there.
    """

    #: Of all folders, however many objects there are of one: a name is read and written under it.
    _lock: ClassVar[LimitedLock] = LimitedLock("The names of topics are being written")

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder) / "topic_names"

    def names(self, run: str, top_words: ArrayLike) -> Names:
        """Return the name of each topic of a run, None where it has none.

        `run`: id of the run.
        `top_words`: shape (K, n); indices of the top words of each topic, as the run has them now.
        Raises StoreError: the file cannot be read, is damaged, or was written by a newer version of the program.
        """
        words = np.asarray(top_words)
        return tuple(
            None if entry is None else str(entry["name"])
            for entry in _match_entries(self.entries(run), words)
        )

    def rename(self, run: str, top_words: ArrayLike, topic: int, name: str) -> Names:
        """Name a topic, or remove its name where the new one is blank; return all names.

        Names of topics that the run does not have any more are kept, in case they come back.

        `top_words`: shape (K, n).
        `topic`: from 1.
        `name`: white space is brought to single blanks; what is beyond `MOST_CHARACTERS` is cut off.
        Raises ParameterError: there is no such topic.
        Raises StoreError: the file cannot be read or written.
        """
        words = np.asarray(top_words)
        if not 1 <= topic <= len(words):
            raise ParameterError(f"There is no topic {topic}, only {len(words):,}.")
        short = " ".join(name.split())[:MOST_CHARACTERS].strip()
        with self._lock:
            known = self.entries(run)
            old = _match_entries(known, words)[topic - 1]
            entries = [entry for entry in known if entry is not old]
            if short:
                entries.append({"topic": topic, "name": short, "words": words[topic - 1].tolist()})
            self._write(run, entries)
        return self.names(run, words)

    def entries(self, run: str) -> list[dict[str, Any]]:
        """Return the names of a run's topics in plain values, for `take_entries`.

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
                f"{path} is damaged and cannot be read. Delete it to name the topics again, or put a copy back."
            ) from error
        if version > _VERSION:
            raise StoreError(f"{path} was written by a newer version of the program. Update the program.")
        if owner != run:
            raise StoreError(
                f"{path} holds the names of the topics of run {owner}. Call it {owner}.json again."
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


def _plain_entry(entry: Any) -> dict[str, Any]:
    """Return the name of one topic as it is kept; one of DAMAGE is raised where there is none."""
    name = str(entry["name"])[:MOST_CHARACTERS]
    return {
        "topic": int(entry["topic"]),
        "name": name,
        "words": [int(word) for word in entry["words"][:MOST_WORDS]],
    }


def _match_entries(entries: Sequence[dict[str, Any]], words: NDArray[Any]) -> list[dict[str, Any] | None]:
    """Return the entry of each topic: the closest pairs first, each topic and each entry once."""
    pairs = []
    of_word: dict[int, list[int]] = {}
    for topic, row in enumerate(words.tolist()):
        for word in set(row):
            of_word.setdefault(word, []).append(topic)
    for number, entry in enumerate(entries):
        own = Counter(topic for word in set(entry["words"]) for topic in of_word.get(word, ()))
        for topic, n_shared in own.items():
            shared = n_shared / max(len(words[topic]), len(entry["words"]), 1)
            if shared >= LEAST_SHARED:
                # Of topics that are equally close, the one nearest to the number that got the name comes first.
                pairs.append((-shared, abs(entry["topic"] - 1 - topic), number, topic))
    matches: list[dict[str, Any] | None] = [None] * len(words)
    used: set[int] = set()
    for _, _, number, topic in sorted(pairs):
        if number not in used and matches[topic] is None:
            matches[topic] = entries[number]
            used.add(number)
    return matches
