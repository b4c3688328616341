"""The picture on Home: a matrix as it was read, and sorted by the clusters that a run found."""

from __future__ import annotations

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import arrange_result
from acvb_core.models.irm.figures.blocks import arrange_sample, before_after_figures
from acvb_core.samples.catalogue import SAMPLES, load_sample
from pages.ui.shared.model_pages import Picture

_SAMPLE = "les_miserables"


def draw_picture(result: Result | None) -> Picture:
    """Return the picture of a run, or else that of the sample."""
    if result is not None:
        name = f"The newest run, on {result.prepared.data.name}"
        return Picture(*before_after_figures(arrange_result(result)), name)
    figures = before_after_figures(arrange_sample(load_sample(_SAMPLE).relation))
    return Picture(*figures, f"{SAMPLES[_SAMPLE].title}: {SAMPLES[_SAMPLE].origin}")
