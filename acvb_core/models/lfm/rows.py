"""The registry's rows of latent features."""

from __future__ import annotations

from typing import Any

from acvb_core.core.parameters import Parameter
from acvb_core.core.protocols import Model
from acvb_core.core.rows import Method, ModelRow, Values, burn_in, max_sweeps
from acvb_core.data.split import hold_out_cells
from acvb_core.data.table import Table
from acvb_core.models.lfm.cells import NOISE_FLOOR, Cells
from acvb_core.models.lfm.display import DISPLAY
from acvb_core.models.lfm.fab.fab import Fab
from acvb_core.models.lfm.feature_mean import FeatureMean
from acvb_core.models.lfm.ibp.ibp import IbpGibbs
from acvb_core.models.lfm.meibp.meibp import SubmodularIbp
from acvb_core.models.lfm.memory import memory_bytes, most_features
from acvb_core.models.lfm.model import LfmModel
from acvb_core.models.lfm.state import Penalty
from acvb_core.models.lfm.vb.vb import VariationalLfm


def _model(table: Any) -> Model:
    return LfmModel(table)


def _n_objects(table: Any) -> float:
    return float(table.n_rows)


def _schedule(train: Any, heldout: Any, method: Method, values: Values) -> tuple[int, int]:
    n_heldout = 0 if heldout is None else heldout.n
    k = most_features(train, values)
    return 1 if train.values.size * k < 50_000_000 else 5, 1 if n_heldout * k < 5_000_000 else 5


LFM = ModelRow(
    "lfm",
    "Latent feature model",
    "lfm",
    "a table: numbers that describe objects, some of which may be missing",
    _model,
    {"features": "features"},
    memory_bytes,
    Table,
    hold_out_cells,
    _schedule,
    128,  # densities and means in extended precision, and what they are made of
    {},
    {"features": "k_max"},
    DISPLAY,
    raced_by="heldout",
    bound_unit=_n_objects,
    observed=lambda table: table.n_observed,
    unit=("cell", "cells"),
)

SIZE = Parameter(
    "k_max", "int", 0, "Features to begin with, or at most; those that are not needed die out. 0 leaves it to the "
    "method: what its start finds, or the smaller of the numbers of objects and columns.",
    "Features at most (0: auto)", 0, 5000, advanced=False,
)  # fmt: skip

_FLOOR = Parameter(
    "noise_floor", "float", NOISE_FLOOR, "The noise of a column is taken to be at least this share of its standard "
    "deviation. Lower it for columns that are measured more exactly; with less, columns of few different values are "
    "taken for free of noise, and any other value for impossible.", "Least noise", 1e-6, 1.0,
)  # fmt: skip

TOLERANCE = Parameter(
    "tol", "float", 1e-4, "A run has converged when the lower bound rises by less than this for each object in a "
    "sweep that left the number of features as it was.", "Tolerance", 1e-12, 1.0,
)  # fmt: skip

_FAB = (
    Parameter(
        "init", "choice", "ica",
        "Where to start: from the independent components of the columns, as many as stand out of the noise (or as the "
        "features at most), or from random features, as many as the smaller of the numbers of objects and columns.",
        "Start",
        choices=("ica", "random"),
    ),
    Parameter(
        "mode", "choice", "dof",
        "The criterion: with the noise precision's part in it, so that each column's noise loses a degree of freedom "
        "for every feature (dof), or as the paper has it, without.", "Criterion", choices=("dof", "paper"),
    ),
    Parameter(
        "warmup", "int", 5, "Plain sweeps before the shrinkage is accelerated: from random features, it drops too "
        "many.",
        "Warm-up sweeps", 0, 10_000,
    ),
    Parameter(
        "accelerate", "bool", True, "Bring each feature and its share to their common fixed point in every sweep, so "
        "that features that are not needed die at once.", "Accelerate the shrinkage",
    ),
    Parameter(
        "merge", "bool", True, "At convergence, put features together, leave them out, or tell two mixed ones apart, "
        "when that raises the lower bound.",
        "Merge features",
    ),
)  # fmt: skip


def _fab(data: Any, values: Values) -> Fab:
    return Fab(
        Cells.of(data, values["noise_floor"]),
        values["k_max"],
        Penalty(True, values["mode"] == "dof"),
        values["warmup"],
        values["accelerate"],
        values["merge"],
        values["tol"],
        values["init"],
    )


def _em(data: Any, values: Values) -> Fab:
    cells = Cells.of(data, values["noise_floor"])
    return Fab(cells, values["k_max"], Penalty(False), 0, False, False, values["tol"], "random")


_VB = (
    Parameter(
        "alpha", "float", 1.0, "Expected features of an object, before the data are seen: a feature's share has the "
        "prior Beta(alpha / k_max, 1).", "Features of an object (alpha)", 1e-6, 1e6,
    ),
    Parameter(
        "noise_weight", "float", 0.1, "Weight of the prior belief that a column is all noise, as a share of its known "
        "cells: with less, a column that some features follow closely is taken for free of noise.",
        "Weight of the noise's prior", 1e-6, 1e3,
    ),
)  # fmt: skip


def _vb(data: Any, values: Values) -> VariationalLfm:
    return VariationalLfm(Cells.of(data), values["k_max"], values["alpha"], values["noise_weight"])


_ALPHA = Parameter(
    "alpha", "float", 1.0, "How many features an object has, to start from; the value is learned.",
    "Features of an object (alpha)", 1e-2, 1e3,
)  # fmt: skip

_NOISE = Parameter(
    "noise", "choice", "columns", "A noise variance for each column, or one for all.", "Noise",
    choices=("columns", "one"),
)  # fmt: skip

_IBP = (
    _ALPHA,
    _NOISE,
    burn_in(100, 0, "Sweeps that are not kept; features that the others can make up for are left out in them."),
)  # fmt: skip


def _ibp(data: Any, values: Values) -> FeatureMean:
    burn = values["burn_in"]
    return FeatureMean(
        IbpGibbs(Cells.of(data), values["k_max"], values["alpha"], values["noise"], burn), burn
    )


def _meibp(data: Any, values: Values) -> SubmodularIbp:
    return SubmodularIbp(Cells.of(data), values["k_max"], values["alpha"], values["noise"])


LFM_METHODS = (
    Method(
        "lfm", "fab", "FAB",
        "Factorized asymptotic Bayes: EM with an information criterion in each step, which shrinks the features that "
        "are not needed until they die; their number is found.",
        "Hayashi, Fujimaki, NIPS 26 (2013), Alg. 1 and 2",
        (SIZE, *_FAB, _FLOOR, max_sweeps(2000), TOLERANCE), _fab, "lower_bound", bound_per="object",
    ),
    Method(
        "lfm", "em", "EM",
        "The same without the criterion: as many features as it is given, all of which it uses.",
        "Hayashi, Fujimaki, NIPS 26 (2013), §5",
        (SIZE, _FLOOR, max_sweeps(2000), TOLERANCE), _em, "lower_bound", bound_per="object",
    ),
    Method(
        "lfm", "vb", "VB",
        "Variational Bayes with a finite beta-Bernoulli prior: its lower bound never falls, features that are not "
        "needed die out.",
        "Doshi-Velez, Miller, Van Gael, Teh, AISTATS 2009, finite approximation",
        (SIZE, *_VB, max_sweeps(2000), TOLERANCE), _vb, "lower_bound", bound_per="object",
    ),
    Method(
        "lfm", "ibp", "IBP",
        "Accelerated Gibbs sampling under the Indian buffet process: samples the posterior of the features, predicts "
        "with the mean of the kept samples, runs as long as it is told.",
        "Doshi-Velez, Ghahramani, ICML 2009",
        (SIZE, *_IBP, max_sweeps(400)), _ibp, None, sampled=True, bound_per="object",
    ),
    Method(
        "lfm", "meibp", "MEIBP",
        "Features that only add: weights are not negative, and each object's features are chosen by submodular "
        "maximisation of a lower bound.",
        "Reed, Ghahramani, ICML 2013",
        (SIZE, _ALPHA, _NOISE, max_sweeps(2000), TOLERANCE), _meibp, "lower_bound", bound_per="object",
    ),
)  # fmt: skip
