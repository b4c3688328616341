"""A folder of .txt files is read as the zip archive of them is."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.estimate import estimate, head_texts
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpora.tokenise import Tokeniser

EVERYTHING = Tokeniser(stop_words=(), numbers=True, min_documents=1, max_share=1.0)
FILES = {
    "oil/a.txt": b"the river bank",
    "oil/b.v2.TXT": "\ufeffthe goal".encode("utf-16"),
    "sport/empty.txt": b"",
    "sport/readme.md": b"no",
    ".hidden/x.txt": b"no",
}


@pytest.fixture
def folder(tmp_path) -> Path:
    for path, content in FILES.items():
        (tmp_path / "news" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "news" / path).write_bytes(content)
    return tmp_path / "news"


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for path in sorted(FILES):
            packed.writestr(path, FILES[path])
    return out.getvalue()


def test_it_is_what_the_zip_of_it_is(folder, tmp_path):
    packed = load_corpus(archive(), filename="news.zip", tokeniser=EVERYTHING)
    loaded = load_corpus(folder, tokeniser=EVERYTHING)
    assert loaded.data.identity() == packed.data.identity()
    assert loaded.data.documents.tolist() == ["oil/a", "oil/b.v2", "sport/empty"]
    assert loaded.data.labels.tolist() == packed.data.labels.tolist() == ["oil", "oil", "sport"]
    assert loaded.data.texts == packed.data.texts
    assert loaded.report.lines() == [line.replace("zip archive", "folder") for line in packed.report.lines()]
    disk = read_to_disk(str(folder), tmp_path / "disk", tokeniser=EVERYTHING)
    assert disk.data.identity() == packed.data.identity()
    assert disk.report.to_dict() == loaded.report.to_dict()
    np.testing.assert_array_equal(disk.data.in_memory().labels, loaded.data.labels)


def test_it_is_looked_at_as_the_zip_of_it_is(folder):
    layout = inspect_corpus(folder)
    assert (layout.format, layout.filename) == ("zip", "news")
    assert ("oil/a.txt", "14") in layout.rows
    assert read_texts(folder).texts[0] == "the river bank"
    assert head_texts(folder).texts[0] == "the river bank"
    found = estimate(folder, tokeniser=EVERYTHING)
    assert (found.documents, found.tokens) == (3, 5)


def test_faults_name_the_file(folder, tmp_path):
    (folder / "oil/bad.txt").write_bytes(b"fine\nn\xe9w")
    with pytest.raises(DataError, match="UTF-8") as caught:
        load_corpus(folder)
    assert (caught.value.source, caught.value.line) == ("news: oil/bad.txt", 2)
    disk = read_to_disk(folder, tmp_path / "disk", tokeniser=EVERYTHING, broken="skip")
    assert "1 broken file left out" in disk.report.lines()[0]
    assert disk.data.n_documents == 3


def test_what_is_no_folder_of_texts(folder, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"no \.txt file among the 0 files of this folder"):
        load_corpus(tmp_path / "none")
    with pytest.raises(DataError, match="this is a folder"):
        load_corpus(folder, format="table")
    read_to_disk(folder, tmp_path / "disk", tokeniser=EVERYTHING)
    with pytest.raises(DataError, match="holds a corpus on disk") as caught:
        load_corpus(tmp_path / "disk")
    assert "DiskCorpus.open" in caught.value.remedy


def test_a_home_folder_is_found(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    assert load_corpus(os.path.join("~", "news"), tokeniser=EVERYTHING).data.name == "news"
