"""Topics of the documents of a file: as the library gives them, whatever the file holds."""

from __future__ import annotations

import io

import numpy as np
import pytest

from acvb_core.core.errors import AcvbError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.new_documents import score_file
from tests.loops import for_each

TEXTS = ["ship sail harbour ship", "sail harbour sea", "tulip rose garden", "rose tulip seed garden"] * 5


@pytest.fixture(scope="module")
def result() -> Result:
    return fit(load_corpus(TEXTS).data, "cvb0", k=2, alpha=0.1, hyper="fixed", seed=1)


def test_a_table_of_texts_has_the_shares_of_its_texts(result: Result) -> None:
    texts = ["a rose and a tulip", "unheard of", "ship, ROSE and sea"]
    lines = "\n".join(f'{name},"{text}"' for name, text in zip(("one", "two", "=three"), texts, strict=True))
    found = score_file(result, io.BytesIO(f"title,body\n{lines}\n".encode()), "new.csv")
    expected = result.transform(texts)
    assert found["document"].tolist() == ["one", "two", "=three"]
    assert found["tokens"].tolist() == expected["tokens"].tolist() == [2, 0, 3]
    columns = [f"topic_{k}: {name}" for k, name in enumerate(result.names["topics"], 1)]
    shares = expected[["topic_1", "topic_2"]].to_numpy()
    np.testing.assert_allclose(found[columns].to_numpy(), shares)
    for row in (0, 2):
        largest = int(shares[row].argmax()) + 1
        assert (found["topic"][row], found["topic_share"][row]) == (largest, shares[row].max())
        assert found["topic_name"][row] == result.names["topics"][largest - 1]
    assert found.loc[1, ["topic", "topic_share"]].isna().all()
    assert found["topic_name"][1] == ""


def test_word_counts_are_read_whatever_the_topics_were_made_of(result: Result) -> None:
    file = io.BytesIO(b"document,word,count\na,ship,3\na,zebra,2\nb,rose,1\n")
    found = score_file(result, file, "counts.csv")
    assert found[["tokens", "unknown"]].to_numpy().tolist() == [[3, 2], [1, 0]]
    counted = fit(Corpus.build(np.eye(3, dtype=int) * 4, vocabulary=["ship", "rose", "zebra"]), "cvb0", k=2)
    assert score_file(counted, file, "counts.csv")["unknown"].tolist() == [0, 0]


@for_each(
    "content, said",
    [
        (b"text\nonly unheard words here\nmore of them there\n", "no word of these documents"),
        (b"", "empty"),
    ],
)
def test_files_without_a_known_word_are_named(content: bytes, said: str, result: Result) -> None:
    with pytest.raises(AcvbError, match=said) as caught:
        score_file(result, io.BytesIO(content), "new.csv")
    assert "new.csv" in str(caught.value)


def test_texts_need_a_tokeniser() -> None:
    counted = fit(Corpus.build(np.eye(3, dtype=int) * 4, vocabulary=["ship", "rose", "zebra"]), "cvb0", k=2)
    with pytest.raises(AcvbError, match="not known how to cut texts"):
        score_file(counted, io.BytesIO(b"text\nthe ship and the sea at night\nthe rose\n"), "new.csv")
