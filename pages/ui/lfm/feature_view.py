"""The answer that the Features page shows, computed once and kept while it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lfm.answer import FeatureAnswer
from acvb_core.models.lfm.figures.pictures import signed_text
from acvb_core.views.theme import isolate
from pages.ui.shared.charts import PartChoice
from pages.ui.shared.picking import Key, answer_key

#: The chosen feature.
FEATURE = PartChoice("features", "feature")
#: Columns that describe a feature in a list.
STRONGEST = 3


@dataclass(frozen=True, eq=False)
class FeatureView(FeatureAnswer):
    """One run's answer.

    Attributes
    ----------
    run : str
        Id of the run.
    result : Result
    """

    run: str
    result: Result

    def strongest(self, feature: int, n: int = STRONGEST, own: bool = True) -> list[str]:
        """Return the columns with the largest weights of a feature (from 1), each with its weight: "rain +12"."""
        weights = (self.own_weights if own else self.weights)[feature - 1]
        columns = self.strongest_columns(feature, n)
        return [f"{isolate(self.data.columns[j])} {signed_text(float(weights[j]))}" for j in columns]


def build_view(job: Job, result: Result) -> FeatureView:
    """Return the answer of a run; the same object until the run continues."""
    return _build_view(answer_key(job, result), result)


@st.cache_resource(show_spinner=False, max_entries=8)
def _build_view(key: Key, _result: Result) -> FeatureView:
    prepared = _result.prepared
    return FeatureView(_result.posterior, prepared.data, prepared.train, key[0], _result)
