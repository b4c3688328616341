"""A setting a user can change: its type, range, default and help. Forms, flags and tables are made from it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from acvb_core.core.errors import ParameterError

Value = int | float | str | bool


@dataclass(frozen=True)
class Parameter:
    """One setting."""

    name: str  #: Python name; the command line uses it with dashes
    kind: Literal["int", "float", "choice", "bool"]
    default: Value
    help: str  #: one or two sentences in plain words
    label: str  #: short name for forms
    #: `low`, `high`: inclusive range of a number.
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()  #: for kind "choice"
    advanced: bool = True  #: kept out of sight until asked for

    @property
    def flag(self) -> str:
        """Name on the command line."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: Any) -> Value:
        """Return `value` in the parameter's type.

        Raises ParameterError: it is of another type or out of range; the message says what is allowed.
        """
        if self.kind == "choice":
            if value not in self.choices:
                raise ParameterError(
                    f"{self.name} is {value!r}; it must be one of {', '.join(self.choices)}."
                )
            return str(value)
        if self.kind == "bool":
            if not isinstance(value, bool):
                raise ParameterError(f"{self.name} is {value!r}; it must be true or false.")
            return value
        try:
            number = float("nan" if isinstance(value, bool) else value)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"{self.name} is {value!r}; it must be a number.") from None
        if not math.isfinite(number) or (self.kind == "int" and number != int(number)):
            wanted = "a whole number" if self.kind == "int" else "a number"
            raise ParameterError(f"{self.name} is {value!r}; it must be {wanted}.")
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            raise ParameterError(f"{self.name} is {value!r}; it must be {self.range_text()}.")
        return int(number) if self.kind == "int" else number

    def range_text(self) -> str:
        """Return the allowed values in words."""
        if self.kind == "choice":
            return ", ".join(self.choices)
        if self.kind == "bool":
            return "true, false"
        if self.low is not None and self.high is not None:
            return f"from {self.low:g} to {self.high:g}"
        return f"at least {self.low:g}" if self.low is not None else "any number"


def check_values(parameters: Iterable[Parameter], given: Mapping[str, Any], owner: str) -> dict[str, Value]:
    """Return a value for every parameter: the given one, checked, or the default.

    Raises ParameterError: a value is not allowed, or a name is unknown to `owner`.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            has = f"it has {', '.join(sorted(known))}.{suggest_names(name, known)}"
            raise ParameterError(f"{owner} has no setting {name!r}; {has}")
    return {name: p.check(given[name]) if name in given else p.default for name, p in known.items()}


def suggest_names(name: str, known: Iterable[str]) -> str:
    """Return a question that names what a name may stand for, with a blank before it; "" if no name is similar.

    >>> suggest_names("k", ["alpha", "k_rows", "k_cols"])
    ' Did you mean k_rows or k_cols?'
    """
    names = list(known)
    like = [one for one in names if one.startswith(f"{name}_") or name.startswith(f"{one}_")]
    like = like or difflib.get_close_matches(name, names, cutoff=0.75)
    return f" Did you mean {' or '.join(like)}?" if like else ""


def check_share(value: Any) -> float:
    """Return a share to hold out as a float; raise a ParameterError where it is none, or not below 1."""
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 <= share < 1:
        raise ParameterError(f"The share held out must be at least 0 and below 1, not {value!r}.")
    return share


def check_whole_number(name: str, value: Any, low: int) -> int:
    """Return `value` as an int; raise a ParameterError where it is not a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number, at least {low}.")
    return int(value)
