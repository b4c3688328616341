"""Rows of the registry are complete, and their settings refuse wrong values by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import Parameter
from acvb_core.core.spec import MethodSpec
from acvb_core.registry import method_row, model_row

from .cases import every_method


@every_method
def test_row_is_complete(row: MethodSpec) -> None:
    assert method_row(row.model, row.name) is row
    assert row.summary.endswith(".")
    assert row.label
    assert row.reference
    assert row.describe_convergence()
    assert (row.bound_per != "") == (model_row(row.model).bound_unit is not None)
    names = [p.name for p in row.parameters]
    assert len(set(names)) == len(names)
    assert (("max_sweeps" in names), ("epochs" in names)) == (not row.streams, row.streams)
    assert ("tol" in names) == (row.monitored is not None)
    assert row.averaged == (row.monitored == "mean_change")
    if row.averaged or row.sampled:
        assert ("burn_in_epochs" if row.streams else "burn_in") in names
    assert {tuned.name for tuned in row.tuned} <= set(names)


@every_method
def test_defaults_pass_their_own_check(row: MethodSpec) -> None:
    types = {"int": int, "float": float, "choice": str, "bool": bool}
    for parameter in row.parameters:
        checked = parameter.check(parameter.default)
        assert (checked, type(checked)) == (parameter.default, types[parameter.kind]), parameter.name
        assert row.values({})[parameter.name] == parameter.default
        assert parameter.help, parameter.name
        assert parameter.label, parameter.name


def wrong_values(parameter: Parameter) -> list[Any]:
    if parameter.kind == "choice":
        return ["no such choice", None, 3]
    if parameter.kind == "bool":
        return ["yes", 1, None]
    wrong = ["many", None, float("nan"), float("inf"), float("-inf")]
    wrong += [] if parameter.low is None else [parameter.low - 1]
    wrong += [] if parameter.high is None else [parameter.high * 2 + 1]
    return wrong + ([1.5] if parameter.kind == "int" else [])


@every_method
def test_wrong_values_are_refused_by_name(row: MethodSpec) -> None:
    with pytest.raises(
        ParameterError, match=r"'clusters'.*" + ", ".join(sorted(p.name for p in row.parameters))
    ):
        row.values({"clusters": 3})
    for parameter in row.parameters:
        for value in wrong_values(parameter):
            with pytest.raises(ParameterError) as caught:
                row.values({parameter.name: value})
            message = str(caught.value)
            assert parameter.name in message
            assert repr(value) in message or not np.isfinite(value), message
            in_range = parameter.kind in ("int", "float") and value not in ("many", None, 1.5)
            if parameter.kind == "choice" or (in_range and np.isfinite(value)):
                assert parameter.range_text() in message
