"""Rows of the registry are complete, and their settings refuse wrong values by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import Parameter
from acvb_core.core.spec import MethodSpec
from acvb_core.registry import METHODS, method_row, model_row
from tests.loops import for_each

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
    assert ("max_sweeps" in names) is not row.streams
    assert ("epochs" in names) is row.streams
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
        assert checked == parameter.default, parameter.name
        assert type(checked) is types[parameter.kind], parameter.name
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


@every_method
def test_unknown_setting_is_refused_with_those_there_are(row: MethodSpec) -> None:
    with pytest.raises(ParameterError) as caught:
        row.values({"clusters": 3})
    assert "'clusters'" in str(caught.value)
    assert all(p.name in str(caught.value) for p in row.parameters)


@for_each("monitored", ["lower_bound", "pseudo_loo", "mean_change", None])
def test_changes_per_object_are_called_so(monitored: Any) -> None:
    row = replace(METHODS[0], monitored=monitored)
    own, per_object = row.describe_convergence(), replace(row, bound_per="object").describe_convergence()
    if monitored in ("lower_bound", "pseudo_loo"):
        assert own.startswith("relative change of the ")
        assert per_object == f"{own.removeprefix('relative ')} per object"
    else:
        assert own == per_object
