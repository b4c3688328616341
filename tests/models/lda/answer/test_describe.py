"""Names of topics, and the sentences about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.describe import describe_found
from acvb_core.models.lda.answer.naming import choose_words

WORDS = ["image", "images", "imaging", "pixel", "picture", "dns", "ip", "mail"]


@pytest.fixture(scope="module")
def result() -> Result:
    """Thirty documents of pictures, and ten of mail."""
    about = np.array([[6, 5, 4, 3, 2, 0, 0, 0], [0, 0, 0, 0, 0, 6, 5, 9]])
    counts = np.repeat(about, (30, 10), axis=0)
    return fit(
        Corpus.build(counts, vocabulary=WORDS), "cvb0", k=2, alpha=1.0, beta=0.01, hyper="fixed", seed=1
    )


def test_a_name_has_one_of_several_forms_of_a_word(result: Result) -> None:
    assert choose_words(WORDS, 3) == ["image", "pixel", "picture"]
    assert choose_words(["image", "images"], 3) == ["image", "images"]
    assert choose_words(["dns", "dna", "tea", "team"], 3) == ["dns", "dna", "tea"]
    pictures, _ = result.names["topics"]
    assert set(pictures.split()) == {"image", "pixel", "picture"}


def test_the_sentences_have_the_shares_of_words_and_of_the_main_topic(result: Result) -> None:
    """600 of 800 words; 20 words of a topic, and one of each that is expected before: 21 of 22."""
    named = replace(result, given_names={"topics": (None, "post")})
    assert describe_found(named) == (
        f"2 topics in 40 documents, with their shares of all words: \u201c1 \u00b7 {result.names['topics'][0]}\u201d "
        "(75 %), \u201c2 \u00b7 post\u201d (25 %). In half of the documents the main topic has at least 95 % of the "
        "words."
    )
