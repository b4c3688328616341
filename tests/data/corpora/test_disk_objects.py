"""Lists and matrices of Python come to disk as into memory."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from tests.loops import for_each

LISTS = [["river", "bank", "river"], [], ["bank", "money"]]


@for_each(
    "source",
    [
        LISTS,
        ["the river bank", "", "money in the bank"],
        [[(0, 2), (2, 1)], [], [(2, 3)]],
        np.array([[2, 0, 1], [0, 0, 0], [0, 0, 3]]),
    ],
)
def test_what_is_in_python_is_read_to_disk_as_into_memory(source, tmp_path):
    loaded = load_corpus(source, name="mine")
    shares: list[float] = []
    disk = read_to_disk(source, tmp_path / "disk", name="mine", progress=shares.append)
    assert disk.data.identity() == loaded.data.identity()
    assert disk.data.documents([0, 1, 2]).texts == loaded.data.texts
    assert disk.report == loaded.report
    assert shares == [1.0]
    bare = read_to_disk(source, tmp_path / "bare", keep_texts=False).data
    assert not bare.has_texts
    assert bare.fingerprint == loaded.data.fingerprint


def test_a_list_that_is_no_corpus_leaves_no_folder(tmp_path):
    with pytest.raises(DataError, match="not a list of words"):
        read_to_disk([["river", "river"], 5], tmp_path / "disk")
    assert not list(tmp_path.iterdir())
