"""The state that a run continues from, as plain values and arrays: a tree of the program's own objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np

from acvb_core.store.files import Arrays

#: Only classes of this package are made when a state is read.
_PACKAGE = "acvb_core."
_MODELS = _PACKAGE + "models."
_PLAIN = (type(None), bool, int, float, str)
_SEQUENCES: dict[str, type[Any]] = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}
#: Modules (or single classes) that moved, by the name that a stored state has for them.
_MOVED = {
    "irm.gibbs.gibbs": "irm.gibbs",
    "irm.layout": "irm.kernels",
    "irm.moves.moves": "irm.moves",
    "irm.moves.rejected_moves": "irm.split",
    "irm.sweeps.rest": "irm.state",
    "lda.online.stream:Prior": "lda.online.kernels",
    "lda.streams.state": "lda.online.stream",
    "lda.streams.state:Prior": "lda.online.kernels",
    "lfm.feature_mean": "lfm.ibp",
    "lfm.ibp.best": "lfm.ibp",
    "lfm.ibp.ibp": "lfm.ibp",
    "lfm.ibp.weights": "lfm.ibp",
    "lfm.least_squares": "lfm.state",
    "lfm.meibp.meibp": "lfm.meibp",
    "lfm.meibp.state": "lfm.meibp",
    "lfm.vb.sizes": "lfm.vb",
    "lfm.vb.state": "lfm.vb",
}
#: Classes of states under the names that earlier versions gave them, after the module has been found.
_RENAMED = {"irm.state:Rest": "ActiveSet"}
#: Parts of states under the names that earlier versions gave them, by class.
_PARTS = {"irm.state:IrmState": {"even": "smoothing_mass", "rest": "active", "at_rest": "active_change"}}


def encode_state(state: Any) -> tuple[Any, Arrays]:
    """Return a state as a tree that JSON can hold, and the arrays that it names.

    An array that is in several places is kept once, and is one array again when it is read. Nothing is pickled.

    Raises TypeError: an object in it can be written in no such way.
    """
    return (writer := _Writer()).write(state), writer.arrays


def decode_state(tree: Any, arrays: Arrays) -> Any:
    """Return the state that `encode_state` gave.

    Raises ValueError (or another of DAMAGE): it is none, or of a version of the program with other states.
    """
    kind, *rest = tree if isinstance(tree, list) else ("plain", tree)
    match kind:
        case "plain":
            if not isinstance(rest[0], _PLAIN):
                raise ValueError(f"no value of a state: {rest[0]!r}")
            return rest[0]
        case "array":
            return arrays[rest[0]]
        case "scalar":
            return arrays[rest[0]][()]
        case "mapping":
            return {decode_state(key, arrays): decode_state(value, arrays) for key, value in rest[0]}
        case "object":
            name, parts = rest
            return _build(name, {part: decode_state(value, arrays) for part, value in parts})
        case _:
            return _SEQUENCES[kind](decode_state(value, arrays) for value in rest[0])


class _Writer:
    """The arrays of a state, each under a name of its own."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._names: dict[int, str] = {}

    def write(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return ["array", self._name(value)]
        if isinstance(value, np.generic):
            return ["scalar", self._name(np.asarray(value))]
        if type(value) in _PLAIN:
            return value
        if isinstance(value, Mapping):
            return ["mapping", [[self.write(key), self.write(item)] for key, item in value.items()]]
        for kind, sequence in _SEQUENCES.items():
            if type(value) is sequence:
                return [kind, [self.write(item) for item in value]]
        cls = type(value)
        if not cls.__module__.startswith(_PACKAGE):
            raise TypeError(f"a state with a {cls.__module__}.{cls.__qualname__} cannot be kept")
        parts = [[name, self.write(getattr(value, name))] for name in _part_names(cls, value)]
        return ["object", f"{cls.__module__}:{cls.__qualname__}", parts]

    def _name(self, array: Any) -> str:
        # The arrays are held by `arrays`, so that no other object gets the identity of one of them.
        if id(array) not in self._names:
            name = self._names[id(array)] = f"state_{len(self.arrays)}"
            self.arrays[name] = array
        return self._names[id(array)]


def _part_names(cls: type, value: Any) -> list[str]:
    """Return the names of what an object is made of; what a dataclass has worked out and kept is left out."""
    if issubclass(cls, tuple):
        return list(cls._fields)  # type: ignore[attr-defined]
    return [field.name for field in fields(cls)] if is_dataclass(cls) else list(vars(value))


def _build(name: str, parts: dict[str, Any]) -> Any:
    """Return the object of a class that has these parts; nothing of the class is called."""
    module, _, qualified = name.partition(":")
    short = module.removeprefix(_MODELS)
    moved = _MOVED.get(f"{short}:{qualified}", _MOVED.get(short))
    module = module if moved is None else _MODELS + moved
    if not module.startswith(_PACKAGE):
        raise ValueError(f"no class of a state: {name}")
    known = f"{module.removeprefix(_MODELS)}:{qualified}"
    qualified = _RENAMED.get(known, qualified)
    parts = {_PARTS.get(known, {}).get(part, part): value for part, value in parts.items()}
    cls: Any = import_module(module)
    for part in qualified.split("."):
        cls = getattr(cls, part)
    if not isinstance(cls, type) or cls.__module__ != module:
        raise ValueError(f"no class of a state: {name}")
    built = object.__new__(cls) if not issubclass(cls, tuple) else None
    if is_dataclass(cls):  # a part that came later has its default
        parts = {one.name: one.default for one in fields(cls) if one.default is not MISSING} | parts
        parts = {one.name: parts.pop(one.name) for one in fields(cls) if one.name in parts} | parts
    if built is None or is_dataclass(cls):
        expected = _part_names(cls, None)
        if list(parts) != expected:
            raise ValueError(f"{name} has {', '.join(parts)}; this version has {', '.join(expected)}")
    if built is None:
        return tuple.__new__(cls, parts.values())
    for part, value in parts.items():
        object.__setattr__(built, part, value)
    return built
