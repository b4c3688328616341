"""Methods that stream, built on data with the values of their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.errors import ParameterError
from acvb_core.core.rows import SHARDS, Values
from acvb_core.models.lda.hyper import Concentrations, check_concentrations
from acvb_core.models.lda.sharded.parts import cut
from acvb_core.models.lda.streams.kernels_prior import BOUND, FIXED, LEFT_TO_RIGHT, PAPER
from acvb_core.models.lda.streams.limits import fit_turn, fit_window
from acvb_core.models.lda.streams.scvb0 import StochasticCvb0
from acvb_core.models.lda.streams.sdm import DivergenceMinimisation
from acvb_core.models.lda.streams.sharded import ShardedStream
from acvb_core.models.lda.streams.source import as_source
from acvb_core.models.lda.streams.stream import StreamMethod
from acvb_core.models.lda.streams.svb import StochasticVb
from acvb_core.models.lda.trained import TrainedTopics

_RULES = {"symmetric": FIXED, "left_to_right": LEFT_TO_RIGHT, "paper": PAPER, "bound": BOUND}


def _common(data: Any, values: Values, start: Concentrations) -> dict[str, Any]:
    return {
        "source": as_source(data),
        "n_topics": values["k"],
        "start": start,
        "rule": _RULES[values["prior"]],
        "window": values["window"],
        "shuffle": values["shuffle"],
        "known": values["totals"] == "corpus",
    }


def _minibatch(values: Values) -> dict[str, Any]:
    return {
        "documents": values["batch"],
        "scale": values["step_scale"],
        "offset": values["step_offset"],
        "power": values["step_power"],
    }


def _sdm(values: Values, **common: Any) -> StreamMethod:
    return DivergenceMinimisation(
        **common, passes=values["passes"], power=values["step_power"], renew=values["renew"],
        early_passes=values["early_passes"], documents=values["batch"],
    )  # fmt: skip


def _scvb0(values: Values, **common: Any) -> StreamMethod:
    return StochasticCvb0(
        **common, **_minibatch(values), inner_scale=values["inner_scale"],
        inner_offset=values["inner_offset"], inner_power=values["inner_power"], burn_in_passes=values["passes"],
    )  # fmt: skip


def _svb(values: Values, **common: Any) -> StreamMethod:
    return StochasticVb(**common, **_minibatch(values), inner=values["inner"])


def build_stream(name: str, data: Any, values: Values) -> Any:
    """Return a method that streams (sdm, scvb0 or svb) with the values of its parameters, averaged if they say so."""
    common = _common(data, values, Concentrations.of_values(values))
    return _average(_spread(_METHODS[name](values, **common), data, values), data, values)


def continue_stream(name: str, data: Any, values: Values, trained: TrainedTopics) -> Any:
    """Return the same, to go on from trained topics."""
    common = _common(data, values, trained.concentrations)
    return _average(_spread(_METHODS[name](values, **common, trained=trained), data, values), data, values)


def check_settings(data: Any, values: Values) -> None:
    """Raise ParameterError where alpha is too small, or a stream over shards is to guess its size."""
    check_concentrations(data, values)
    if values.get(SHARDS) and values["totals"] != "corpus":
        raise ParameterError(
            f"totals is {values['totals']!r}; over shards the size of the stream must be that of the corpus."
        )


def count_windows(data: Any, values: Values, epochs: float) -> int:
    """Return how many windows it takes to go through the documents so often."""
    whole, rest = divmod(epochs, 1.0)
    n, batch, merges, n_shards = as_source(data).n_documents, values["batch"], 1, values.get(SHARDS) or 0
    read = fit_window(n, values["window"], batch)
    if n_shards:  # by the largest of them
        n, merges = max(part.n_documents for part in cut(data, n_shards)), values["merges"]
        read = fit_turn(read, batch, n_shards * merges)
    turns, part = -(-n // read), int(np.ceil(rest * n / (read * merges) - 1e-6))
    return max(int(whole) * -(-turns // merges) + part, 1)


_METHODS = {"sdm": _sdm, "scvb0": _scvb0, "svb": _svb}


def _spread(method: StreamMethod, data: Any, values: Values) -> StreamMethod | ShardedStream:
    """Return the method over shards where the settings ask for them."""
    if not values.get(SHARDS):
        return method
    return ShardedStream(method, data, values[SHARDS], values["merges"])


def _average(method: StreamMethod | ShardedStream, data: Any, values: Values) -> Any:
    if "burn_in_epochs" not in values:
        return method
    return AveragedAlgorithm(method, count_windows(data, values, values["burn_in_epochs"]), track=False)
