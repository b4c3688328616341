"""Names of topics: kept with the run, and with what the topic says."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.engine.result import Result
from acvb_core.store.files import StoreError
from acvb_core.store.runs import RunStore
from acvb_core.store.topic_names import MOST_CHARACTERS, TopicNames
from tests.loops import for_each

WORDS = np.arange(12).reshape(3, 4)


@pytest.fixture
def names(tmp_path: Path) -> TopicNames:
    return TopicNames(tmp_path / "kept")


def test_names_come_back(names: TopicNames, tmp_path: Path) -> None:
    assert names.names("run", WORDS) == (None, None, None)
    assert names.rename("run", WORDS, 2, "  kings \n of Israel ") == (None, "kings of Israel", None)
    assert names.rename("run", WORDS, 3, "日本 <b>") == (None, "kings of Israel", "日本 <b>")
    again = TopicNames(tmp_path / "kept")
    assert again.names("run", WORDS) == (None, "kings of Israel", "日本 <b>")
    assert again.names("other", WORDS) == (None, None, None)


def test_a_name_is_replaced_and_taken_away(names: TopicNames) -> None:
    names.rename("run", WORDS, 1, "one")
    assert names.rename("run", WORDS, 1, "first") == ("first", None, None)
    assert names.rename("run", WORDS, 1, "  ") == (None, None, None)


def test_a_name_goes_with_the_words_of_its_topic(names: TopicNames) -> None:
    names.rename("run", WORDS, 1, "low")
    names.rename("run", WORDS, 3, "high")
    assert names.names("run", WORDS[[2, 1, 0]]) == ("high", None, "low")
    # Half of the words may change, in any order; a topic with fewer of them is another one.
    assert names.names("run", [[3, 2, 90, 91], [10, 70, 71, 72]]) == ("low", None)


def test_two_people_who_name_topics_at_once_lose_no_name(
    names: TopicNames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has an object of their own for the same folder."""
    read, others = names.entries, TopicNames(tmp_path / "kept")
    other = threading.Thread(target=others.rename, args=("run", WORDS, 2, "high"))

    def read_slowly(run: str) -> list[dict[str, Any]]:
        monkeypatch.undo()
        known = read(run)
        other.start()
        other.join(1)
        return known

    monkeypatch.setattr(names, "entries", read_slowly)
    names.rename("run", WORDS, 1, "low")
    other.join(60)
    assert names.names("run", WORDS) == ("low", "high", None)


def test_topics_with_the_same_words_are_told_apart_by_number(names: TopicNames) -> None:
    same = np.zeros((3, 4), dtype=int) + np.arange(4)
    names.rename("run", same, 2, "middle")
    assert names.names("run", same) == (None, "middle", None)
    names.rename("run", same, 3, "last")
    assert names.names("run", same) == (None, "middle", "last")


def test_long_names_are_cut(names: TopicNames) -> None:
    assert names.rename("run", WORDS, 1, "x" * 500)[0] == "x" * MOST_CHARACTERS


def test_what_is_refused(names: TopicNames) -> None:
    with pytest.raises(ParameterError, match="no topic 4, only 3"):
        names.rename("run", WORDS, 4, "four")
    with pytest.raises(StoreError, match="no name of a run"):
        names.rename("../run", WORDS, 1, "out")


@for_each("text", ["", "{", "[]", '{"version": 1, "names": [{}]}', '{"version": 2, "names": []}'])
def test_a_damaged_file_is_told(names: TopicNames, text: str) -> None:
    names.folder.mkdir(parents=True, exist_ok=True)
    (names.folder / "run.json").write_text(text)
    with pytest.raises(StoreError, match=r"run\.json"):
        names.names("run", WORDS)


def test_a_folder_that_cannot_be_written_is_told(names: TopicNames) -> None:
    names.folder.parent.mkdir()
    names.folder.write_text("in the way")
    with pytest.raises(StoreError, match="cannot be"):
        names.rename("run", WORDS, 1, "one")


def test_names_go_with_their_run(store: RunStore, women: Result) -> None:
    names = TopicNames(store.folder)
    for run in ("one", "two"):
        store.save("mine", run, 0.0, women)
        names.rename(run, WORDS, 1, "first")
    store.delete("mine", "one")
    assert names.names("one", WORDS) == (None, None, None)
    assert names.names("two", WORDS) == ("first", None, None)
