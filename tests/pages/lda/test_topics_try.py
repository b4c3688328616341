"""The Topics page on a text that no run has seen: what is known of it, and what cannot be said."""

from __future__ import annotations

import json
import re
from base64 import b64decode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from pages.ui.lda.topic_documents import TEXT
from tests.pages.lda.topics import fitted, opened, part, small_corpus
from tests.pages.session import Open, texts

TRY = "Try a text"
MIXED = "The Stars shine on a star and a dog, unheard-of planetoid 1912!"


@pytest.fixture(scope="module")
def found() -> Result:
    return fitted()


def tried(app: AppTest, text: str) -> AppTest:
    app.text_area(key=TEXT).set_value(text).run()
    assert not app.exception
    return app


def bars(app: AppTest) -> dict[int, float]:
    """Share of each topic by its number, as the chart has them."""
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    (trace,) = (t for spec in specs for t in spec["data"] if t.get("name") == "share of the document")
    shares = np.frombuffer(b64decode(trace["x"]["bdata"]), trace["x"]["dtype"])
    return dict(zip(trace["customdata"], shares.tolist(), strict=True))


def n_charts(app: AppTest) -> int:
    return len(app.get("plotly_chart"))


def test_a_text_has_the_topics_that_the_library_gives_it(open_app: Open, found: Result) -> None:
    app = tried(part(opened(open_app, found), TRY), MIXED)
    table = found.transform([MIXED])
    assert (table["tokens"][0], table["unknown"][0]) == (4, 2)
    assert "4 words that the topics know, 2 that they do not" in texts(app)
    shown = bars(app)
    assert sorted(shown) == [1, 2]
    for topic, share in shown.items():
        assert share == pytest.approx(table[f"topic_{topic}"][0])
    assert max(shown.values()) < 0.95, "it is of both"


def test_its_words_are_tinted_by_topic(open_app: Open, found: Result) -> None:
    app = tried(part(opened(open_app, found), TRY), MIXED)
    tinted = dict(re.findall(r'title="topic (\d)[^"]*">([^<]+)</span>', texts(app))[::-1])
    assert tinted.keys() == {"1", "2"}
    words = re.findall(r'title="[^"]*">([^<]+)</span>', texts(app))
    assert words == ["Stars", "shine", "star", "dog"], "as they are written, the unknown ones plain"
    phi = found.prepared.model.topics(found.posterior).word_probability  # type: ignore[attr-defined]
    dog = found.prepared.data.vocabulary.tolist().index("dog")
    of_dog = re.search(r'title="topic (\d)[^"]*">dog</span>', texts(app))
    assert of_dog is not None
    assert int(of_dog[1]) == phi[:, dog].argmax() + 1
    app.toggle(key="tint_alone").set_value(True).run()
    assert not app.exception
    assert 'title="topic 2' not in texts(app)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Enter a text to see its topics"),
        (" \n\t", "Enter a text to see its topics"),
        ("?! — …", "No word is left in this text"),
        ("the and of 1912", "No word is left in this text"),
        ("unheard", "The topics know none of its words (1),"),
        ("unheard of, quite unseen", "The topics know none of its words (3),"),
    ],
)
def test_where_nothing_can_be_said_that_is_said(open_app: Open, found: Result, text: str, said: str) -> None:
    app = part(opened(open_app, found), TRY)
    before = n_charts(app)
    assert said in texts(tried(app, text))
    assert n_charts(app) == before
    assert "background:rgba" not in texts(app)


def test_counts_do_not_say_how_to_cut_a_text(open_app: Open) -> None:
    counted = fit(small_corpus(), "vb", k=3, hyper="fixed")
    app = part(opened(open_app, counted), TRY)
    assert "it is not known how to split a text into such words" in texts(app)
    assert not app.text_area
    assert part(app, "Quality")


def test_a_pattern_that_takes_too_long_is_said(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = fitted(Tokeniser(token_pattern=r"(?:a+)+\b\d|[b-z]\w+", min_documents=1, max_share=1.0))
    monkeypatch.setattr("acvb_core.data.corpora.tokenise.SECONDS", 0.2)
    app = tried(part(opened(open_app, slow), TRY), "a" * 40)
    assert "Repeats inside repeats" in texts(app)
