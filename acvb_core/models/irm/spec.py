"""The infinite relational model's methods, their parameters and measures: the rows of the registry."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acvb_core.core.display import BOUND, CHANGE, LOO_NATS, HeldOutScore, Measure, ModelDisplay, write_share
from acvb_core.core.parameters import Parameter
from acvb_core.core.spec import (
    AUTO_BURN_IN,
    PRESET,
    TOLERANCE,
    MethodSpec,
    ModelSpec,
    Paper,
    Values,
    burn_in,
    max_sweeps,
    references_to,
)

if TYPE_CHECKING:
    from acvb_core.data.relation import Relation


def _display(unit: str, clusters: dict[str, str], titles: dict[str, tuple[str, str]]) -> ModelDisplay:
    """Return the curves of a run, with the number of clusters of each domain."""
    heldout = f"Held-out log likelihood of {unit}"
    curves = [Measure("heldout", heldout, "heldout_log_likelihood", 6, f"%{{y:.4f}} nats {unit}")]
    for place, (name, title) in enumerate(clusters.items(), 4):
        curves.append(Measure(name, title, f"effective_{name}", place, step=True, small=True))
    return ModelDisplay(
        (BOUND, LOO_NATS, CHANGE, *curves),
        HeldOutScore("skill", "skill", write_share, "averaged_skill"),
        to_predict="the mean of Gibbs samples or fewer clusters",
        question="Which objects link to the same others?",
        titles=titles,
    )


_MODEL, _CVB = references_to("models.irm.model"), references_to("models.irm.cvb")
#: Sweeps before the first moves: earlier, clusters that are still taking shape would be lost. A chain has shaped them.
MOVES_FROM, MOVES_FROM_AFTER_CHAIN = 15, 5
#: Sweeps between moves, for the objects to find their places.
MOVES_EVERY = 5
#: No more moves after this sweep, so that a run can settle; earlier after a chain, which leaves little to find.
MOVES_UNTIL, MOVES_UNTIL_AFTER_CHAIN = 200, 60
#: Splits may always lead to so many times the starting number of clusters.
_FACTOR = 2
#: They lead to more while there are two objects for each cluster and a sweep costs at most `_WORK` (three seconds): 1
#: for every object and block, and `_LINK` for every cluster at either end of a link.
_WORK, _LINK = 1e8, 1 / 30


def limit_clusters(relation: Relation, values: Values) -> dict[str, int]:
    """Return the most clusters that a run may have of each domain; nothing for a sampler, which has no limit."""
    if "split" not in values:
        return {}
    return limit_splits(relation, values) if values["split"] else starting_clusters(values)


def limit_splits(relation: Relation, values: Values) -> dict[str, int]:
    """Return the number of clusters of each domain at which splits stop."""
    starts = starting_clusters(values)
    n_objects, links = sum(relation.shape), _LINK * (relation.n_ones + relation.n_missing)
    # The number of clusters k that solves n_objects * k**2 + 2 * links * k = _WORK.
    affordable = int((math.sqrt(links**2 + n_objects * _WORK) - links) / n_objects)
    return {
        domain: max(_FACTOR * k, min(affordable, n // 2))
        for (domain, k), n in zip(starts.items(), relation.shape, strict=False)
    }


def starting_clusters(values: Values) -> dict[str, int]:
    """Return the starting number of clusters of each domain; a network has one."""
    return {domain: values[f"k_{domain}"] for domain in ("rows", "cols") if f"k_{domain}" in values}


def _irm_schedule(train: Any, heldout: Any, method: MethodSpec, values: Values) -> tuple[int, int]:
    n_heldout = 0 if heldout is None else heldout.n
    return 1 if train.n_ones + train.n_missing < 2_000_000 else 5, 5 if n_heldout < 50_000 else 20


IRM = ModelSpec(
    "irm",
    "Infinite Relational Model",
    "irm",
    "a relation: which row objects are linked to which column objects",
    _MODEL("IrmModel"),
    {"rows": "row clusters", "cols": "column clusters"},
    _MODEL("memory_bytes"),
    references_to("data.relation")("Relation"),
    references_to("evaluate.split")("hold_out"),
    _irm_schedule,
    96,  # a probability, and the sorted copies behind the ranking scores
    {"rows": "rows", "cols": "columns"},
    {"rows": "k_rows", "cols": "k_cols"},
    _display("an entry", {"k_rows": "Row clusters", "k_cols": "Column clusters"}, {}),
    references_to("evaluate.heldout")("LinkScore"),
    sweep_seconds=_MODEL("sweep_seconds"),
    limits=limit_clusters,
    observed=lambda relation: relation.n_observed,
)
NETWORK = replace(
    IRM,
    name="network",
    label="Infinite Relational Model of a network",
    data="a network: which objects of one kind are linked to which",
    build=_MODEL("build_network_model"),
    domains={"rows": "clusters"},
    clusterings={"rows": "nodes"},
    caps={"rows": "k_rows"},
    display=_display("a pair", {"k_rows": "Clusters"}, {"k_rows": ("Clusters", "Clusters (rows)")}),
    accepts=lambda relation: relation.network is not None,
    wanted="a relation whose two sides are the same objects (load it with domains='one', or use "
    "`acvb_core.as_network`)",
    observed=lambda network: network.n_known,
    unit=("pair", "pairs"),
    one_domain=True,
)


def _size(name: str, clusters: str) -> Parameter:
    return Parameter(
        name, "int", 20, f"Starting number of {clusters}. Unneeded ones die out or are merged. Splits add more while "
        "that raises the lower bound: at most twice this number, or on small data as many as keep a sweep within a few "
        "seconds. Without splits this is the largest number. Gibbs has no limit.",
        f"Starting number of {clusters}", 1, 1000, advanced=False,
    )  # fmt: skip


def _start(*choices: str) -> tuple[Parameter, ...]:
    text = "spectral: from a spectral clustering of the links. random: from random soft assignments, as in the papers."
    if "gibbs" in choices:
        text = (
            "gibbs: from the best sample of a short Gibbs chain. The mean of its samples also predicts links, better "
            f"than the clusters alone do. {text}"
        )
    return (
        Parameter("init", "choice", choices[0], text, "Start", choices=choices),
        Parameter(
            "smoothing", "float", 0.1, "Share of every object that a spectral start spreads evenly over all clusters. "
            "Other starts ignore it.", "Smoothing of the start", 0.0, 1.0,
        ),
    )  # fmt: skip


def _hyper(*choices: str) -> Parameter:
    return Parameter(
        "hyper", "choice", "tied", "How the prior's hyper-parameters are estimated. tied: all blocks share one Beta "
        "prior. per-block: each has its own, which has no finite optimum. paper: the same, and the concentrations with "
        "one stick too many, only to reproduce the paper. fixed: not estimated.",
        "Learning of the priors", choices=choices,
    )  # fmt: skip


_SIZE = (_size("k_rows", "row clusters"), _size("k_cols", "column clusters"))
_PRIOR = (
    Parameter(
        "alpha", "float", 1.0, "Larger values favour more clusters. Initial concentration of the stick-breaking prior.",
        "Preference for more clusters (alpha)", 1e-3, 1e3,
    ),
    Parameter(
        "a", "float", 0.1, "Prior number of links in each block. Initial first parameter of the Beta prior.",
        "Prior links (a)", 1e-3, 1e3,
    ),
    Parameter(
        "b", "float", 1.0, "Prior number of pairs without a link in each block. Initial second parameter of the Beta "
        "prior.", "Prior non-links (b)", 1e-3, 1e3,
    ),
)  # fmt: skip
_IRM = (
    *_SIZE, *_start("gibbs", "spectral", "random"), _hyper("tied", "per-block", "paper", "fixed"), *_PRIOR,
    Parameter(
        "shrink", "float", 1e-5, "Clusters with less than this share of the objects are dropped; 0 keeps all.",
        "Drop clusters below", 0.0, 0.1,
    ),
    Parameter(
        "merge", "bool", True, f"From sweep {MOVES_FROM} on, every {MOVES_EVERY} sweeps, merge clusters if that "
        "raises the lower bound.", "Merge clusters",
    ),
    Parameter(
        "split", "bool", True, "Between merges, split clusters in two if that raises the lower bound.",
        "Split clusters",
    ),
    Parameter(
        "schedule", "choice", "domains", "domains: update all rows, then all columns; most sweeps skip objects that "
        "hardly move. paper: as the paper prints it, all objects in one random order (CVB), or the strengths after "
        "both (VB). Slower, and no better.", "Order of the updates", choices=("domains", "paper"),
    ),
    PRESET,
)  # fmt: skip
_RESTART_MEAN = Parameter(
    "restart_mean", "bool", True, "Begin the average again if a cluster is dropped, or if a sweep moves ten times less "
    "than when the average began. Otherwise it would mix results with and without the cluster, or keep early sweeps "
    "for long.", "Restart the average",
)  # fmt: skip
_VARIANCE = Parameter(
    "variance", "choice", "paper", "Variances of the counts: those of the paper, or exact ones, which account for "
    "entries that share an object.", "Variances", choices=("paper", "exact"),
)  # fmt: skip
_RUN = (max_sweeps(1000), TOLERANCE)
_AVERAGED_RUN = (_RESTART_MEAN, AUTO_BURN_IN, max_sweeps(5000), TOLERANCE)
#: Earlier versions could cut a relation into shards: on real data they could end worse, and were no faster here.
_RETIRED: Values = {"shards": 0}
#: Settings that IRM14 and ACVB17 print for all variational methods.
_PRINTED: Values = {
    "init": "random", "hyper": "paper", "merge": False, "split": False, "schedule": "paper",
}  # fmt: skip
_START_WHY = (
    "By default a run begins from the best sample of a short Gibbs chain, merges and splits clusters, and has one Beta "
    "prior for all blocks: from random responsibilities runs end in poor local optima, and a prior for each block "
    "has no finite optimum. The concentrations are learned from K - 1 sticks: the last one is all that is left. "
)
_ORDER_WHY = (
    "Rows are updated before columns, which is faster. In both, clusters are ordered by size after a sweep (the paper: "
    "after every object), and the last stick is whole: eq. 76 loses its mass."
)
_COLLAPSED_PAPER = Paper("IRM14 §5 and §8.1, Fig. 2, eqs. 75-112", _PRINTED, _START_WHY + _ORDER_WHY)
_AVERAGED_PAPER = Paper(
    "ACVB17 §4.1 and §5.1; IRM14 §6.2", {**_PRINTED, "restart_mean": False},
    f"{_START_WHY}{_ORDER_WHY} The mean begins again when a cluster is dropped. Neither paper says how "
    "long the burn-in is: in both it ends when the responsibilities have settled.",
)  # fmt: skip
_VB_PAPER = Paper(
    "IRM14 §4, eqs. 50-61", _PRINTED,
    f"{_START_WHY}q(theta) is also updated between rows and columns, so that no step lowers the bound.",
)  # fmt: skip
_GIBBS_PAPER = Paper(
    "IRM14 §3 and §8.1", {"init": "random", "burn_in": 1500, "max_sweeps": 3000},
    "By default the first sample is a spectral clustering, and 300 sweeps are drawn: from there they are enough.",
)  # fmt: skip
_RELATION_METHODS = (
    MethodSpec(
        "irm", "acvb0", "ACVB0",
        "Averaged CVB0: continues like CVB0 and answers with the running mean of its responsibilities, which is "
        "certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_IRM, *_AVERAGED_RUN), _CVB("build_acvb0"), "mean_change",
        averaged=True, paper=_AVERAGED_PAPER, retired=_RETIRED,
    ),
    MethodSpec(
        "irm", "acvb", "ACVB",
        "Averaged second-order CVB: the running mean of CVB's responsibilities, certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_IRM, _VARIANCE, *_AVERAGED_RUN), _CVB("build_acvb"), "mean_change",
        averaged=True, paper=_AVERAGED_PAPER, check=_CVB("check_variance"),
    ),
    MethodSpec(
        "irm", "cvb0", "CVB0",
        "Collapsed variational Bayes with counts replaced by their means: fast and accurate, no guarantee that "
        "it converges.",
        "Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), §5",
        (*_IRM, *_RUN), _CVB("build_cvb0"), "pseudo_loo", paper=_COLLAPSED_PAPER, retired=_RETIRED,
    ),
    MethodSpec(
        "irm", "cvb", "CVB",
        "Collapsed variational Bayes with second-order terms for the uncertainty of the counts.",
        "Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), §5",
        (*_IRM, _VARIANCE, *_RUN), _CVB("build_cvb"), "pseudo_loo", paper=_COLLAPSED_PAPER,
        check=_CVB("check_variance"),
    ),
    MethodSpec(
        "irm", "vb", "VB",
        "Plain variational Bayes: its lower bound never falls, but the bound is looser.",
        "Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), §4",
        (*_IRM, *_RUN), references_to("models.irm.vb")("build_vb"), "lower_bound", paper=_VB_PAPER, retired=_RETIRED,
    ),
    MethodSpec(
        "irm", "gibbs", "Gibbs",
        "Collapsed Gibbs sampling under the Chinese restaurant process: samples the posterior, answers with the "
        "mean of the kept samples, runs a fixed number of sweeps.",
        "Kemp et al., AAAI 2006; Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), eq. 20",
        (
            *_SIZE, *_start("spectral", "random"), _hyper("tied", "fixed"), *_PRIOR,
            PRESET, burn_in(100, 0, "Sweeps that are not kept."), max_sweeps(300),
        ),
        references_to("models.irm.gibbs")("build_gibbs"), None, sampled=True,
        paper=_GIBBS_PAPER,
    ),
)  # fmt: skip


def _for_networks(row: MethodSpec) -> MethodSpec:
    """Return a method's row for networks: one number of clusters, and the paper's variances only."""
    others = tuple(p for p in row.parameters if p.name not in ("k_rows", "k_cols", "variance"))
    retired = row.retired if _VARIANCE not in row.parameters else row.retired | {"variance": "paper"}
    return replace(row, model="network", parameters=(_size("k_rows", "clusters"), *others), retired=retired)


MODELS = (IRM, NETWORK)
METHODS = (*_RELATION_METHODS, *(_for_networks(row) for row in _RELATION_METHODS))
