"""The Topics page on a text that no run has seen: what is known of it, and what cannot be said."""

from __future__ import annotations

import io
import json
import re
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from pages.ui.lda import topic_documents
from pages.ui.lda.topic_documents import TEXT
from pages.ui.shared.picking import FileOffer
from tests.pages.lda.topics import EVIL, fitted, small_corpus
from tests.pages.session import Open, opened, show_part, texts

MIXED = "The Stars shine on a star and a dog, unheard-of planetoid 1912!"


@pytest.fixture(scope="module")
def found() -> Result:
    return fitted()


def try_page(open_app: Open, result: Result) -> AppTest:
    return show_part(opened(open_app, "topics", result), "Try a text")


def tried(app: AppTest, text: str) -> AppTest:
    app.text_area(key=TEXT).set_value(text).run()
    assert not app.exception
    return app


def test_a_text_has_the_topics_that_the_library_gives_it(open_app: Open, found: Result) -> None:
    app = tried(try_page(open_app, found), MIXED)
    table = found.transform([MIXED])
    assert "4 words that the topics know, 2 that they do not" in texts(app)
    traces = [trace for one in app.get("plotly_chart") for trace in json.loads(one.proto.spec)["data"]]
    (bars,) = (trace for trace in traces if trace.get("name") == "share of the document")
    shares = np.frombuffer(b64decode(bars["x"]["bdata"]), bars["x"]["dtype"])
    expected = [table[f"topic_{topic}"][0] for topic in bars["customdata"]]
    assert sorted(bars["customdata"]) == [1, 2]
    assert shares == pytest.approx(expected)
    assert shares.max() < 0.95, "it is of both"

    tinted = re.findall(r'title="topic (\d)[^"]*">([^<]+)</span>', texts(app))
    assert {topic for topic, _ in tinted} == {"1", "2"}
    assert [word for _, word in tinted] == ["Stars", "shine", "star", "dog"], "as written, unknown ones plain"
    phi = found.prepared.model.topics(found.posterior).word_probability  # type: ignore[attr-defined]
    dog = found.prepared.data.vocabulary.tolist().index("dog")
    assert int({word: topic for topic, word in tinted}["dog"]) == phi[:, dog].argmax() + 1
    app.toggle(key="tint_alone").set_value(True).run()
    assert 'title="topic 2' not in texts(app)


def test_a_text_that_no_topic_knows_gets_no_shares(open_app: Open, found: Result) -> None:
    app = try_page(open_app, found)
    before = len(app.get("plotly_chart"))
    for text, said in {
        " \n\t": "Enter a text to see its topics",
        "the and of 1912": "No word is left in this text",
        "unheard of, quite unseen": "The topics know none of its words (3),",
    }.items():
        assert said in texts(tried(app, text)), text
        assert len(app.get("plotly_chart")) == before, text
        assert "background:rgba" not in texts(app), text


def test_counts_do_not_say_how_to_cut_a_text(open_app: Open) -> None:
    app = try_page(open_app, fit(small_corpus(), "vb", k=3, hyper="fixed"))
    assert "it is not known how to split a text into such words" in texts(app)
    assert not app.text_area


def test_a_pattern_that_takes_too_long_is_said(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = fitted(Tokeniser(token_pattern=r"(?:a+)+\b\d|[b-z]\w+", min_documents=1, max_share=1.0))
    monkeypatch.setattr("acvb_core.data.corpora.tokenise.SECONDS", 0.2)
    assert "Repeats inside repeats" in texts(tried(try_page(open_app, slow), "a" * 40))


def test_a_file_of_documents_has_topics_and_a_table(
    open_app: Open, found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers: list[FileOffer] = []
    monkeypatch.setattr(topic_documents, "show_download", lambda result, offer: offers.append(offer))
    app = try_page(open_app, found)
    lines = "".join(f"{EVIL} {n},the star shines on a dog number {n}\n" for n in range(1200))
    app.file_uploader(key="try_upload").upload("new.csv", f"name,text\n{lines}".encode()).run()
    assert not app.exception
    table = app.dataframe[0].value
    assert len(table) == 1000
    assert "1,200 documents: 2,400 words that the topics know" in texts(app)
    file = pd.read_csv(io.StringIO(str(next(one for one in offers if one.end == "new-documents.csv").make())))
    assert file["document"].tolist() == [f"{EVIL} {n}" for n in range(1200)]
    assert set(file["topic_name"]) <= set(found.names["topics"])
    assert set(table["topic_name"]) <= set(found.names["topics"])
    app.file_uploader(key="try_upload").upload(
        "odd.csv", b"text\nwords that nobody has heard of\nmore\n"
    ).run()
    assert "odd.csv" in texts(app)


def test_documents_are_searched_and_mapped(open_app: Open, found: Result) -> None:
    app = show_part(opened(open_app, "topics", found), "Documents")
    app.text_input(key="documents_search").set_value("a dog AND").run()
    listed = app.dataframe[0].value
    assert len(listed) == 4
    assert all("a dog and a cat" in text for text in listed["beginning"])
    assert "4 documents found" in texts(app)
    assert "".join(re.findall(r"<mark[^>]*>(.*?)</mark>", texts(app))) == "a dog and"
    app.segmented_control(key="documents_shape").set_value("map").run()
    assert not app.exception
    (figure,) = (one.proto.spec for one in app.get("plotly_chart") if "document_map" in one.proto.id)
    (points,) = json.loads(figure)["data"]
    assert len(points["customdata"]) == 24
    strong = [at for at, colour in enumerate(points["marker"]["color"]) if colour.endswith("0.8)")]
    assert len(strong) == 4
