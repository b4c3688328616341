"""CVB0, ACVB0 and VB of relations and networks: over shards where the settings ask for them."""

from __future__ import annotations

from typing import Any

from acvb_core.core.averaging import AveragedInference
from acvb_core.core.errors import ParameterError
from acvb_core.core.rows import SHARDS, Values
from acvb_core.models.irm import cvb, vb
from acvb_core.models.irm.cvb import CollapsedIrm
from acvb_core.models.irm.sweeping import average_sweeps, read_variational_settings
from acvb_core.models.irm.sweeps.sharded import ShardedIrm
from acvb_core.models.irm.sweeps.sharded_network import ShardedNetwork
from acvb_core.models.irm.sweeps.sharded_vb import ShardedVb


def build_cvb0(data: Any, values: Values) -> CollapsedIrm:
    """Return CVB0 on data, over shards where the values of its parameters say so."""
    if not values.get(SHARDS):
        return cvb.build_cvb0(data, values)
    if values["schedule"] == "paper":
        raise ParameterError(
            "Order of the updates (schedule) 'paper' takes one object after another; leave Shards (shards) at 0."
        )
    settings = read_variational_settings(data, values)
    sharded = ShardedNetwork if settings["layout"].one_domain else ShardedIrm
    return sharded(**settings, n_shards=values[SHARDS])


def build_acvb0(data: Any, values: Values) -> AveragedInference:
    """Return ACVB0; the rest as for CVB0."""
    return average_sweeps(build_cvb0(data, values), values)


def build_vb(data: Any, values: Values) -> vb.VariationalIrm:
    """Return VB on data, over shards where the values of its parameters say so."""
    if not values.get(SHARDS):
        return vb.build_vb(data, values)
    return ShardedVb(**read_variational_settings(data, values), n_shards=values[SHARDS])
