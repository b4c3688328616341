"""The table of everything there is: models and their methods. Pages, command line, documents and tests read it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from acvb_core.core.errors import ParameterError
from acvb_core.core.spec import MethodSpec, ModelSpec

#: Folders of `acvb_core/models`, in the order in which their models are shown. A new model is one more name.
FOLDERS = ("irm", "poisson", "lda", "lfm")

_ROWS = [import_module(f"acvb_core.models.{folder}.spec") for folder in FOLDERS]
MODELS: tuple[ModelSpec, ...] = tuple(row for rows in _ROWS for row in rows.MODELS)
METHODS: tuple[MethodSpec, ...] = tuple(row for rows in _ROWS for row in rows.METHODS)


#: Methods that are compared where none is named; of models that do not have the first, so many of their own.
_USUAL, _FEW = ("acvb0", "cvb0", "vb"), 3


def default_methods(model: str) -> list[str]:
    """Return the methods of a model that are compared where none is named; the first is the one that is fitted."""
    names = [row.name for row in methods_of(model)]
    return [name for name in _USUAL if name in names] if _USUAL[0] in names else names[:_FEW]


def model_row(name: str) -> ModelSpec:
    """Return a model's row.

    Raises ParameterError: no such model.
    """
    for row in MODELS:
        if row.name == name:
            return row
    raise ParameterError(f"there is no model {name!r}; there are {', '.join(row.name for row in MODELS)}.")


def model_for(data: Any) -> ModelSpec:
    """Return the row of the model for such data: of the first folder with one, the last, which is the most special.

    Raises ParameterError: no model is for such data.
    """
    fitting = [row for row in MODELS if row.fits(data)]
    if fitting:
        return [row for row in fitting if row.folder == fitting[0].folder][-1]
    kinds = ", ".join(dict.fromkeys(row.kind for row in MODELS))
    raise ParameterError(
        f"there is no model for a {type(data).__name__}; there are models for: {kinds}. "
        "Read it first (load_relation, load_corpus, load_table)."
    )


def method_row(model: str, name: str) -> MethodSpec:
    """Return a method's row.

    Raises ParameterError: no such model or method.
    """
    rows = methods_of(model)
    for row in rows:
        if row.name == name:
            return row
    raise ParameterError(
        f"model {model!r} has no method {name!r}; it has {', '.join(row.name for row in rows)}."
    )


def methods_for(data: Any, model: str | None = None) -> tuple[MethodSpec, ...]:
    """Return the rows of the methods that can take such data, of their own model or of another that is for them.

    Raises ParameterError: no model is for such data, or not this one.
    """
    row = model_for(data) if model is None else model_row(model)
    row.accept(data)
    return tuple(
        method for method in methods_of(row.name) if method.streams or method.shards or not row.on_disk(data)
    )


def methods_of(model: str) -> tuple[MethodSpec, ...]:
    """Return the rows of a model's methods."""
    model_row(model)
    return tuple(row for row in METHODS if row.model == model)
