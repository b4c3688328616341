"""The pages of relations and networks of counts: those of links, with other words."""

from __future__ import annotations

from dataclasses import replace

from pages.ui.irm import model_pages as irm
from pages.ui.poisson.words_counts import NETWORK, RELATION, describe_rates, describe_weights
from pages.ui.shared.model_pages import Demonstration, ModelPages

_KIND = "Poisson block model: weights and hubs"

MODEL_PAGES: dict[str, ModelPages] = {
    "poisson": replace(
        irm.MODEL_PAGES["irm"],
        model="poisson",
        data_name="A relation with weights",
        group="Relation with weights",
        promise="",
        demonstration=None,
        words=RELATION,
        files="",
        reader=None,
        kind=_KIND,
        kinds_help="",
        about_data=describe_weights,
        about_result=describe_rates,
    ),
    "poisson-network": replace(
        irm.MODEL_PAGES["network"],
        model="poisson-network",
        data_name="A network with weights",
        group="Network with weights",
        demonstration=Demonstration(
            sample="planted_hubs",
            methods=irm.METHODS,
            values={},
            label="Cluster a network with hubs",
            help="A network of counts, drawn from groups with hubs. Runs ACVB0, CVB0 and VB.",
            key="sample_hubs",
        ),
        words=NETWORK,
        files="",
        kind=_KIND,
        about_data=describe_weights,
        about_result=describe_rates,
    ),
}
