"""THE table of models and methods. Forms, command-line flags, the documentation's table and the tests read it.

A new method is one file in its model's folder and one row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from acvb_core.averaging import BURN_IN_CAP, Averaged, SampleMean
from acvb_core.data.relation import Relation
from acvb_core.data.split import hold_out
from acvb_core.errors import ParameterError
from acvb_core.irm.cvb import CollapsedIrm
from acvb_core.irm.gibbs import GibbsIrm
from acvb_core.irm.hyper import Hyper
from acvb_core.irm.memory import memory_bytes
from acvb_core.irm.model import IrmModel
from acvb_core.irm.start import Start
from acvb_core.irm.sweeping import MERGE_EVERY, MERGE_FROM
from acvb_core.irm.vb import VariationalIrm
from acvb_core.parameters import Parameter, Value, checked
from acvb_core.protocols import Inference, Model

Monitored = Literal["lower_bound", "pseudo_loo", "mean_change"]
Values = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """One row: an inference method of one model.

    Attributes
    ----------
    model, name : str
        What a user types.
    label : str
        What a chart shows.
    summary : str
        One sentence in plain words.
    reference : str
        Paper and equation.
    parameters : tuple of Parameter
        All of the method's settings, those of the run (max_sweeps, tol) included.
    build : callable
        (data, values) -> Inference.
    monitored : "lower_bound", "pseudo_loo", "mean_change" or None
        What convergence is judged by; None runs a fixed number of sweeps.
    averaged : bool
        The answer is a running mean.
    sampled : bool
        A sampler: predictions are averaged over the kept samples.
    """

    model: str
    name: str
    label: str
    summary: str
    reference: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Any, Values], Inference]
    monitored: Monitored | None
    averaged: bool = False
    sampled: bool = False

    def values(self, given: Values) -> dict[str, Value]:
        """Return a checked value for every parameter, defaults for those not given."""
        return checked(self.parameters, given, f"method {self.name!r}")

    def converges_by(self) -> str:
        """Return in words how a run of this method ends."""
        return {
            "lower_bound": "relative change of the lower bound",
            "pseudo_loo": "relative change of the pseudo leave-one-out log likelihood",
            "mean_change": "change of the averaged responsibilities (guaranteed)",
            None: "fixed number of sweeps",
        }[self.monitored]


@dataclass(frozen=True)
class ModelRow:
    """One model: what its data is called, how it is judged, what it costs.

    Attributes
    ----------
    name, label : str
    data : str
        What a user brings.
    build : callable
        data -> Model.
    domains : dict of str to str
        Domain name in posteriors -> name in the plural for people.
    memory : callable
        (data, method name, values) -> bytes that a run will need at its peak, beyond the data.
    data_type : type
        Relation, Corpus, …
    hold_out : callable
        (data, share, seed) -> Split.
    schedule : callable
        (training data, held-out data or None) -> how many sweeps lie between two evaluations of the bound, and
        of the held-out scores, so that diagnostics stay cheap beside the sweeps.
    scoring_bytes : int
        Memory that scoring takes, for each held-out entry or word.
    clusterings : dict of str to str
        Array of posteriors whose rows can be told by their largest entry -> what its objects are called.
    caps : dict of str to str
        Domain -> the parameter that is only a limit to its clusters, which die out when they are not needed.
    """

    name: str
    label: str
    data: str
    build: Callable[[Any], Model]
    domains: dict[str, str]
    memory: Callable[[Any, str, Values], int]
    data_type: type
    hold_out: Callable[[Any, float, int], Any]
    schedule: Callable[[Any, Any], tuple[int, int]]
    scoring_bytes: int
    clusterings: dict[str, str]
    caps: dict[str, str]

    def accept(self, data: Any) -> None:
        """Raise a ParameterError when the data are not of the model's kind."""
        if not isinstance(data, self.data_type):
            raise ParameterError(
                f"model {self.name!r} is for a {self.data_type.__name__.lower()}; this is a "
                f"{type(data).__name__.lower()}."
            )


def _irm_model(relation: Any) -> Model:
    return IrmModel(relation)


def _irm_schedule(train: Any, heldout: Any) -> tuple[int, int]:
    n_heldout = 0 if heldout is None else heldout.n
    return 1 if train.n_ones + train.n_missing < 2_000_000 else 5, 5 if n_heldout < 50_000 else 20


MODELS = (
    ModelRow(
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
    ),
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

_TOLERANCE = Parameter(
    "tol", "float", 1e-5, "A run has converged when the watched quantity changes by less than this in a sweep.",
    "Tolerance", 1e-12, 1.0,
)  # fmt: skip


def _max_sweeps(default: int) -> Parameter:
    return Parameter(
        "max_sweeps", "int", default, "A run stops here at the latest; it can be extended afterwards.",
        "Sweeps at most", 1, 1_000_000, advanced=False,
    )  # fmt: skip


def _burn_in(default: int, low: int, text: str) -> Parameter:
    return Parameter("burn_in", "int", default, text, "Burn-in sweeps", low, 1_000_000)


_AUTO_BURN_IN = _burn_in(
    0,
    0,
    "Sweeps before averaging starts; 0 waits until the responsibilities have settled, "
    f"{BURN_IN_CAP} sweeps at most.",
)


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
_RUN = (_max_sweeps(1000), _TOLERANCE)
_AVERAGED_RUN = (_max_sweeps(5000), _TOLERANCE)

METHODS = (
    Method(
        "irm", "acvb0", "ACVB0",
        "Averaged CVB0: goes on like CVB0 and answers with the running mean of its responsibilities, which is "
        "certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_IRM, _AUTO_BURN_IN, *_AVERAGED_RUN), _averaged, "mean_change", averaged=True,
    ),
    Method(
        "irm", "acvb", "ACVB",
        "Averaged second-order CVB: the running mean of CVB's responsibilities, certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_IRM, _VARIANCE, _AUTO_BURN_IN, *_AVERAGED_RUN), _averaged, "mean_change", averaged=True,
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
            _burn_in(100, 0, "Sweeps that are not kept."), _max_sweeps(300),
        ),
        _gibbs, None, sampled=True,
    ),
)  # fmt: skip


def model_row(name: str) -> ModelRow:
    """Return a model's row.

    Raises
    ------
    ParameterError
        No such model.
    """
    for row in MODELS:
        if row.name == name:
            return row
    raise ParameterError(f"there is no model {name!r}; there are {', '.join(row.name for row in MODELS)}.")


def model_for(data: Any) -> ModelRow:
    """Return the row of the first model for such data.

    Raises
    ------
    ParameterError
        No model is for such data.
    """
    for row in MODELS:
        if isinstance(data, row.data_type):
            return row
    kinds = ", ".join(dict.fromkeys(row.data_type.__name__.lower() for row in MODELS))
    raise ParameterError(f"there is no model for a {type(data).__name__}; there are models for: {kinds}.")


def method_row(model: str, name: str) -> Method:
    """Return a method's row.

    Raises
    ------
    ParameterError
        No such model or method.
    """
    rows = methods_of(model)
    for row in rows:
        if row.name == name:
            return row
    raise ParameterError(
        f"model {model!r} has no method {name!r}; it has {', '.join(row.name for row in rows)}."
    )


def methods_of(model: str) -> tuple[Method, ...]:
    """Return the rows of a model's methods."""
    model_row(model)
    return tuple(row for row in METHODS if row.model == model)
