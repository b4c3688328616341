"""The summary of a relation or network: its size, picture, degrees and first links."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.models.irm.figures.summaries import degree_histograms, thumbnail
from acvb_core.models.irm.scores import links_of, n_components
from acvb_core.views.theme import Figure
from pages.ui.irm.known_labels import show_known_labels
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_figure
from pages.ui.shared.model_pages import DatasetSummary

FIRST_LINKS = 50
#: Pixels of the picture of a relation.
_HEIGHT, _WIDEST = 340, 1000


def summarise_relation(relation: Relation) -> DatasetSummary:
    """Return the summary of a relation that the Data page shows."""
    rows, columns = relation.shape
    figures = (
        ("Rows", f"{rows:,}"),
        ("Columns", f"{columns:,}"),
        ("Links", f"{relation.n_ones:,}"),
        ("Density", say.percent(relation.density)),
        ("Missing", say.percent(relation.n_missing / (rows * columns))),
    )
    return DatasetSummary(figures, _list_tabs(relation, "object"))


def describe_lost_weights(relation: Relation) -> str:
    """Return what a model of links does with the weights of a relation, in a sentence; "" without weights."""
    if relation.weights is None:
        return ""
    return "This model uses linked or not linked only. The Poisson block model uses the weights of the links."


def _list_tabs(relation: Relation, one: str) -> dict[str, Callable[[], None]]:
    return {
        "Picture": lambda: show_picture(relation),
        f"Links per {one}": lambda: show_degrees(relation),
        "First links": lambda: show_first_links(relation),
        "Known labels": lambda: show_known_labels(relation),
    }


def show_picture(relation: Relation) -> None:
    """Draw the relation as it was read, its entries as wide as they are high where there is room."""
    width = picture_width(*relation.shape)
    show_figure(lambda: _draw_thumbnail(relation.fingerprint, relation), "thumbnail", width=width)
    unknown = " Grey: unknown." if relation.n_missing else ""
    st.caption(f"Blue: links.{unknown} Objects are in the order of the file.")


def picture_width(rows: int, columns: int) -> int:
    """Return the pixels across the picture of a relation; one of few columns is not drawn as a line."""
    return max(_HEIGHT, min(_WIDEST, round(_HEIGHT * columns / rows)))


def show_degrees(relation: Relation) -> None:
    """Draw how many objects have how many links."""
    show_figure(lambda: _draw_degrees(relation.fingerprint, relation), "degrees")
    st.caption("How many objects have that many links. Each range is twice as wide as the one before.")


def show_first_links(relation: Relation) -> None:
    """Draw the first links."""
    st.dataframe(list_first_links(relation), hide_index=True, key="first_links", height=300)
    if relation.n_links > FIRST_LINKS:
        st.caption(f"The first {FIRST_LINKS} of {relation.n_links:,}.")


def list_first_links(relation: Relation) -> pd.DataFrame:
    """Return the first links, one a line, with their weights if they have some."""
    rows, columns = (ends[:FIRST_LINKS] for ends in links_of(relation))
    row_kind, column_kind = relation.row_kind, relation.column_kind
    if column_kind == row_kind:
        column_kind += " (column)" if relation.network is None else " linked to"
    ends = {row_kind: relation.row_labels[rows], column_kind: relation.column_labels[columns]}
    table = pd.DataFrame(ends, dtype=str)
    return table if relation.weights is None else table.assign(weight=relation.links[rows, columns])


# The relation itself is left out of the key: it is known by its fingerprint, and hashing it would only sample it.
@st.cache_data(max_entries=8, show_spinner=False)
def _draw_thumbnail(fingerprint: str, _relation: Relation) -> Figure:
    return thumbnail(_relation, height=_HEIGHT)


@st.cache_data(max_entries=8, show_spinner=False)
def _draw_degrees(fingerprint: str, _relation: Relation) -> Figure:
    return degree_histograms(_relation, height=_HEIGHT)


def summarise_network(network: Relation) -> DatasetSummary:
    """Return the summary of a network that the Data page shows."""
    n_nodes = network.shape[0]
    kind = network.network
    assert kind is not None
    known, every = network.n_known, _count_pairs(network)
    figures = [
        ("Nodes", f"{n_nodes:,}"),
        ("Links", f"{network.n_links:,}"),
        ("Density", say.percent(network.n_links / known if known else 0.0)),
        ("Components", f"{count_components(network.fingerprint, network):,}"),
    ]
    if known < every:
        figures.append(("Unknown pairs", say.percent(1 - known / every)))
    note = kind.text.capitalize() + ("" if kind.self_links else ", without self-links")
    return DatasetSummary(tuple(figures), _list_tabs(network, "node"), note=note)


def _count_pairs(network: Relation) -> int:
    """Return the number of pairs of a network's nodes."""
    n, kind = network.shape[0], network.network
    assert kind is not None
    different = n * (n - 1) if kind.directed else n * (n - 1) // 2
    return different + (n if kind.self_links else 0)


@st.cache_data(max_entries=8, show_spinner=False)
def count_components(fingerprint: str, _network: Relation) -> int:
    """Return the number of a network's components, without regard to the direction of links."""
    return n_components(_network)
