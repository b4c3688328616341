"""The latent feature models' methods, their parameters and measures: the rows of the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from acvb_core.core.display import CHANGE, HeldOutScore, Measure, ModelDisplay, write_number
from acvb_core.core.parameters import Parameter
from acvb_core.core.protocols import Algorithm
from acvb_core.core.spec import (
    PRESET,
    MethodSpec,
    ModelSpec,
    Paper,
    Values,
    burn_in,
    max_sweeps,
    references_to,
)

if TYPE_CHECKING:
    from acvb_core.data.table import Table


_CELL = "%{y:.4f} nats per cell"
DISPLAY = ModelDisplay(
    (
        Measure(
            "bound", "Lower bound per object", "bound_per_unit", 1, "%{y:,.4f} nats per object", marked=True
        ),
        Measure("heldout", "Held-out log likelihood per cell", "heldout_log_likelihood", 6, _CELL),
        CHANGE,
        Measure("train", "Training log likelihood per cell", "train_log_likelihood", 2, _CELL),
        Measure("k_features", "Features in use", "effective_k_features", 4, step=True, small=True),
        Measure("noise", "Noise", "noise", 5, "noise %{y:.4g} sd", small=True),
    ),
    HeldOutScore(
        "log likelihood",
        "log_likelihood",
        write_number,
        baseline="means_log_likelihood",
        baseline_name="column means",
    ),
    parts=("feature", "features"),
    to_predict="IBP or fewer features",
    question="Which features do the objects have, and what do these add to the columns?",
    part="feature",
    unmarked=("lower_bound",),
    unmarked_reason="Lower bounds are never shaded. They differ in meaning between methods and numbers of features; "
    "held-out scores can be compared. The table shows the total bound, the curves the bound per object.",
    styles={
        "fab": ("#1B7837", "24px,2px"),
        "em": ("#C51B7D", "4px,4px"),
        "ibp": ("#7A6A00", "16px,2px,2px,2px"),
        "meibp": ("#00A0B0", "7px,2px,2px,2px,2px,2px"),
    },
)


def most_features(table: Table, values: Values) -> int:
    """Return the number of features a run begins with, or may have at most."""
    return int(values["k_max"]) or min(table.shape)


def sweep_seconds(table: Table, method: str, values: Values) -> float:
    """Return about how long a sweep takes: 10 ns of an idle processor for a feature of a cell.

    Where no number is given, starts seldom find more than fifty.
    """
    k = int(values["k_max"]) or min(*table.shape, 50)
    return 1e-8 * table.n_rows * table.n_columns * k


def memory_bytes(table: Table, method: str, values: Values) -> int:
    """Return the peak memory of a run in bytes, beyond the table.

    Counted at the most features, for E[z] before, now and in the making, and their products; the standardised cells
    of method and model; and for missing cells, which are known, the residual and its change. MEIBP keeps a residual
    for its tries, IBP the covariance of the weights of every column.
    """
    n, d = table.shape
    k = most_features(table, values)
    cells = (3 if not table.n_missing else 6) * n * d
    if method == "meibp":
        cells += 2 * n * d
    covariances = 3 * (k + 1) ** 2 * d if method == "ibp" else 0
    return 8 * (cells + 6 * n * k + 4 * k * d + k * k + covariances)


def _schedule(train: Any, heldout: Any, method: MethodSpec, values: Values) -> tuple[int, int]:
    n_heldout = 0 if heldout is None else heldout.n
    k = most_features(train, values)
    return 1 if train.values.size * k < 50_000_000 else 5, 1 if n_heldout * k < 5_000_000 else 5


#: Least noise of a column, as a share of its standard deviation, for methods that fit it as a point. Without it, a
#: column that features explain to the last digit would have no noise, and its bound no limit.
NOISE_FLOOR = 0.05


LFM = ModelSpec(
    "lfm",
    "Latent feature model",
    "lfm",
    "a table: numbers that describe objects, some of which may be missing",
    references_to("models.lfm.model")("LfmModel"),
    {"features": "features"},
    memory_bytes,
    references_to("data.table")("Table"),
    references_to("evaluate.split")("hold_out_cells"),
    _schedule,
    128,  # densities and means in extended precision, and the arrays they are computed from
    {},
    {"features": "k_max"},
    DISPLAY,
    references_to("evaluate.heldout")("CellScore"),
    raced_by="heldout",
    bound_unit=lambda table: float(table.n_rows),
    observed=lambda table: table.n_observed,
    unit=("cell", "cells"),
    count_alike=references_to("models.lfm.features")("count_alike_features"),
    sweep_seconds=sweep_seconds,
    limits=lambda table, values: {"features": values["k_max"]},
)
#: Help of each setting.
_HELP = {
    "k_max": "Maximum number of features, and the number to start with; those not needed die out. 0: the method takes "
    "what its start finds, or the smaller of the numbers of objects and columns.",
    "noise_floor": "Smallest noise of a column, as a share of its standard deviation. Lower it for columns that are "
    "measured more exactly. If it is too low, columns with few different values seem to have no noise, so that any "
    "other value becomes impossible.",
    "tol": "A run has converged when the lower bound rises by less than this for each object in a sweep that keeps the "
    "number of features.",
    "init": "Where the run starts. auto: ica, or random if there is little noise or there are few columns; a table of "
    "fewer than 500 objects and at most 100 columns is also run from a random start, and the start that ends at the "
    "higher bound is kept. This takes about three times as long as one start. ica: "
    "from the independent components of the columns above the noise, up to the maximum number of features. "
    "random: from as many random features as there are objects or columns, "
    "whichever are fewer. binary: the same, each object with or without each feature.",
    "mode": "How features are charged. dof: each column's noise loses one degree of freedom for every feature. "
    "paper: the paper's form, without this charge.",
    "warmup": "Plain sweeps before the shrinking is accelerated; accelerating random features drops too many.",
    "accelerate": "Bring each feature and its share to their common fixed point in every sweep, so that features that "
    "are not needed die at once.",
    "merge": "At convergence, merge, drop or separate features if that raises the lower bound.",
    "moves": "all: merge, drop, turn and separate features. merge: merge them only, as in the paper.",
    "prior": "Expected number of features of an object, before the data are seen: a feature's share has the prior "
    "Beta(alpha / k_max, 1).",
    "noise_weight": "Weight of the prior belief that a column is all noise, as a share of its known cells. If it is "
    "too small, a column that some features follow closely seems to have no noise.",
    "alpha": "Expected number of features of an object at the start; the value is learned.",
    "learn_alpha": "Draw alpha in every sweep; otherwise it stays at its start value.",
    "noise": "columns: each column has its own noise. one: all columns share it.",
    "noise_sd": "Standard deviation of the noise, in those of a column, where it is known; 0: it is drawn.",
    "meibp_init": "empty: without features, which are added one by one. random: from the maximum number of them, each "
    "with a random half of the objects, and those that no object needs are dropped, as in the paper.",
    "sizes": "one: one run from the largest number, from which features that are not needed die. each: a run from "
    "every number, 2 and up, one after the other, and the one with the highest bound answers, as in the paper.",
    "answer": "mean: the mean of the kept samples. best: the most probable of all samples, as in the paper.",
    "burn_in": "Sweeps that are not kept; in them the sampler drops features that the others can replace.",
}
SIZE = Parameter(
    "k_max", "int", 0, _HELP["k_max"], "Maximum features (0: automatic)", 0, 5000, advanced=False
)
_FLOOR = Parameter("noise_floor", "float", NOISE_FLOOR, _HELP["noise_floor"], "Smallest noise", 1e-6, 1.0)
TOLERANCE = Parameter("tol", "float", 1e-4, _HELP["tol"], "Tolerance", 1e-12, 1.0)
_LIMITS = (max_sweeps(2000), TOLERANCE)
_FAB = (
    Parameter("init", "choice", "auto", _HELP["init"], "Start", choices=("auto", "ica", "random", "binary")),
    Parameter("mode", "choice", "dof", _HELP["mode"], "Criterion", choices=("dof", "paper")),
    Parameter("warmup", "int", 5, _HELP["warmup"], "Warm-up sweeps", 0, 10_000),
    Parameter("accelerate", "bool", True, _HELP["accelerate"], "Accelerate the shrinking"),
    Parameter("merge", "bool", True, _HELP["merge"], "Merge features"),
    Parameter("moves", "choice", "all", _HELP["moves"], "Moves at convergence", choices=("all", "merge")),
)
_VB = (
    Parameter("sizes", "choice", "one", _HELP["sizes"], "Runs", choices=("one", "each")),
    Parameter("alpha", "float", 1.0, _HELP["prior"], "Features of an object (alpha)", 1e-6, 1e6),
    Parameter("noise_weight", "float", 0.1, _HELP["noise_weight"], "Weight of the noise's prior", 1e-6, 1e3),
)
_LEARN_ALPHA = Parameter("learn_alpha", "bool", True, _HELP["learn_alpha"], "Learn alpha")
_PROCESS = (
    Parameter("alpha", "float", 1.0, _HELP["alpha"], "Features of an object (alpha)", 1e-2, 1e3),
    Parameter("noise", "choice", "columns", _HELP["noise"], "Noise", choices=("columns", "one")),
)
_NOISE_SD = Parameter("noise_sd", "float", 0.0, _HELP["noise_sd"], "Noise held at", 0.0, 10.0)
_MEIBP_START = Parameter("init", "choice", "empty", _HELP["meibp_init"], "Start", choices=("empty", "random"))
_ANSWER = Parameter("answer", "choice", "mean", _HELP["answer"], "Answer", choices=("mean", "best"))


def _method(
    name: str,
    summary: str,
    reference: str,
    parameters: tuple[Parameter, ...],
    build: Callable[[Any, Values], Algorithm],
    paper: Paper,
    *,
    sampled: bool = False,
) -> MethodSpec:
    """Return the row of a method; a sampler monitors nothing."""
    shown = (name, name.upper(), summary, reference, (SIZE, *parameters, PRESET), build)
    monitored: Literal["lower_bound"] | None = None if sampled else "lower_bound"
    return MethodSpec("lfm", *shown, monitored, sampled=sampled, bound_per="object", paper=paper)


_FLOORLESS: Values = {"noise_floor": 1e-6}
_FAB_PAPER = Paper(
    "HF13 §2.2, §3 and §4, Algorithms 1 and 2",
    {**_FLOORLESS, "init": "random", "mode": "paper", "warmup": 0, "accelerate": True, "moves": "merge", "tol": 1e-4},
    "The paper's words for its start, random and uniform by 0 and 1, mean U(0, 1) here; init binary is the other "
    "reading. By default a run starts from independent components, where that suits the table, after some plain "
    "sweeps, and noise loses a degree of freedom for every feature: from a random start the acceleration drops "
    "features that the data have. At convergence features are also dropped, turned and separated. A column's noise "
    "has a floor. In both, a feature with less than one object is dropped, and the steps begin with the acceleration, "
    "not with W.",
)  # fmt: skip
_EM_PAPER = Paper(
    "HF13 §2.2 and §4", _FLOORLESS, "By default a column's noise has a floor, so that no column seems to have none.",
)  # fmt: skip
_VB_PAPER = Paper(
    "HF13 §4, after Doshi-Velez et al. 2009", {"alpha": 1.0, "sizes": "each", "max_sweeps": 100_000},
    "By default there is one run from the largest number of features, from which superfluous ones die: it costs a "
    "fraction of the runs from K = 2, ..., D. In both, noise and the weights' prior are learned; the paper fixes the "
    "noise at its true value.",
)  # fmt: skip
_IBP_PAPER = Paper(
    "HF13 §4, after Doshi-Velez and Ghahramani 2009",
    {"alpha": 3.0, "learn_alpha": False, "noise": "one", "noise_sd": 0.75, "answer": "best"},
    "By default alpha and the noise of each column are drawn, as nobody knows them, and the mean of the samples "
    "answers, which predicts better than any one of them. In both, the variance of the weights is drawn, and in the "
    "burn-in the sampler drops features that the others can replace.",
)  # fmt: skip
_MEIBP_PAPER = Paper(
    "HF13 §4, after Reed and Ghahramani 2013", {"alpha": 3.0, "noise": "one", "init": "random"},
    "By default a run begins without features and adds them, which ends at a higher bound; alpha begins at 1, and "
    "every column has its own noise. In both, alpha and the noise are learned, and columns have baselines.",
)  # fmt: skip
MODELS = (LFM,)
METHODS = (
    _method(
        "fab",
        "Factorized asymptotic Bayes: EM with an information criterion in each step, which shrinks superfluous "
        "features until they die, and so finds their number.",
        "Hayashi, Fujimaki, NIPS 26 (2013), Alg. 1 and 2",
        (*_FAB, _FLOOR, *_LIMITS),
        references_to("models.lfm.fab")("build_fab"),
        _FAB_PAPER,
    ),
    _method(
        "em",
        "The same without the criterion: it uses all the features that it starts with.",
        "Hayashi, Fujimaki, NIPS 26 (2013), §5",
        (_FLOOR, *_LIMITS),
        references_to("models.lfm.fab")("build_em"),
        _EM_PAPER,
    ),
    _method(
        "vb",
        "Variational Bayes with a finite beta-Bernoulli prior: its lower bound never falls, superfluous features die "
        "out.",
        "Doshi-Velez, Miller, Van Gael, Teh, AISTATS 2009, finite approximation",
        (*_VB, *_LIMITS),
        references_to("models.lfm.vb")("build_vb"),
        _VB_PAPER,
    ),
    _method(
        "ibp",
        "Accelerated Gibbs sampling under the Indian buffet process: samples the posterior of the features, predicts "
        "with the mean of the kept samples, runs for a given number of sweeps.",
        "Doshi-Velez, Ghahramani, ICML 2009",
        (*_PROCESS, _LEARN_ALPHA, _NOISE_SD, _ANSWER, burn_in(100, 0, _HELP["burn_in"]), max_sweeps(400)),
        references_to("models.lfm.ibp")("build_ibp"),
        _IBP_PAPER,
        sampled=True,
    ),
    _method(
        "meibp",
        "Features that only add: weights are not negative, and submodular maximisation of a lower bound chooses each "
        "object's features.",
        "Reed, Ghahramani, ICML 2013",
        (*_PROCESS, _MEIBP_START, *_LIMITS),
        references_to("models.lfm.meibp")("build_meibp"),
        _MEIBP_PAPER,
    ),
)
