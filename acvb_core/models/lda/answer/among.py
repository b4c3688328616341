"""A result of the documents in one group alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.metadata import are_in, list_groups
from acvb_core.engine.prepared import Binding
from acvb_core.engine.result import Result


def take_group(result: Result, column: str, group: str) -> Result:
    """Return a result of the documents in a group (`Result.among`).

    The masses of the topics are those of the run, by its words, so that the same topics are in use.
    """
    model: Any = result.prepared.model
    known = list_groups(model.shown_documents)
    if column not in known:
        listed = ", ".join(map(repr, known)) or "no column with two groups or more"
        raise ParameterError(f"{column!r} is no column of groups; the documents have {listed}.")
    if group not in known[column]:
        listed = ", ".join(map(repr, known[column]))
        raise ParameterError(f"{group!r} is no group of {column!r}; its groups are {listed}.")
    chosen, posterior = are_in(model.shown_documents, column, group), result.posterior
    counts = {"documents": posterior["documents"][chosen]}
    posterior = replace(posterior.with_arrays(counts, drop=("entropy",)), averaged=("words",))
    shown = replace(model, groups=(*model.groups, (column, group)))
    # The run is the same: its data, settings and split.
    parts = {name: partial(result.prepared.binding.find, name) for name in ("split", "algorithm")}
    prepared = replace(result.prepared, binding=Binding(**parts, model=lambda: shown))
    last = replace(result.snapshot, posterior=posterior, state=None, memory=None)
    return replace(result.with_state(snapshot=last, prepared=prepared), groups=shown.groups)
