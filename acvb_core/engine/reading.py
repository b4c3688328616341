"""Data that were not read yet, as those that models take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.objects import holds_documents
from acvb_core.registry import METHODS, MODELS, model_row

#: By the name of the data a model is for: who reads them. Imported when needed, as the readers take a while.
READERS = {
    "relation": "acvb_core.data.relations.readers",
    "corpus": "acvb_core.data.corpora.readers",
    "table": "acvb_core.data.tables.readers",
}


def read_data(data: Any, model: str | None = None, methods: Iterable[str] = ()) -> Any:
    """Return data that a model takes; whatever else there is, a file or an object in memory, is read first.

    `model`: whose data are meant. None: those of the methods, if only one kind of data has them all; else texts where
      the data are such; else a relation.
    Raises DataError: it cannot be read without further choices, or at all.
    Raises ParameterError: there is no such model, or nothing reads such an object.
    """
    if any(row.data_class.holds(data) or row.on_disk(data) for row in MODELS):
        return data
    if isinstance(data, Iterator) and not hasattr(data, "read"):
        data = list(data)
    kind = _kind_of(data, model, methods)
    load = getattr(import_module(READERS[kind]), f"load_{kind}")
    try:
        return getattr(load(data), kind)
    except DataError as problem:
        where = f"Pass these choices to acvb_core.load_{kind}(…), and fit the data that it returns."
        raise problem.change_parts(remedy=f"{problem.remedy} {where}") from None


def _kind_of(data: Any, model: str | None, methods: Iterable[str]) -> str:
    if model is not None:
        return model_row(model).kind
    kinds = [{model_row(row.model).kind for row in METHODS if row.name == name} for name in methods]
    common = set.intersection(*kinds) if kinds else set()
    if len(common) == 1:
        return common.pop()
    return "corpus" if holds_documents(data) else MODELS[0].kind
