"""The answer that the Features page shows, computed once and kept while it is looked at, and rows as pictures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from acvb_core.data.table import Table
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lfm.answer.describe import signed_text
from acvb_core.models.lfm.features import FeatureAnswer, ObjectSteps
from acvb_core.models.lfm.figures.pictures import image_uri, tone_range, tones
from acvb_core.views.parts import plain_name
from acvb_core.views.theme import isolate
from pages.ui.shared.charts import PartChoice
from pages.ui.shared.picking import Key, answer_key

#: The chosen feature.
FEATURE = PartChoice("features", "feature")
#: Columns that describe a feature in a list.
STRONGEST = 3


@dataclass(frozen=True, eq=False)
class FeatureView(FeatureAnswer):
    """One run's answer."""

    run: str  #: its id
    result: Result

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each feature, the user's or one made of what it changes."""
        return self.result.names["features"]

    def write(self, feature: int) -> str:
        """Return the number and name of a feature (from 1), as they are: "3 · rain"."""
        return plain_name(feature, self.names)

    def steps(self, row: int, most: int = 6) -> ObjectSteps:
        """Return how the features, by their names, make up an object."""
        made = super().steps(row, most)
        named = [
            replace(step, label=self.write(step.features[0])) if len(step.features) == 1 else step
            for step in made.steps
        ]
        return replace(made, steps=tuple(named))

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


def show_picture_row(table: Table, rows: Sequence[int], captions: Sequence[str] | None = None) -> None:
    """Draw some rows (0-based) of a table of pixels in the same tones; captions are shown as they are."""
    image = table.image
    assert image is not None
    low, high = tone_range(table)
    texts = [""] * len(rows) if captions is None else captions
    pieces = []
    for row, text in zip(rows, texts, strict=True):
        uri = image_uri(tones(image.picture(table.values[row]), low, high), 90)
        # The pictures are the program's own PNGs; the user's names for them are escaped.
        name = html.escape(str(table.rows[row]), quote=True)
        below = f"<div class='picture-name'>{html.escape(text)}</div>" if text else ""
        pieces.append(
            f"<div style='width:72px;overflow:hidden'><img class='tones' src='{uri}' alt='{name}' title='{name}' "
            f"width='72'>{below}</div>"
        )
    st.html(f"<div style='display:flex;flex-wrap:wrap;gap:10px'>{''.join(pieces)}</div>")
