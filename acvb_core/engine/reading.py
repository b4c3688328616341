"""Data that were not read yet, as those that models take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib import import_module
from typing import Any

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.readers import holds_documents
from acvb_core.data.report import ReadReport, take_apart, warn_of_changes
from acvb_core.registry import METHODS, MODELS, model_row

#: By the name of the data a model is for: who reads them. Imported when needed, as the readers take a while.
READERS = {
    "relation": "acvb_core.data.relation_readers",
    "corpus": "acvb_core.data.corpora.readers",
    "table": "acvb_core.data.table_build",
}
#: A remedy that an option of a reader carries out: threshold=0, (leave_out), "say which column".
_CHOICE = re.compile(r"\b(say|choose|let|take)\b|\w=|(?<!\w)\(\w+\)", re.IGNORECASE)


def read_data(
    data: Any, model: str | None = None, methods: Iterable[str] = (), given: dict[str, Any] | None = None
) -> Any:
    """Return data that a model takes, as `read_with_report` does, without the report."""
    return read_with_report(data, model, methods, given)[0]


def read_with_report(
    data: Any, model: str | None = None, methods: Iterable[str] = (), given: dict[str, Any] | None = None
) -> tuple[Any, ReadReport | None]:
    """Return data that a model takes, and what reading them found; None where they came without a report.

    A file or an object in memory is read first, and a warning says what that changed. What `load_sample`,
    `load_relation` and the like return is taken apart.

    `model`: whose data are meant. None: those of the methods, if only one kind of data has them all; else texts where
      the data are such; else a relation.
    `given`: settings, among them perhaps options of the reader, such as threshold=0, which are taken out.
    Raises DataError: it cannot be read without further choices, or at all.
    Raises ParameterError: there is no such model, or nothing reads such an object.
    """
    if any(row.data_class.is_instance(data) or row.on_disk(data) for row in MODELS):
        return data, None
    taken, report = take_apart(data)
    if report is not None:
        return taken, report
    if isinstance(data, Mapping) and not isinstance(data, Set):
        raise ParameterError(
            f"A {type(data).__name__} may hold links, texts or columns. Give links as a list of pairs, texts as a list "
            "(list(texts.values())), columns as a data frame (pandas.DataFrame(columns))."
        )
    if isinstance(data, Iterator) and not hasattr(data, "read"):
        data = list(data)
    kind = _kind_of(data, model, methods)
    reader: Any = import_module(READERS[kind])
    load, given = getattr(reader, f"load_{kind}"), {} if given is None else given
    settings = {one.name for row in METHODS if model_row(row.model).kind == kind for one in row.parameters}
    options = {name: given.pop(name) for name in given.keys() & (reader.OPTIONS - settings)}
    try:
        loaded = load(data, **options)
    except DataError as problem:
        if _CHOICE.search(problem.remedy) is None:
            raise
        where = f"Give these choices in the same call, or to acvb_core.load_{kind}(…)."
        raise problem.change_parts(remedy=f"{problem.remedy} {where}") from None
    warn_of_changes(loaded.report, options)
    return loaded.data, loaded.report


def list_methods(methods: str | Iterable[str] | None) -> list[str]:
    """Return names of methods, each once; none for None."""
    return [methods] if isinstance(methods, str) else list(dict.fromkeys(methods or ()))


def _kind_of(data: Any, model: str | None, methods: Iterable[str]) -> str:
    if model is not None:
        return model_row(model).kind
    kinds = [{model_row(row.model).kind for row in METHODS if row.name == name} for name in methods]
    common = set.intersection(*kinds) if kinds else set()
    if len(common) == 1:
        return common.pop()
    return "corpus" if holds_documents(data) else MODELS[0].kind
