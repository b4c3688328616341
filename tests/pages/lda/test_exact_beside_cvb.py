"""CVB beside CVB with exact expectations on Compare: how close the second order comes."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.engine.fitting import fit
from acvb_core.models.lda.topics import ALIKE
from acvb_core.samples.catalogue import load_sample
from pages.ui.shared import services
from tests.pages.session import WORKSPACE, Open, texts


def test_compare_shows_how_close_cvb_comes_to_exact_expectations(open_app: Open) -> None:
    """TNW07 §4: the same topics, and perplexities that hardly differ; not the same numbers."""
    corpus = load_sample("bars").corpus.take_documents(np.arange(60))
    options = {"preset": "paper", "k": 5, "heldout": 0.1, "max_sweeps": 20, "tol": 1e-12}
    runs = [fit(corpus, method, **options) for method in ("cvb", "cvb_exact")]
    for number, run in enumerate(runs):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, run)
    app = open_app("compare")
    assert not app.exception
    scores = app.dataframe[0].value
    assert scores.index.tolist() == ["CVB", "Exact CVB"]
    approximate, exact = scores["Held-out perplexity"]
    assert approximate == pytest.approx(runs[0].snapshot.heldout.perplexity, rel=1e-3)
    assert exact == pytest.approx(runs[1].snapshot.heldout.perplexity, rel=1e-3)
    assert approximate != exact
    assert approximate == pytest.approx(exact, rel=0.01)
    said = texts(app)
    assert "The topics of CVB and Exact CVB are paired" in said
    assert "All matched." in said
    assert f"a similarity of {ALIKE:g} or more" in said
