"""The size to expect, from the head of a file: right where the head is like the rest, exact where it is all."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora import build
from acvb_core.data.corpora import estimate as estimates
from acvb_core.data.corpora.estimate import estimate, head_texts
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.sources import parse, source
from tests.loops import for_each

N = 2000


@pytest.fixture(autouse=True)
def _small_heads(monkeypatch):
    monkeypatch.setattr(estimates, "_HEAD_CHARACTERS", 60_000)
    monkeypatch.setattr(estimates, "_HEAD_ENTRIES", 5_000)
    # Files of a few kilobytes are read in blocks and batches that are as much smaller.
    monkeypatch.setattr(build, "_BATCH_TEXTS", 50)
    monkeypatch.setattr(source, "_BLOCK", 1000)
    given = parse.RecordReader.__init__
    monkeypatch.setattr(
        parse.RecordReader, "__init__", lambda *args, **kw: given(*args, **({"block_bytes": 4000} | kw))
    )


@pytest.fixture(scope="module")
def files():
    """A corpus of 2,000 documents and a vocabulary by Zipf's law, in every format."""
    rng = np.random.default_rng(3)
    chance = 1.0 / np.arange(5, 3005)
    draws = rng.choice(3000, size=(N, 20), p=chance / chance.sum())
    counted = [list(zip(*np.unique(row, return_counts=True), strict=True)) for row in draws]
    pairs = [(d, w, c) for d, document in enumerate(counted) for w, c in document]
    mixed = [pairs[i] for i in rng.permutation(len(pairs))]
    texts = [" ".join(f"w{w:04d}" for w in row) for row in draws]
    ldac = [" ".join(f"{w}:{c}" for w, c in document) for document in counted]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for i, text in enumerate(texts):
            packed.writestr(f"{i}.txt", text)
    return {
        "counts": "doc,word,count\n" + "".join(f"d{d},w{w},{c}\n" for d, w, c in pairs),
        "mixed counts": "doc,word,count\n" + "".join(f"d{d},w{w},{c}\n" for d, w, c in mixed),
        "docword": f"{N}\n3000\n{len(pairs)}\n" + "".join(f"{d + 1} {w + 1} {c}\n" for d, w, c in pairs),
        "ldac": "".join(f"{len(document)} {line}\n" for document, line in zip(counted, ldac, strict=True)),
        "lines": "".join(f"{text}\n" for text in texts),
        "table": "id,text\n" + "".join(f'"n,{i}","{text}"\n' for i, text in enumerate(texts)),
        "zip": archive.getvalue(),
    }


def assert_near(found, corpus, within: float) -> None:
    sizes = {"documents": corpus.n_documents, "pairs": corpus.n_pairs, "tokens": corpus.n_tokens}
    for what, size in sizes.items():
        assert abs(getattr(found, what) / size - 1) < within, what
    assert 0.5 < found.words / corpus.n_words < 2.0  # rough by its nature


@for_each("packed", [False, True])
@for_each("name", ["counts", "mixed counts", "docword", "ldac", "lines", "table", "zip"])
def test_an_estimate_is_near(files, name, packed):
    given = files[name]
    content = given if isinstance(given, bytes) else given.encode()
    whole = load_corpus(content, filename="x.txt").data
    found = estimate(gzip.compress(content) if packed else content, filename="x.txt")
    # Packed bytes are read 8 kB at a time, much of a file as small as this.
    assert_near(found, whole, 0.5 if packed else 0.15)
    assert found.head_bytes < found.text_bytes / 2
    if name != "zip":
        assert abs(found.text_bytes / len(content) - 1) < (0.4 if packed else 0.001)
    assert not found.exact
    assert found.sentence.startswith("About ")


@for_each("form", ["csv", "frame"])
def test_an_estimate_of_a_table_of_counts_is_near(rng, monkeypatch, form):
    monkeypatch.setattr("acvb_core.data.sources.frames.BATCH_ROWS", 100)
    counts = rng.poisson(0.3, size=(N, 50))
    frame = pd.DataFrame(counts, columns=[f"word{i}" for i in range(50)])
    frame.insert(0, "document", [f"d{i}" for i in range(N)])
    given = frame if form == "frame" else frame.to_csv(index=False).encode()
    assert_near(estimate(given, format="matrix"), load_corpus(given, format="matrix").data, 0.15)


@for_each("name", ["counts", "docword", "ldac", "lines", "table", "zip"])
def test_what_is_all_in_the_head_is_exact(files, name, monkeypatch):
    monkeypatch.setattr(estimates, "_HEAD_CHARACTERS", 10**7)
    monkeypatch.setattr(estimates, "_HEAD_ENTRIES", 10**7)
    given = files[name]
    content = given if isinstance(given, bytes) else given.encode()
    whole = load_corpus(content, filename="x.txt").data
    found = estimate(content, filename="x.txt")
    assert (found.documents, found.words, found.pairs, found.tokens) == (
        *whole.shape,
        whole.n_pairs,
        whole.n_tokens,
    )
    assert found.exact
    assert found.sentence.startswith("2,000 documents, ")


def test_settings_of_the_reading_count(files):
    content = files["table"].encode()
    schema = inspect_corpus(content, "x.csv").with_columns({"text_column": "id", "name_column": "text"})
    assert estimate(content, schema, tokeniser=Tokeniser(numbers=True, min_documents=1)).tokens < 1.2 * N
    some = estimate(content, tokeniser=Tokeniser(max_words=7, numbers=True))
    assert some.words == 7


def test_a_file_that_is_none_is_refused():
    with pytest.raises(DataError):
        estimate(b"%PDF-1.4 and so on")
    with pytest.raises(DataError, match="no word"):
        estimate(b"1\n2\n3\n" * 10, filename="x.txt")
    with pytest.raises(DataError, match="no words"):
        estimate(b"no counts\n", format="ldac")


def test_head_of_a_file_of_texts() -> None:
    """As they stand, quotes and line ends within them included."""
    texts = [f'number {i} "quoted"\nand, a second line {"x" * 50}' for i in range(3_000)]
    lines = ["id,text\n"] + [f'{i},"{text.replace(chr(34), chr(34) * 2)}"\n' for i, text in enumerate(texts)]
    data = "".join(lines).encode()
    assert len(data) > 200_000
    for given in (data, gzip.compress(data, 1)):
        found = head_texts(given, filename="talks.csv").texts
        assert 500 < len(found) < 1_500
        assert list(found) == texts[: len(found)]
    few = head_texts(b"one line here\nanother line there\n", filename="few.txt")
    assert few.texts == ("one line here", "another line there")


def test_counts_have_no_head_of_texts() -> None:
    with pytest.raises(DataError, match="holds counts and no texts"):
        head_texts(b"doc,word,count\na,x,1\nb,y,2\n", filename="counts.csv")


def test_a_number_that_one_line_has_costs_no_memory(monkeypatch) -> None:
    monkeypatch.setattr(estimates, "_HEAD_ENTRIES", 1000)
    body = b"".join(b"%d %d 1\n" % (i // 9 + 1, i % 400 + 1) for i in range(3000))
    source = b"50000000\n50000000\n3000000\n50000000 50000000 1\n" + body * 2
    tracemalloc.start()
    found = estimate(source, format="docword")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not found.exact
    assert peak < 20e6
