"""The summary of a network: its size, components, picture, degrees and first links."""

from __future__ import annotations

import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.models.irm.scores import n_components
from pages.ui.irm.known_labels import show_known_labels
from pages.ui.irm.overview_relation import show_degrees, show_first_links, show_picture
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import DatasetSummary


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
    return DatasetSummary(
        tuple(figures),
        {
            "Picture": lambda: show_picture(network),
            "Links per node": lambda: show_degrees(network),
            "First links": lambda: show_first_links(network),
            "Known labels": lambda: show_known_labels(network),
        },
        note=kind.text.capitalize() + ("" if kind.self_links else ", without self-links"),
    )


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
