"""Settings from the registry as widgets: a new method's parameters appear here by themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from acvb_core.core.parameters import Parameter, Value
from acvb_core.core.spec import PRESET, MethodSpec
from acvb_core.registry import methods_of

#: In the session: keys of the widgets that something was put into.
_FILLED = "form_put"
#: Methods that a button names.
MOST_NAMES = 3
#: Pixels of the choice of the preset.
_PRESET_WIDTH = 280


@dataclass(frozen=True)
class Field:
    """One widget of a form for several methods."""

    parameter: Parameter
    methods: tuple[MethodSpec, ...]  #: the chosen ones that it is for
    key: str  #: the same whichever methods are chosen, so that input stays, and another one for other data
    shared: bool  #: every chosen method with a parameter of this name has this very one

    def is_printed_by(self, method: MethodSpec) -> bool:
        """Return whether a method's paper prints the value."""
        return method.paper is not None and self.parameter.name in method.paper.values


def build_fields(chosen: Sequence[MethodSpec], mark: str = "") -> list[Field]:
    """Return the fields for some methods on these data; methods share a field if the parameter is the same."""
    groups: dict[Parameter, list[MethodSpec]] = {}
    for method in chosen:
        for parameter in method.parameters:
            groups.setdefault(parameter, []).append(method)
    order = {p.name: i for i, p in enumerate(_all_parameters(chosen))}
    variants = Counter(parameter.name for parameter in groups)
    fields = [
        Field(p, tuple(methods), _key(p, methods[0].model, mark), variants[p.name] == 1)
        for p, methods in groups.items()
    ]
    return sorted(fields, key=lambda field: order[field.parameter.name])


def select_values(method: MethodSpec, entered: Sequence[tuple[Field, Value]]) -> dict[str, Any]:
    """Return one method's settings out of what was entered, with the paper's preset without those that it prints."""
    values = {field.parameter.name: value for field, value in entered if method in field.methods}
    paper = method.paper.values if method.paper and values.get(PRESET.name) == "paper" else {}
    return {name: value for name, value in values.items() if name not in paper}


def show_preset(
    form: Sequence[Field], chosen: Sequence[MethodSpec]
) -> tuple[list[Field], list[tuple[Field, Value]]]:
    """Draw the choice of the preset, if the methods have one; return the fields that it leaves open, and the choice."""
    preset = next((field for field in form if field.parameter is PRESET), None)
    if preset is None:
        return list(form), []
    others = [field for field in form if field is not preset]
    with st.container(width=_PRESET_WIDTH):
        value = show_field(preset)
    if value == "paper":
        st.caption("  \n".join(_describe_paper(method) for method in chosen if method.paper))
        others = [field for field in others if not all(map(field.is_printed_by, field.methods))]
    return others, [(preset, value)]


def _describe_paper(method: MethodSpec) -> str:
    """Return in words where a method is printed, and with what settings."""
    if method.paper is None:
        return ""
    labels = {parameter.name: parameter.label for parameter in method.parameters}
    settings = "; ".join(f"{labels[name]}: {_say(value)}" for name, value in method.paper.values.items())
    return f"{method.label}, as printed in {method.paper.source}: {settings}."


def _say(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value}"


def fill_form(method: MethodSpec, values: Mapping[str, Any], mark: str) -> None:
    """Have the form for the data with this mark show these values for a method's settings; from a callback."""
    for parameter in method.parameters:
        if parameter.name in values:
            whole = parameter.kind == "int"
            value = values[parameter.name]
            fill_widget(_key(parameter, method.model, mark), int(value) if whole else float(value))


def fill_widget(key: str, value: Any) -> None:
    """Put a value into a widget; from a callback."""
    st.session_state[key] = value
    st.session_state.setdefault(_FILLED, set()).add(key)


def was_filled(key: str) -> bool:
    """Return whether a value was ever put into a widget, which then must be created without a default."""
    return key in st.session_state.get(_FILLED, ())


def count_changed(fields: Sequence[Field]) -> int:
    """Return how many fields hold another value than the default, as far as they were filled in."""
    state = st.session_state
    return sum(state.get(field.key, field.parameter.default) != field.parameter.default for field in fields)


def name_methods(labels: Sequence[str]) -> str:
    """Return the labels of methods, for a button: "ACVB0, VB, Gibbs", "5 methods: ACVB0, CVB0, VB, …"."""
    first = ", ".join(labels[:MOST_NAMES])
    return first if len(labels) <= MOST_NAMES else f"{len(labels)} methods: {first}, …"


def show_field(field: Field) -> Value:
    """Draw the widget of a field and return what is in it."""
    label = field.parameter.label
    if not field.shared:
        label += f" ({', '.join(method.label for method in field.methods)})"
    return show_parameter(field.parameter, label=label, key=field.key)


def show_fixed_field(field: Field, value: Value) -> Value:
    """Draw a field whose value follows from elsewhere, and return it; what the user entered comes back later."""
    key, why = f"{field.key}_given_{value}", "Set by the model that the runs start from."
    st.text_input(field.parameter.label, f"{value}", disabled=True, key=key, help=why)
    return value


def show_parameter(parameter: Parameter, *, label: str, key: str) -> Value:
    """Draw the widget of a parameter and return its value; the value outlives a change of page."""
    default: Any = parameter.default
    if parameter.kind == "bool":
        return st.toggle(label, value=default, help=parameter.help, key=key, persist_state="session")
    if parameter.kind == "choice":
        chosen = st.selectbox(
            label,
            parameter.choices,
            index=parameter.choices.index(default),
            help=parameter.help,
            key=key,
            persist_state="session",
        )
        return parameter.check(chosen)
    text = f"{parameter.help}\n\n*Allowed: {parameter.range_text()}; default: {parameter.default:g}.*"
    # Streamlit wants all of them to be whole numbers, or none.
    limits: Any = (parameter.low, parameter.high, _step(default), "%g")
    if parameter.kind == "int":
        limits = (_whole(parameter.low), _whole(parameter.high), 1, None)
    low, high, step, shown = limits
    begin: Any = "min" if was_filled(key) else default
    number = st.number_input(label, low, high, begin, step, shown, key, text, persist_state="session")
    return parameter.check(number)


def _all_parameters(methods: Sequence[MethodSpec]) -> list[Parameter]:
    """Return parameters in an order that respects that of every method: those of the longest list first."""
    listed: dict[str, Parameter] = {}
    for method in sorted(methods, key=lambda method: -len(method.parameters)):
        for parameter in method.parameters:
            listed.setdefault(parameter.name, parameter)
    return list(listed.values())


def _key(parameter: Parameter, model: str, mark: str) -> str:
    owners = [method.name for method in methods_of(model) if parameter in method.parameters]
    return "_".join(["set", model, parameter.name, *owners, *([mark] if mark else [])])


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _step(default: float) -> float:
    """Return a tenth of the default's power of ten, for the + and - of a number field."""
    return 0.01 if default <= 0 else float(f"{10 ** (math.floor(math.log10(default)) - 1):.0e}")
