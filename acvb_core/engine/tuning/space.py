"""The parameters that a search tunes, as a unit cube."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import Parameter
from acvb_core.core.rows import Method, Range

#: Evenly spread trials before the first that is chosen: this many, and one a parameter.
_FIRST = 2
#: Digits of the values that are tried, few enough that a table shows all of them.
_DIGITS = 4


@dataclass(frozen=True)
class Space:
    """Parameters and their ranges."""

    parameters: tuple[Parameter, ...]
    ranges: tuple[Range, ...]  #: of the same parameters, in the same order

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(one.name for one in self.ranges)

    @property
    def dimensions(self) -> int:
        """Number of parameters."""
        return len(self.ranges)

    @property
    def n_first(self) -> int:
        """Number of evenly spread trials after that of the defaults."""
        return _FIRST + self.dimensions

    @property
    def defaults(self) -> dict[str, float]:
        """The method's own values."""
        return {one.name: float(one.default) for one in self.parameters}

    def values(self, point: NDArray[np.float64]) -> dict[str, float]:
        """Return the values at a point of the cube, shape (dimensions,), in few digits."""
        pairs = zip(self.parameters, self.ranges, point.tolist(), strict=True)
        return {parameter.name: _value_at(parameter, one, at) for parameter, one, at in pairs}

    def point(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return where values lie in the cube, shape (dimensions,); outside it those that are not in their range."""
        return np.array([_position_of(one, values[one.name]) for one in self.ranges])

    def holds(self, values: Mapping[str, float]) -> bool:
        """Return whether all values are in their range. A default may not be, such as a 0 that stands for a rule."""
        return all(one.low <= values[one.name] <= one.high for one in self.ranges)


def build_search_space(row: Method, ranges: Sequence[Range], held: Collection[str] = ()) -> Space:
    """Return the parameters of a method that are tuned: those with a range that are not held.

    Raises ParameterError: a range is empty, not allowed, or not of a number of the method; or nothing is left to tune.
    """
    known = {parameter.name: parameter for parameter in row.parameters}
    chosen = tuple(one for one in ranges if one.name not in held)
    for one in chosen:
        if one.name not in known:
            raise ParameterError(
                f"method {row.name!r} has no setting {one.name!r}; it has {', '.join(sorted(known))}."
            )
        _check(known[one.name], one)
    if not chosen:
        why = "all settings that could be tuned are given" if ranges else "it has no steps"
        raise ParameterError(f"method {row.name!r} has nothing to tune: {why}.")
    return Space(tuple(known[one.name] for one in chosen), chosen)


def _check(parameter: Parameter, one: Range) -> None:
    if parameter.kind not in ("int", "float"):
        raise ParameterError(f"{one.name} is not a number; only numbers are tuned.")
    if not (math.isfinite(one.low) and math.isfinite(one.high) and one.low < one.high):
        raise ParameterError(
            f"The range of {one.name} is from {one.low:g} to {one.high:g}; it must go upwards."
        )
    if one.log and one.low <= 0:
        raise ParameterError(
            f"The range of {one.name} begins at {one.low:g}; on a logarithmic scale it must begin above 0."
        )
    for end in (one.low, one.high):
        parameter.check(end)


def _value_at(parameter: Parameter, one: Range, at: float) -> float:
    if one.log:
        value = one.low * (one.high / one.low) ** at
    else:
        value = one.low + at * (one.high - one.low)
    value = round(value) if parameter.kind == "int" else float(f"{value:.{_DIGITS}g}")
    return float(min(max(value, one.low), one.high))


def _position_of(one: Range, value: float) -> float:
    if one.log:
        return math.log(value / one.low) / math.log(one.high / one.low)
    return (value - one.low) / (one.high - one.low)
