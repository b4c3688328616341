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


def _heldout(unit: str) -> Measure:
    return Measure(
        "heldout",
        f"Held-out log likelihood of {unit}",
        "heldout_log_likelihood",
        6,
        f"%{{y:.4f}} nats {unit}",
    )


_SCORE = HeldOutScore("skill", "skill", write_share, "averaged_skill")
_TO_PREDICT = "the mean of Gibbs samples or fewer clusters"
_COMMON = (BOUND, LOO_NATS, CHANGE)
RELATION_DISPLAY = ModelDisplay(
    (
        *_COMMON,
        _heldout("an entry"),
        Measure("k_rows", "Row clusters", "effective_k_rows", 4, step=True, small=True),
        Measure("k_cols", "Column clusters", "effective_k_cols", 5, step=True, small=True),
    ),
    _SCORE,
    to_predict=_TO_PREDICT,
)
NETWORK_DISPLAY = ModelDisplay(
    (
        *_COMMON,
        _heldout("a pair"),
        Measure("k_rows", "Clusters", "effective_k_rows", 4, step=True, small=True),
    ),
    _SCORE,
    to_predict=_TO_PREDICT,
    titles={"k_rows": ("Clusters", "Clusters (rows)")},
)
_MEMORY, _MODEL = references_to("models.irm.model"), references_to("models.irm.model")
_CVB, _VB = references_to("models.irm.cvb"), references_to("models.irm.vb")
_RELATION, _HOLD_OUT = references_to("data.relation")("Relation"), references_to("evaluate.split")("hold_out")
#: Sweeps before the first moves: earlier, clusters that are still taking shape would be lost. A chain has shaped them.
MOVES_FROM, MOVES_FROM_AFTER_CHAIN = 15, 5
#: Sweeps between moves, for the objects to find their places.
MOVES_EVERY = 5
#: No more moves after this sweep, so that a run can settle; earlier after a chain, which has left little to find.
MOVES_UNTIL, MOVES_UNTIL_AFTER_CHAIN = 200, 60
#: Splits may always go up to so many times the starting number of clusters.
_FACTOR = 2
#: They go further while there are two objects for each cluster, and while a sweep costs no more than this: a unit for
#: every object and block, and this for every cluster at either end of a link. It takes up to three seconds.
_WORK, _LINK = 1e8, 1 / 30


def limit_clusters(relation: Relation, values: Values) -> dict[str, int]:
    """Return the most clusters that a run may have of each domain; of a sampler none, which has no limit.

    That is the starting number, unless splits may raise it.
    """
    if "split" not in values:
        return {}
    if not values["split"]:
        return starting_clusters(values)
    return limit_splits(relation, values)


def limit_splits(relation: Relation, values: Values) -> dict[str, int]:
    """Return the number of clusters of each domain that splits stop at."""
    starts = starting_clusters(values)
    n_objects, links = sum(relation.shape), _LINK * (relation.n_ones + relation.n_missing)
    # The clusters k of which n_objects * k**2 + 2 * links * k is _WORK.
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
    _MEMORY("memory_bytes"),
    _RELATION,
    _HOLD_OUT,
    _irm_schedule,
    96,  # a probability, and the sorted copies behind the ranking scores
    {"rows": "rows", "cols": "columns"},
    {"rows": "k_rows", "cols": "k_cols"},
    RELATION_DISPLAY,
    references_to("evaluate.heldout")("LinkScore"),
    sweep_seconds=_MEMORY("sweep_seconds"),
    limits=limit_clusters,
    observed=lambda relation: relation.n_observed,
)
NETWORK = ModelSpec(
    "network",
    "Infinite Relational Model of a network",
    "irm",
    "a network: which objects of one kind are linked to which",
    _MODEL("build_network_model"),
    {"rows": "clusters"},
    _MEMORY("memory_bytes"),
    _RELATION,
    _HOLD_OUT,
    _irm_schedule,
    96,
    {"rows": "nodes"},
    {"rows": "k_rows"},
    NETWORK_DISPLAY,
    references_to("evaluate.heldout")("LinkScore"),
    accepts=lambda relation: relation.network is not None,
    wanted="a relation whose two sides are the same objects (load it with domains='one', or use "
    "`acvb_core.as_network`)",
    sweep_seconds=_MEMORY("sweep_seconds"),
    limits=limit_clusters,
    observed=lambda network: network.n_known,
    unit=("pair", "pairs"),
    one_domain=True,
)


def _size(name: str, clusters: str) -> Parameter:
    return Parameter(
        name, "int", 20, f"Starting number of {clusters}; those that are not needed die out or are merged. Splits add "
        "more while that raises the lower bound: to twice this number at most, or on small data to as many as keep a "
        "sweep within a few seconds. Without splits this is the largest number. Gibbs has no limit.",
        f"Starting number of {clusters}", 1, 1000, advanced=False,
    )  # fmt: skip


_SIZE = (_size("k_rows", "row clusters"), _size("k_cols", "column clusters"))
_SPECTRAL = "spectral: from a spectral clustering of the links. random: from random soft assignments, as in the papers."


def _start(*choices: str, text: str = "") -> tuple[Parameter, ...]:
    return (
        Parameter("init", "choice", choices[0], f"{text}{_SPECTRAL}", "Start", choices=choices),
        Parameter(
            "smoothing", "float", 0.1,
            "Share of every object that a spectral start spreads evenly over all clusters; the others have none.",
            "Smoothing of the start", 0.0, 1.0,
        ),
    )  # fmt: skip


_VARIATIONAL_START = _start(
    "gibbs", "spectral", "random",
    text="gibbs: from the best sample of a short Gibbs chain. The mean of its samples also predicts links, better than "
    "the clusters alone do. ",
)  # fmt: skip
_PRIOR = (
    Parameter(
        "alpha", "float", 1.0, "Larger values favour more clusters. The concentration of the stick-breaking prior, at "
        "the start.", "Preference for more clusters (alpha)", 1e-3, 1e3,
    ),
    Parameter(
        "a", "float", 0.1, "Links that each block is taken to have before its own are counted. First number of the "
        "Beta prior, at the start.",
        "Prior links (a)", 1e-3, 1e3,
    ),
    Parameter(
        "b", "float", 1.0, "Pairs without a link that each block is taken to have before its own are counted. "
        "Second number of the Beta prior, at the start.",
        "Prior non-links (b)", 1e-3, 1e3,
    ),
)  # fmt: skip
_VARIATIONAL = (
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
)  # fmt: skip


def _hyper(*choices: str) -> Parameter:
    return Parameter(
        "hyper", "choice", "tied", "How what is assumed beforehand (the priors) is learned. tied: all blocks share one "
        "Beta prior. per-block: each has its own, which has no finite optimum. paper: the same, and the concentrations "
        "with one stick too many, only to reproduce the paper. fixed: not learned.",
        "Learning of the priors", choices=choices,
    )  # fmt: skip


_SCHEDULE = Parameter(
    "schedule", "choice", "domains", "domains: update all rows, then all columns; objects that hardly move are passed "
    "over in most sweeps. paper: as the paper prints it: all of them in one random order (CVB), or the strengths "
    "after both (VB). Slower, and no better.",
    "Order of the updates", choices=("domains", "paper"),
)  # fmt: skip
_RESTART_MEAN = Parameter(
    "restart_mean", "bool", True, "When a cluster is dropped, or a sweep moves ten times less than when the average "
    "began, begin it again: it would mix answers with and without the cluster, or long remember the way to rest.",
    "Restart the average",
)  # fmt: skip
_VARIANCE = Parameter(
    "variance", "choice", "paper", "Variances of the counts: those of the paper, or exact ones, which account for "
    "entries that share an object.", "Variances", choices=("paper", "exact"),
)  # fmt: skip
_IRM = (
    *_SIZE,
    *_VARIATIONAL_START,
    _hyper("tied", "per-block", "paper", "fixed"),
    *_PRIOR,
    *_VARIATIONAL,
    _SCHEDULE,
    PRESET,
)
_RUN = (max_sweeps(1000), TOLERANCE)
#: Earlier versions could cut a relation into shards: on real data they could end worse, and were no faster here.
_RETIRED: Values = {"shards": 0}
_AVERAGED_RUN = (max_sweeps(5000), TOLERANCE)
#: What IRM14 and ACVB17 print for all variational methods.
_PRINTED: Values = {
    "init": "random",
    "hyper": "paper",
    "merge": False,
    "split": False,
    "schedule": "paper",
}
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
        (*_IRM, _RESTART_MEAN, AUTO_BURN_IN, *_AVERAGED_RUN), _CVB("build_acvb0"), "mean_change",
        averaged=True, paper=_AVERAGED_PAPER, retired=_RETIRED,
    ),
    MethodSpec(
        "irm", "acvb", "ACVB",
        "Averaged second-order CVB: the running mean of CVB's responsibilities, certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_IRM, _VARIANCE, _RESTART_MEAN, AUTO_BURN_IN, *_AVERAGED_RUN), _CVB("build_acvb"), "mean_change",
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
        (*_IRM, *_RUN), _VB("build_vb"), "lower_bound", paper=_VB_PAPER, retired=_RETIRED,
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
