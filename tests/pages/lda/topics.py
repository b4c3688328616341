"""What the tests of the Topics page share: a small corpus on two things, and a run on it."""

from __future__ import annotations

from typing import Any

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result

EVIL = "<b>x</b> ![i](http://example.org/x.png) $a$"
SENTENCES = (
    ["the cat and the dog play", "a dog and a cat eat", "dog cat dog cat fur"] * 4
    + ["stars and planets shine", "a planet and a star", "star light, star bright; planets shine"] * 4
    + [""]
)


def small_corpus(tokeniser: Tokeniser | None = None, **more: Any) -> Corpus:
    counts = (tokeniser or Tokeniser(min_documents=1, max_share=1.0)).select(SENTENCES)
    names = [f"text {i}" for i in range(len(SENTENCES))]
    return Corpus.build(
        counts.counts,
        vocabulary=counts.vocabulary,
        documents=names,
        name="small",
        tokeniser=tokeniser,
        **more,
    )


def fitted(tokeniser: Tokeniser | None = None) -> Result:
    """A run on the texts, cut as is said."""
    how = tokeniser or Tokeniser(min_documents=1, max_share=1.0)
    corpus = small_corpus(how, texts=SENTENCES, labels=["pets"] * 12 + ["sky"] * 12 + ["none"])
    return fit(corpus, "cvb0", k=2, alpha=0.1, hyper="fixed", seed=1)
