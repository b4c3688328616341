"""Documents of one group alone: shares against sums over the documents, and files that list no others."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.describe import describe_found
from acvb_core.models.lda.answer.effects import DocumentShares, group_differences, list_effects
from acvb_core.models.lda.answer.summary import annotate_data, summarise_parts
from acvb_core.models.lda.export import arrays, write_document_topics
from acvb_core.models.lda.figures.plots import list_plots
from acvb_core.models.lda.topics import TopicAnswer
from acvb_core.report.contents import list_sheets
from acvb_core.report.page import report_html
from acvb_core.samples.planted_tickets import planted_tickets
from acvb_core.store.snippet import python_snippet
from tests.loops import for_each

TICKETS = planted_tickets(300, seed=2).corpus
GROUPS = ("chair", "kettle", "lamp")


@cache
def fitted(kind: str) -> Result:
    """Runs whose documents are held, inferred afterwards, held out, or summed up under merged topics."""
    if kind == "stream":
        return fit(TICKETS, "sdm", k=8, seed=2, epochs=3)
    heldout: dict[str, Any] = {"heldout_documents": 0.2} if kind == "documents held out" else {"heldout": 0.1}
    result = fit(TICKETS, "cvb0", k=8, seed=2, **heldout)
    return result.coarsen(topics=5) if kind == "merged" else result


def share_of(result: Result) -> np.ndarray:
    return summarise_parts(result)["Topics"]["share"].to_numpy()


@for_each("kind", ["words held out", "documents held out", "stream", "merged"])
def test_shares_are_those_of_the_documents_and_add_up(kind: str) -> None:
    whole = fitted(kind)
    shown, counts = TopicAnswer.of_result(whole).corpus, whole.posterior["documents"]
    parts = {group: whole.among("product", group) for group in GROUPS}
    tokens = np.zeros(counts.shape[1])
    for group, part in parts.items():
        among = shown.metadata["product"] == group
        own = counts[among].sum(axis=0, dtype=np.float64)
        np.testing.assert_allclose(share_of(part), own / own.sum(), rtol=1e-12)
        tokens += share_of(part) * own.sum()
        pd.testing.assert_frame_equal(part.documents, whole.documents[among].reset_index(drop=True))
        pd.testing.assert_frame_equal(part.topics, whole.topics)
        assert part.names == whole.names
        assert part.snapshot.heldout == whole.snapshot.heldout
        product = group_differences(
            DocumentShares.of_posterior(whole.posterior).choose(among), shown.metadata["channel"][among]
        )
        pd.testing.assert_frame_equal(list_effects(part)["channel"].table, product)
        assert "product" not in list_effects(part)
    if kind != "stream":  # its shares count words as they were read
        np.testing.assert_allclose(tokens / tokens.sum(), share_of(whole), rtol=1e-5)
    assert np.concatenate([part.documents["document"] for part in parts.values()]).size == len(
        shown.documents
    )


def test_files_list_the_documents_of_the_group_alone() -> None:
    whole = fitted("words held out")
    part = whole.among("product", "kettle")
    kettles = TICKETS.documents[TICKETS.metadata["product"] == "kettle"]
    assert annotate_data(part)[0]["document"].tolist() == kettles.tolist()
    assert set(annotate_data(part)[0]["product"]) == {"kettle"}
    assert arrays(part)["theta"].shape == (len(kettles), 8)
    for sheet in list_sheets(part):
        assert "document" not in sheet.table or set(sheet.table["document"]) == set(kettles)
    said = f"8 topics in {len(kettles)} documents with product: kettle"
    assert describe_found(part).startswith(said)
    assert "documents with product: kettle" in repr(part)
    page = report_html(part)
    assert said in page
    assert "Shares and documents are of the documents with product: kettle alone." in page
    snippet = python_snippet(part)
    assert snippet.endswith("result = result.among('product', 'kettle')\n")
    bars, own = (list_plots(one)["topic_1"]().data[1] for one in (whole, part))
    assert list(bars.y) == list(own.y)
    np.testing.assert_allclose(own.x, bars.x, rtol=1e-5)


def test_topics_that_a_group_has_no_word_of_stay() -> None:
    counts = np.kron(np.eye(2, dtype=int), np.full((10, 6), 3))
    labels = ["animals"] * 10 + ["plants"] * 8 + [" plants", " "]
    whole = fit(Corpus.build(counts, labels=labels), "cvb0", k=2, alpha=0.1, hyper="fixed", seed=1)
    # The sums over words may order the topics otherwise than those over documents, by rounding.
    last, sizes = whole.snapshot, whole.snapshot.posterior.masses()["topics"]
    words = last.posterior["words"] * np.where(sizes == sizes.max(), 0.9, 1.1)
    last = replace(last, posterior=last.posterior.with_arrays({"words": words}))
    whole = whole.with_state(snapshot=last)
    part = whole.among("label", "plants")
    pd.testing.assert_frame_equal(part.topics, whole.topics)
    assert sorted(share_of(part).round(2)) == [0, 1]
    assert part.names == whole.names
    assert len(part.documents) == 9
    with pytest.raises(ParameterError, match="no column of groups; the documents have no column with two"):
        part.among("label", "plants")


def test_a_group_of_merged_topics_is_that_of_topics_merged_afterwards() -> None:
    whole = fitted("words held out")
    one = whole.coarsen(topics=3).among("product", "lamp").among("channel", "web")
    other = whole.among("product", "lamp").coarsen(topics=3).among("channel", "web")
    pd.testing.assert_frame_equal(one.documents, other.documents)
    np.testing.assert_array_equal(share_of(one), share_of(other))
    assert set(annotate_data(one)[0]["channel"]) == {"web"}


def test_texts_on_disk_have_the_groups_of_their_sample(tmp_path: Path) -> None:
    disk = write_disk_corpus([TICKETS], tmp_path / "disk")
    whole = fit(disk, "sdm", k=8, seed=2, epochs=1)
    part = whole.among("product", "kettle")
    among = TICKETS.metadata["product"] == "kettle"
    pd.testing.assert_frame_equal(part.documents, whole.documents[among].reset_index(drop=True))
    assert describe_found(part).startswith(
        f"8 topics in {among.sum()} sampled documents with product: kettle"
    )
    write_document_topics(part, tmp_path / "all.csv")
    assert pd.read_csv(tmp_path / "all.csv")["document"].tolist() == TICKETS.documents[among].tolist()


@for_each(
    "call, message",
    [
        (lambda result: result.among("rating", "5"), "'rating' is no column of groups; the documents have 'product'"),
        (lambda result: result.among("product", "sofa"), "'sofa' is no group of 'product'; its groups are 'chair', "),
        (lambda result: result.among("product", "lamp").save(io.BytesIO()), "save the one of all documents"),
        (lambda result: fit(TICKETS.counts > 0, "acvb0", k_rows=2, k_cols=2, max_sweeps=2).among("a", "b"), "no doc"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(call: Callable[[Result], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call(fitted("words held out"))
