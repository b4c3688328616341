"""Settings on the command line: typed values, and a flag for each parameter of the methods."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import Parameter
from acvb_core.core.spec import MethodSpec
from acvb_core.registry import METHODS, methods_of, model_row


def parse_words(text: str) -> list[str]:
    """Return the words between commas; none for `none`."""
    return [] if text == "none" else [word.strip() for word in text.split(",") if word.strip()]


def parse_number(text: str) -> float:
    """Return the number that was typed."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def parse_column(text: str) -> str | int | bool:
    """Return a column's name or position, or False for `none`."""
    if text.isascii() and text.isdigit():
        return int(text)
    return False if text == "none" else text


def parse_columns(text: str) -> list[str | int]:
    """Return the columns between commas, each by name or by position."""
    return [int(one) if one.isascii() and one.isdigit() else one for one in parse_words(text)]


def parse_count(text: str) -> int:
    """Return the whole number of at least 1."""
    if not re.fullmatch(r"\d{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def parse_port(text: str) -> int:
    """Return the number of a port."""
    if not re.fullmatch(r"\d{1,5}", text) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 65535")
    return int(text)


def parse_names(text: str) -> list[str]:
    """Return the names between commas, each once."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise argparse.ArgumentTypeError("name at least one")
    return names


def parse_seeds(text: str) -> list[int]:
    """Return the seeds: those between commas, or as many as the number says, from 0."""
    if not re.fullmatch(r"\d+(,\d+)*,?", text) or text == "0":
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of seeds nor a list like 0,5,7")
    if "," in text:
        return list(dict.fromkeys(int(part) for part in text.split(",") if part))
    return list(range(int(text)))


#: (flag, help, more) adds a flag to a group.
Add = Callable[..., None]
#: In front of the names of settings in the parsed arguments, to keep them apart from everything else.
_VALUE = "value:"


def group_adder(to: argparse.ArgumentParser, title: str) -> Add:
    """Return what adds flags under a title; a flag that is not typed is None. `also` are other names of a flag."""
    group = to.add_argument_group(title)

    def add(flag: str, text: str, *, also: Sequence[str] = (), **more: Any) -> None:
        if also:
            more.setdefault("action", _Once)
        group.add_argument(flag, *also, help=text.replace("%", "%%"), default=None, **more)

    return add


class _Once(argparse.Action):
    """Store what is typed; a second value, by whichever name of the flag, is refused."""

    fault = "are two names of one choice: give it once."

    def __call__(self, parser: Any, namespace: Any, values: Any, flag: str | None = None) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{' and '.join(self.option_strings)} {self.fault}")
        setattr(namespace, self.dest, values)


class Flag(_Once):
    """Store whether the first name of the flag was typed, or the other one, which says no."""

    fault = "answer one question: give one of them, once."

    def __init__(self, **given: Any) -> None:
        super().__init__(nargs=0, **given)

    def __call__(self, parser: Any, namespace: Any, values: Any, flag: str | None = None) -> None:
        """Store it."""
        super().__call__(parser, namespace, flag == self.option_strings[0], flag)


def add_setting(add: Add, parameter: Parameter, dest: str, text: str) -> None:
    """Add the flag of a setting; its value stays text until it is known whose it is (`parse_setting`)."""
    if parameter.kind == "bool":
        add(parameter.flag, text, dest=dest, action=argparse.BooleanOptionalAction)
    else:
        metavar = {"int": "N", "float": "X"}.get(parameter.kind, parameter.name.upper())
        add(parameter.flag, text, dest=dest, metavar=metavar)


def setting_help(parameter: Parameter) -> str:
    """Return help, choices and default of a setting."""
    default = str(parameter.default).lower() if parameter.kind == "bool" else parameter.default
    choices = f"one of {parameter.range_text()}; " if parameter.kind == "choice" else ""
    return f"{parameter.help} ({choices}default: {default})"


def parse_setting(parameter: Parameter, typed: Any) -> Any:
    """Return what was typed for a setting in the setting's type.

    Raises ParameterError: it is not a number where one is needed.
    """
    if parameter.kind in ("choice", "bool"):
        return typed
    try:
        return int(typed) if parameter.kind == "int" else float(typed)
    except ValueError:
        wanted = "a whole number" if parameter.kind == "int" else "a number"
        raise ParameterError(f"{parameter.flag} is {typed!r}; it must be {wanted}.") from None


def add_method_settings(add: Add) -> None:
    """Add a flag for every setting that a method of the registry has."""
    for name, owners in _settings().items():
        others = " Other models: every number of clusters, or of features." if name == "k" else ""
        add_setting(add, owners[0][1], _VALUE + name, _help(owners) + others)


def _settings() -> dict[str, list[tuple[MethodSpec, Parameter]]]:
    """Return for each setting the methods that have it, each with its own range, default and help."""
    owners: dict[str, list[tuple[MethodSpec, Parameter]]] = {}
    for row in METHODS:
        for parameter in row.parameters:
            owners.setdefault(parameter.name, []).append((row, parameter))
    return owners


def _help(owners: list[tuple[MethodSpec, Parameter]]) -> str:
    """Return help, choices and default of a setting; by model and method where they differ."""
    texts: dict[str, list[MethodSpec]] = {}
    for row, parameter in owners:
        texts.setdefault(setting_help(parameter), []).append(row)
    if len(texts) == 1:
        (text,) = texts
        return text if len(owners) == len(METHODS) else f"{text} [{_owners(texts[text])}]"
    return " ".join(f"[{_owners(rows)}] {text}" for text, rows in texts.items())


def _owners(rows: list[MethodSpec]) -> str:
    """Return methods by model, or the model's name alone where it is all of them."""
    parts = []
    for model in dict.fromkeys(row.model for row in rows):
        names = [row.name for row in rows if row.model == model]
        alone = len(names) == len(methods_of(model))
        parts.append(model if alone else f"{model}: {', '.join(names)}")
    return "; ".join(parts)


def typed_settings(
    arguments: argparse.Namespace, model: str, methods: Sequence[str], *, several: bool = False
) -> dict[str, Any]:
    """Return the settings that were typed, by name; with `several`, a list where there are commas between values.

    --k is for all numbers of clusters of a model; one that was typed by its own name is kept.

    Raises ParameterError: none of `methods` has such a setting; the message names those that have it.
    """
    values = {}
    for dest, text in vars(arguments).items():
        if not dest.startswith(_VALUE) or text is None:
            continue
        name = dest.removeprefix(_VALUE)
        parameter = _owned_setting(name, model, methods)
        parts = text.split(",") if several and isinstance(text, str) else [text]
        parsed = [parse_setting(parameter, part) for part in parts]
        values[name] = parsed if len(parsed) > 1 else parsed[0]
    caps = model_row(model).caps
    if "k" in values and caps and not several:
        values = {**dict.fromkeys(caps.values(), values.pop("k")), **values}
    return values


def _owned_setting(name: str, model: str, methods: Sequence[str]) -> Parameter:
    if name == "k" and (caps := model_row(model).caps):
        first = _owned_setting(next(iter(caps.values())), model, methods)
        return replace(first, name=name)  # errors name what was typed
    everywhere = _settings()[name]
    here = {row.name: parameter for row, parameter in everywhere if row.model == model}
    for method in methods:
        if method in here:
            return here[method]
    flag = everywhere[0][1].flag
    if here:
        own, others = " and ".join(methods) or "nothing", ", ".join(here)
        raise ParameterError(f"{flag} is not a setting of {own}; {others} {_has(len(here))} it.")
    asked, models = model_row(model), list(dict.fromkeys(row.model for row, _ in everywhere))
    models = [one for one in models if model_row(one).folder == asked.folder] or models
    other = model_row(models[0])
    two_sides = asked.kind == other.kind == "relation" and len(asked.domains) < len(other.domains)
    sizes = ", which has --k" if name in other.caps.values() else ""
    raise ParameterError(
        f"{flag} is not a setting of model {model!r}{sizes}; {', '.join(models)} {_has(len(models))} it "
        f"({'--domains two' if two_sides and len(models) == 1 else '--model'})."
    )


def _has(owners: int) -> str:
    return "has" if owners == 1 else "have"
