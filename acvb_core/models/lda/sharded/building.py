"""CVB0, ACVB0 and VB on data: over shards where the settings, or the data, ask for them."""

from __future__ import annotations

from typing import Any

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Algorithm
from acvb_core.core.rows import SHARDS, Values
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.cvb import build_collapsed
from acvb_core.models.lda.hyper import check_concentrations
from acvb_core.models.lda.sharded.costs import shards_needed
from acvb_core.models.lda.sharded.methods import spread_cvb0, spread_vb
from acvb_core.models.lda.trained import TrainedTopics
from acvb_core.models.lda.vb import build_vb as build_whole_vb


def build_cvb0(data: Any, values: Values, trained: TrainedTopics | None = None) -> Algorithm:
    """Return CVB0, to go on from trained topics if any are given."""
    n_shards = _count_shards(data, values)
    if n_shards:
        return spread_cvb0(data, values, n_shards, trained)
    return build_collapsed("zeroth", data, values, trained)


def build_acvb0(data: Any, values: Values, trained: TrainedTopics | None = None) -> AveragedAlgorithm:
    """Return ACVB0; the rest as for CVB0."""
    return AveragedAlgorithm(build_cvb0(data, values, trained), values["burn_in"], values["track"])


def build_vb(data: Any, values: Values) -> Algorithm:
    """Return VB."""
    n_shards = _count_shards(data, values)
    return spread_vb(data, values, n_shards) if n_shards else build_whole_vb(data, values)


def check_settings(data: Any, values: Values) -> None:
    """Raise ParameterError where alpha is too small, or runs over shards do not have a setting."""
    check_concentrations(data, values)
    if not (values[SHARDS] or isinstance(data, DiskCorpus)):
        return
    for name, label, usual in (
        ("hyper", "Learning of alpha and beta", ("minka", "fixed")),
        ("init", "Start", ("even",)),
    ):
        if values.get(name, usual[0]) not in usual:
            raise ParameterError(
                f"{label} ({name}) is {values[name]!r}; over shards it must be {' or '.join(usual)}."
            )


def _count_shards(data: Any, values: Values) -> int:
    """Return how many shards there are to be; 0 where the data are not cut."""
    on_disk = isinstance(data, DiskCorpus)
    return int(values[SHARDS]) or (shards_needed(data, values) if on_disk else 0)
