"""What the tests of the Topics page share: a small corpus on two things, a run on it, and the page with runs."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from pages.ui.shared import services
from tests.pages.session import WORKSPACE, Open

EVIL = "<b>x</b> ![i](http://example.org/x.png) $a$"
SENTENCES = (
    ["the cat and the dog play", "a dog and a cat eat", "dog cat dog cat fur"] * 4
    + ["stars and planets shine", "a planet and a star", "star light, star bright; planets shine"] * 4
    + [""]
)


def small_corpus(tokeniser: Tokeniser | None = None, **more: Any) -> Corpus:
    how = tokeniser or Tokeniser(min_documents=1, max_share=1.0)
    counts = how.select(SENTENCES)
    return Corpus.build(
        counts.counts,
        vocabulary=counts.vocabulary,
        documents=[f"text {i}" for i in range(len(SENTENCES))],
        name="small",
        tokeniser=tokeniser,
        **more,
    )


def fitted(tokeniser: Tokeniser | None = None) -> Result:
    """A run on the texts, cut as is said."""
    labels = ["pets"] * 12 + ["sky"] * 12 + ["none"]
    how = tokeniser or Tokeniser(min_documents=1, max_share=1.0)
    corpus = small_corpus(how, texts=SENTENCES, labels=labels)
    return fit(corpus, "cvb0", k=2, alpha=0.1, hyper="fixed", seed=1)


def opened(open_app: Open, *results: Result) -> AppTest:
    """Open the page in a workspace that has these finished runs, oldest first."""
    for number, result in enumerate(results):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
    app = open_app("topics")
    assert not app.exception
    return app


def part(app: AppTest, name: str) -> AppTest:
    """Go to a part of the page."""
    chosen = next(group for group in app.get("button_group") if group.key == "topics_part")
    chosen.set_value(name).run()
    assert not app.exception
    return app
