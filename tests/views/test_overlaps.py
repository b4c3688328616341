"""Runs whose curves lie on each other are found, said, and drawn so that both are seen."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from acvb_core.views.convergence import RunCurve, find_overlaps, live_figure
from tests.views.histories import history_of
from tests.views.reading import plain

live_figure = plain(live_figure)


@pytest.fixture(scope="module")
def curves() -> list[RunCurve]:
    """CVB0, and ACVB0 from the same and from another seed."""
    data, runs = load_sample("southern_women").relation, []
    for method, seed in (("cvb0", 0), ("acvb0", 0), ("acvb0", 1)):
        result = fit(data, method, seed=seed, init="random")
        runs.append(RunCurve(f"{method}{seed}", f"{method} {seed}", method, seed, result.state.history))
    return runs


def test_an_averaged_method_repeats_the_method_until_its_mean_begins(curves: list[RunCurve]) -> None:
    (overlap,) = find_overlaps(curves)
    assert (overlap.under, overlap.over) == (curves[0], curves[1])
    assert curves[1].burn_in_end is not None
    assert overlap.sweeps >= min(curves[1].burn_in_end + 1, len(curves[0].history))
    assert overlap.describe().startswith("cvb0 0 and acvb0 0 are identical in the first ")


def test_runs_that_stand_still_or_have_just_begun_are_not_taken_for_the_same() -> None:
    still = history_of(change=[0.0] * 9, lower_bound=[-5.0] * 9)
    begun = history_of(change=[0.5, 0.25], lower_bound=[-9.0, -8.0])
    for history in (still, begun, history_of(lower_bound=[])):
        runs = [RunCurve(name, name, "vb", 0, history) for name in "ab"]
        assert find_overlaps(runs) == []


def test_an_empty_panel_says_when_the_first_score_comes() -> None:
    def notes(scores: list[float], first: int | None) -> list[str]:
        history = history_of(lower_bound=[-9.0, -8.0], heldout_log_likelihood=scores)
        run = RunCurve("r", "x", "vb", 0, history, heldout=True, first_score=first)
        layout = live_figure([run])["layout"]
        return [note["text"] for note in layout["annotations"] if "first score" in note["text"]]

    assert notes([np.nan, np.nan], 5) == ["first score at sweep 5"]
    assert notes([np.nan, -0.7], 5) == notes([np.nan, np.nan], None) == []
