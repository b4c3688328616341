"""The summary of a table of numbers: its size, first rows, distributions, correlations, and missing cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.data.table import Table
from acvb_core.models.lfm.figures.pictures import tone_range
from acvb_core.models.lfm.figures.tables import (
    correlation_figure,
    distributions_figure,
    missing_map_figure,
    missing_share_figure,
)
from acvb_core.views.theme import Figure
from pages.ui.lfm.feature_view import show_picture_row
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_figure
from pages.ui.shared.model_pages import DatasetSummary

FIRST_ROWS, FIRST_COLUMNS, FIRST_PICTURES = 50, 100, 40
#: Most rows that correlations are computed from; of more, as many evenly spaced ones.
MOST_ROWS = 20_000
#: Characters of the longest name whose column is as wide as the name.
LONG_NAME = 24
#: Columns beside those of the table that are shown of an object.
MOST_KNOWN = 3


def summarise_table(table: Table) -> DatasetSummary:
    """Return the summary of a table that the Data page shows."""
    rows, columns = table.shape
    figures = [
        ("Rows", f"{rows:,}"),
        ("Columns", f"{columns:,}"),
        ("Missing", say.percent(table.share_missing)),
    ]
    if table.labels is not None:
        figures.append(("Known groups", f"{len(set(table.labels.tolist()) - {''}):,}"))
    if table.image is not None:
        figures.append(("Pictures", f"{table.image.height} × {table.image.width}"))
    tabs = {"First rows": lambda: show_first_rows(table)}
    if table.image is not None:
        tabs = {"Pictures": lambda: show_pictures(table)} | tabs
    tabs |= {
        "Distributions": lambda: show_chart("distributions", table),
        "Missing cells": lambda: show_missing(table),
        "Correlations": lambda: show_correlations(table),
    }
    said = (
        "Runs use standardised columns. Results are shown in the columns' own units."
        if table.standardise
        else "Columns are not standardised."
    )
    return DatasetSummary(tuple(figures), tabs, said)


def show_first_rows(table: Table) -> None:
    """Draw the first rows."""
    high = 38 + 35 * min(table.n_rows, FIRST_ROWS)
    frame = list_first_rows(table)
    columns, height = shape_columns(frame), min(380, high)
    st.dataframe(frame, key="first_rows_of_table", height=height, placeholder="–", column_config=columns)
    parts = ((FIRST_ROWS, table.n_rows, "rows"), (FIRST_COLUMNS, table.n_columns, "columns"))
    shown = [f"{part:,} of {whole:,} {what}" for part, whole, what in parts if whole > part]
    said = [f"The first {' and '.join(shown)}."] if shown else []
    said += ["Cells with a dash are missing."] if table.n_missing else []
    if said:
        st.caption(" ".join(said))


def list_first_rows(table: Table) -> pd.DataFrame:
    """Return the first rows and columns, by name, after the known groups and before the metadata if there are any."""
    names = [str(name) for name in table.columns[:FIRST_COLUMNS]]
    frame = pd.DataFrame(
        table.values[:FIRST_ROWS, :FIRST_COLUMNS],
        columns=names,
        index=pd.Index(table.rows[:FIRST_ROWS], name="row"),
    )
    known = {f"known {name}": column for name, column in table.metadata.items()}
    if table.labels is not None:
        known["known group"] = table.labels
    for heading, column in known.items():
        while heading in frame.columns:
            heading += "*"
        at = 0 if column is table.labels else len(frame.columns)
        frame.insert(at, heading, column[:FIRST_ROWS])
    return frame


def shape_columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the widths of columns with long names, which leave no room for the others; days are without hours."""
    times = {name: column.dropna() for name, column in frame.items() if column.dtype.kind == "M"}
    days = [name for name, column in times.items() if column.eq(column.dt.normalize()).all()]
    widths = {name: 160 for name in frame.columns if len(name) > LONG_NAME}
    if any(len(str(name)) > LONG_NAME for name in frame.index):
        widths["_index"] = 160
    wide = {name: st.column_config.Column(width=width) for name, width in widths.items()}
    return {**wide, **{name: st.column_config.DateColumn(width=widths.get(name)) for name in days}}


def show_pictures(table: Table) -> None:
    """Draw the first rows as pictures, all in the same tones."""
    image = table.image
    assert image is not None
    shown = min(FIRST_PICTURES, table.n_rows)
    show_picture_row(table, range(shown))
    low, high = tone_range(table)
    st.caption(
        f"The first {shown} of {table.n_rows:,} rows as pictures of {image.height} × {image.width} pixels. "
        f"The bluer, the higher the value, from {low:.3g} to {high:.3g}."
    )


def show_missing(table: Table) -> None:
    """Draw the places of missing cells, and their number by column and row."""
    if not table.n_missing:
        st.caption("No cell is missing.")
        return
    for name in ("missing_map", "missing_columns", "missing_rows"):
        show_chart(name, table)


def show_correlations(table: Table) -> None:
    """Draw the correlations of the columns."""
    show_chart("correlations", table)
    if table.n_rows > MOST_ROWS:
        st.caption(f"Computed from {MOST_ROWS:,} rows, evenly spaced in the table.")


def show_chart(name: str, table: Table) -> None:
    """Draw one figure of a table, made once."""
    columns = [str(column) for column in table.columns[:200]]
    show_figure(lambda: _draw(name, table.fingerprint, columns, table), f"table_{name}")


# The table itself is left out of the key; values are known by their fingerprint, columns by their names.
@st.cache_data(max_entries=12, show_spinner=False)
def _draw(name: str, fingerprint: str, columns: list[str], _table: Table) -> Figure:
    step = max(1, -(-_table.n_rows // MOST_ROWS))
    draw: dict[str, Callable[[], Figure]] = {
        "distributions": lambda: distributions_figure(_table),
        "missing_map": lambda: missing_map_figure(_table, height=380),
        "missing_columns": lambda: missing_share_figure(_table, "columns"),
        "missing_rows": lambda: missing_share_figure(_table, "rows"),
        "correlations": lambda: correlation_figure(_table.values[::step], _table.columns),
    }
    return draw[name]()
