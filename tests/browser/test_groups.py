"""The documents of one group in a real browser: the whole page follows, a reload keeps it, one press undoes it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from playwright.sync_api import Page, expect

from acvb_core.engine.fitting import fit
from acvb_core.samples.planted_tickets import planted_tickets
from tests.browser.steps import KeepRuns, choose, settled, take, visit


def test_topics_of_a_group_of_documents(page: Page, keep_runs: KeepRuns, tmp_path: Path) -> None:
    corpus = planted_tickets(300, seed=2).corpus
    page.goto(keep_runs(fit(corpus, "cvb0", k=4, max_sweeps=5)))
    visit(page, "Topics")
    kettles = corpus.documents[corpus.metadata["product"] == "kettle"].tolist()
    said = page.get_by_text(f"4 topics in {len(kettles)} documents with product: kettle")
    choose(page, "Documents", "product: kettle")
    expect(said).to_be_visible()
    settled(page)
    page.reload()
    expect(said).to_be_visible()
    saved = pd.read_csv(take(page.get_by_role("button", name="Topics of the documents"), tmp_path))
    assert saved["document"].tolist() == kettles
    page.get_by_role("button", name="All documents").click()
    expect(page.get_by_text("4 topics in 300 documents")).to_be_visible()
    settled(page)
    assert "documents" not in page.url
