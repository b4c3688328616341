"""The methods, parameters and measures of blocks of counts: the rows of the registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acvb_core.core.parameters import Parameter
from acvb_core.core.spec import PRESET, MethodSpec, references_to
from acvb_core.models.irm import spec as irm

_MODEL, _METHODS = references_to("models.poisson.model"), references_to("models.poisson.methods")

_SHARED: dict[str, Any] = {
    "folder": "poisson",
    "built_on": "irm",
    "memory": _MODEL("memory_bytes"),
    "score_type": references_to("models.poisson.scores")("CountScore"),
    "scoring_bytes": irm.IRM.scoring_bytes + 16,  # the probability of the count too
}
POISSON = replace(
    irm.IRM,
    name="poisson",
    label="Poisson block model",
    data="a relation with weights or hubs: how often row objects are linked to column objects",
    build=_MODEL("build_model"),
    display=replace(irm.IRM.display, run_word="Poisson"),
    **_SHARED,
)
NETWORK = replace(
    irm.NETWORK,
    name="poisson-network",
    label="Poisson block model of a network",
    data="a network with weights or hubs: how often objects of one kind are linked to each other",
    build=_MODEL("build_network_model"),
    display=replace(irm.NETWORK.display, run_word="Poisson"),
    **_SHARED,
)

_DEGREE = Parameter(
    "degree", "choice", "auto", "Some objects are more active than others. corrected: their activity is taken out, so "
    "that clusters are about whom they are linked to. none: active objects get clusters of their own. auto: a short "
    "run of each, and the one with the higher evidence.",
    "Correct for activity", choices=("auto", "corrected", "none"), advanced=False,
)  # fmt: skip
_UNIT = Parameter(
    "unit", "float", 0.0, "The weight that counts as 1. 0: found by a short run, so that the counts of alike pairs "
    "vary as Poisson counts do. It is 1 for whole numbers that vary no more.",
    "Unit of the counts", 0.0, 1e300,
)  # fmt: skip
_PRIOR = {
    "hyper": Parameter(
        "hyper", "choice", "tied", "How the prior's hyper-parameters are estimated. tied: all blocks share one Gamma "
        "prior. fixed: not estimated.", "Learning of the priors", choices=("tied", "fixed"),
    ),
    "a": Parameter(
        "a", "float", 1.0, "Larger values make the rates of blocks more alike. Initial shape of their Gamma prior.",
        "Prior shape (a)", 1e-3, 1e3,
    ),
    "b": Parameter(
        "b", "float", 1.0, "Prior count that is expected of a block. Initial rate of the Gamma prior.",
        "Prior expected count (b)", 1e-3, 1e3,
    ),
}  # fmt: skip
#: Settings that reproduce a paper's run, and variances that only links have.
_LEFT_OUT = ("schedule", "variance", PRESET.name)
_REFERENCE = "Karrer and Newman, Phys. Rev. E 83 (2011); updates as in {}"


def _count(row: MethodSpec) -> MethodSpec:
    """Return the row of a method of links as that of counts."""
    kept = [parameter for parameter in row.parameters if parameter.name not in _LEFT_OUT]
    parameters = [_PRIOR.get(parameter.name, parameter) for parameter in kept]
    sizes = sum(parameter.name.startswith("k_") for parameter in parameters)
    parameters[sizes:sizes] = [_DEGREE, _UNIT]
    model = {"irm": POISSON, "network": NETWORK}[row.model]
    return replace(
        row,
        model=model.name,
        reference=_REFERENCE.format(row.reference),
        parameters=tuple(parameters),
        build=_METHODS(f"build_{row.name}"),
        paper=None,
        check=_METHODS("check_data"),
        prepare=_METHODS("choose_counts"),
        retired={},
    )


MODELS = (POISSON, NETWORK)
METHODS = tuple(_count(row) for row in irm.METHODS)
