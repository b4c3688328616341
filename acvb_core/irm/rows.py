"""The registry's rows of the IRM."""

from __future__ import annotations

from typing import Any

from acvb_core.averaging import Averaged, SampleMean
from acvb_core.data.relation import Relation
from acvb_core.data.split import hold_out
from acvb_core.irm.cvb import CollapsedIrm
from acvb_core.irm.gibbs import GibbsIrm
from acvb_core.irm.hyper import Hyper
from acvb_core.irm.memory import memory_bytes
from acvb_core.irm.model import IrmModel
from acvb_core.irm.start import Start
from acvb_core.irm.sweeping import MERGE_EVERY, MERGE_FROM
from acvb_core.irm.vb import VariationalIrm
from acvb_core.parameters import Parameter
from acvb_core.protocols import Model
from acvb_core.rows import AUTO_BURN_IN, TOLERANCE, Method, ModelRow, Values, burn_in, max_sweeps


def _irm_model(relation: Any) -> Model:
    return IrmModel(relation)


def _irm_schedule(train: Any, heldout: Any) -> tuple[int, int]:
    n_heldout = 0 if heldout is None else heldout.n
    return 1 if train.n_ones + train.n_missing < 2_000_000 else 5, 5 if n_heldout < 50_000 else 20


IRM = ModelRow(
    "irm",
    "Infinite Relational Model",
    "a relation: which row objects are linked to which column objects",
    _irm_model,
    {"rows": "row clusters", "cols": "column clusters"},
    memory_bytes,
    Relation,
    hold_out,
    _irm_schedule,
    96,  # a probability, and the sorted copies behind the ranking scores
    {"rows": "rows", "cols": "columns"},
    {"rows": "k_rows", "cols": "k_cols"},
)

_SIZE = (
    Parameter(
        "k_rows", "int", 20, "Most row clusters there can be; those that are not needed die out.",
        "Row clusters at most", 1, 1000, advanced=False,
    ),
    Parameter(
        "k_cols", "int", 20, "Most column clusters there can be; those that are not needed die out.",
        "Column clusters at most", 1, 1000, advanced=False,
    ),
)  # fmt: skip

_START = (
    Parameter(
        "init", "choice", "spectral",
        "Where to start: spectral co-clustering of the links (better on sparse data), or the papers' random "
        "soft assignments.", "Start", choices=("spectral", "random"),
    ),
    Parameter(
        "smoothing", "float", 0.1,
        "Spectral start only: share of every object that is spread evenly over all clusters.",
        "Smoothing of the start", 0.0, 1.0,
    ),
)  # fmt: skip

_PRIOR = (
    Parameter(
        "alpha", "float", 1.0, "Concentration of the stick-breaking prior to start from; larger favours more "
        "clusters.", "Concentration", 1e-3, 1e3,
    ),
    Parameter(
        "a", "float", 0.1, "Beta prior of a block's link probability to start from: pseudo-count of ones.",
        "Prior ones (a)", 1e-3, 1e3,
    ),
    Parameter(
        "b", "float", 1.0, "Beta prior of a block's link probability to start from: pseudo-count of zeros.",
        "Prior zeros (b)", 1e-3, 1e3,
    ),
)  # fmt: skip

_VARIATIONAL = (
    Parameter(
        "shrink", "float", 1e-5, "A cluster with less than this share of the objects is dropped; 0 keeps all.",
        "Drop clusters below", 0.0, 0.1,
    ),
    Parameter(
        "merge", "bool", True, f"After {MERGE_FROM} sweeps, and every {MERGE_EVERY} until none is found, merge "
        "clusters when that raises the lower bound.", "Merge clusters",
    ),
)  # fmt: skip


def _hyper(*choices: str) -> Parameter:
    return Parameter(
        "hyper", "choice", "tied", "How the hyper-parameters are learned: one Beta prior for all blocks (tied), "
        "one for each block (only to reproduce the paper: it has no finite optimum), or fixed.",
        "Hyper-parameters", choices=choices,
    )  # fmt: skip


_VARIANCE = Parameter(
    "variance", "choice", "paper", "Second-order terms with the paper's variances, or with the exact ones, which "
    "know that entries sharing an object are correlated.", "Variances", choices=("paper", "exact"),
)  # fmt: skip


def _hyper_of(values: Values) -> Hyper:
    return Hyper.tied(values["alpha"], values["a"], values["b"])


def _start_of(values: Values) -> Start:
    return Start(values["k_rows"], values["k_cols"], values["init"], values["smoothing"])


def _variational_settings(data: Any, values: Values) -> Values:
    return {
        "relation": data,
        "start": _start_of(values),
        "hyper": _hyper_of(values),
        "hyper_rule": values["hyper"],
        "shrink": values["shrink"],
        "merge": values["merge"],
    }


def _collapsed(data: Any, values: Values) -> CollapsedIrm:
    return CollapsedIrm(**_variational_settings(data, values), order=values.get("variance", "zeroth"))


def _averaged(data: Any, values: Values) -> Averaged:
    return Averaged(_collapsed(data, values), values["burn_in"])


def _variational(data: Any, values: Values) -> VariationalIrm:
    return VariationalIrm(**_variational_settings(data, values))


def _gibbs(data: Any, values: Values) -> SampleMean:
    sampler = GibbsIrm(data, _start_of(values), _hyper_of(values), values["hyper"])
    return SampleMean(sampler, values["burn_in"])


_IRM = (*_SIZE, *_START, _hyper("tied", "per-block", "fixed"), *_PRIOR, *_VARIATIONAL)
_RUN = (max_sweeps(1000), TOLERANCE)
_AVERAGED_RUN = (max_sweeps(5000), TOLERANCE)

IRM_METHODS = (
    Method(
        "irm", "acvb0", "ACVB0",
        "Averaged CVB0: goes on like CVB0 and answers with the running mean of its responsibilities, which is "
        "certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_IRM, AUTO_BURN_IN, *_AVERAGED_RUN), _averaged, "mean_change", averaged=True,
    ),
    Method(
        "irm", "acvb", "ACVB",
        "Averaged second-order CVB: the running mean of CVB's responsibilities, certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_IRM, _VARIANCE, AUTO_BURN_IN, *_AVERAGED_RUN), _averaged, "mean_change", averaged=True,
    ),
    Method(
        "irm", "cvb0", "CVB0",
        "Collapsed variational Bayes with counts replaced by their means: fast and accurate, no guarantee that "
        "it settles.",
        "Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), §5",
        (*_IRM, *_RUN), _collapsed, "pseudo_loo",
    ),
    Method(
        "irm", "cvb", "CVB",
        "Collapsed variational Bayes with second-order terms for the uncertainty of the counts.",
        "Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), §5",
        (*_IRM, _VARIANCE, *_RUN), _collapsed, "pseudo_loo",
    ),
    Method(
        "irm", "vb", "VB",
        "Plain variational Bayes: its lower bound never falls, but the bound is looser.",
        "Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), §4",
        (*_IRM, *_RUN), _variational, "lower_bound",
    ),
    Method(
        "irm", "gibbs", "Gibbs",
        "Collapsed Gibbs sampling under the Chinese restaurant process: samples the posterior, answers with the "
        "mean of the kept samples, runs as long as it is told.",
        "Kemp et al., AAAI 2006; Ishiguro, Sato, Ueda, arXiv:1409.4757 (2014), eq. 20",
        (
            *_SIZE, *_START, _hyper("tied", "fixed"), *_PRIOR,
            burn_in(100, 0, "Sweeps that are not kept."), max_sweeps(300),
        ),
        _gibbs, None, sampled=True,
    ),
)  # fmt: skip
