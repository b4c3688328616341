"""Results as files that other programs read: CSV, JSON, npz, and the Python that repeats a run.

In CSV a text cell that begins with = + - @, a tab or a carriage return gets an apostrophe in front, everywhere
alike, because spreadsheets would take it for a formula. Numbers are written with as many digits as bring them
back exactly.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.data.relation import Relation
from acvb_core.data.samples import SAMPLES, load_sample
from acvb_core.data.tokeniser import Tokeniser
from acvb_core.engine.result import Result
from acvb_core.engine.snapshot import Verdict
from acvb_core.registry import model_for
from acvb_core.store.datasets import kind_of
from acvb_core.store.export_irm import irm_arrays, responsibilities_frame
from acvb_core.store.export_lda import lda_arrays, pyldavis_json
from acvb_core.store.known_labels import known_labels, with_known_labels

__all__ = [
    "csv_text",
    "known_labels",
    "plain",
    "posterior_arrays",
    "pyldavis_json",
    "python_snippet",
    "responsibilities_frame",
    "run_dict",
    "run_json",
    "run_tables",
    "write_run",
]

#: What posterior.npz holds, by model.
_ARRAYS: dict[str, Callable[[Result], dict[str, Any]]] = {
    "irm": irm_arrays,
    "network": irm_arrays,
    "lda": lda_arrays,
}

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as CSV, without its index; text that a spreadsheet would run is guarded by an apostrophe."""
    guarded = frame.copy()
    texts = [name for name in guarded.columns if not pd.api.types.is_numeric_dtype(guarded[name])]
    for name in texts:
        guarded[name] = [_guarded(cell) for cell in guarded[name]]
    guarded.columns = [_guarded(name) for name in guarded.columns]
    out = io.StringIO()
    # A lone carriage return ends a line for many readers, but the writer itself would not quote it.
    odd = any(isinstance(cell, str) and "\r" in cell for name in texts for cell in frame[name])
    quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    guarded.to_csv(out, index=False, lineterminator="\n", quoting=quoting)
    return out.getvalue()


def _guarded(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def plain(value: Any) -> Any:
    """Return a value as JSON allows it: mappings, lists, text and numbers; None in place of NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)


def run_json(result: Result) -> str:
    """Return the run as JSON: how it ended, its scores, its settings and the identity of its data."""
    return json.dumps(plain(run_dict(result)), indent=2, allow_nan=False) + "\n"


def run_dict(result: Result) -> dict[str, Any]:
    """Return what run.json holds; `known_labels` is the agreement with them, where the data have any."""
    known = known_labels(result).set_index("attribute").to_dict("index")
    return result.to_dict() | ({"known_labels": known} if known else {})


def run_tables(result: Result) -> dict[str, pd.DataFrame]:
    """Return the tables of a run by the name of their file: the model's own, and what is known of the objects."""
    tables, known = dict(result.tables), known_labels(result)
    if len(known):
        tables |= {"rows": with_known_labels(result), "agreement": known}
    return tables


def python_snippet(
    result: Result, source: str | None = None, reader_options: Mapping[str, Any] | None = None
) -> str:
    """Return Python that makes the same run again, bit for bit on the same versions of the libraries.

    Parameters
    ----------
    result : Result
    source : str, optional
        Path of the file the data came from, or `sample:NAME`. Without it: the sample of the data's name where
        the data are that sample's, else a file name to fill in.
    reader_options : mapping, optional
        What the reader (`load_relation`, `load_corpus`) was told, beside the path. How texts were cut is known of
        a corpus by itself.
    """
    data = result.problem.data
    kind = kind_of(data)
    if source is None and _is_sample(data):
        source = f"sample:{data.name}"
    if source is not None and source.startswith("sample:"):
        loaded = f"acvb_core.load_sample({source.removeprefix('sample:')!r})"
    else:
        options = _known_options(data, reader_options or {})
        codes = {name: _code(name, value) for name, value in options.items() if value is not None}
        given = [repr(source or "FILE.csv"), *(f"{name}={code}" for name, code in codes.items() if code)]
        loaded = f"acvb_core.{kind.loader}({', '.join(given)})"
    settings = result.problem.settings
    arguments = {} if settings.model == model_for(data).name else {"model": settings.model}
    arguments |= {
        name: getattr(settings, name)
        for name, default in (("seed", 0), ("heldout", 0.0), ("heldout_seed", 0))
        if getattr(settings, name) != default
    }
    arguments |= _changed_values(result)
    lines = [kind.name, repr(settings.method), *(f"{name}={value!r}" for name, value in arguments.items())]
    call = "".join(f"    {line},\n" for line in lines)
    return (
        "import acvb_core\n\n"
        f"{kind.name} = {loaded}.{kind.name}\n"
        f"# {data.size_text}; the same data have this fingerprint.\n"
        f'assert {kind.name}.fingerprint == "{data.fingerprint}"\n'
        f"{_race_note(result)}result = acvb_core.fit(\n{call})\n"
        'print(result.verdict, "after", result.snapshot.sweep, "sweeps")\n'
    )


def _known_options(data: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the reader is to be told: what it was told, and what is known of the data, lest it be guessed."""
    told = {name: value for name, value in given.items() if value is not None}
    if not isinstance(data, Relation):
        return {"tokeniser": getattr(data, "tokeniser", None), **told}
    if data.network is not None:
        return {**told, "domains": "one", **asdict(data.network)}
    if "domains" not in told and not set(data.row_labels).isdisjoint(data.column_labels):
        return {**told, "domains": "two"}
    return told


def _race_note(result: Result) -> str:
    """Return a comment on the race that a run came out of; the run itself is repeated alone."""
    standing = result.standing
    if standing is None:
        return ""
    told = "won" if standing.decided else "was ahead in"
    again = f"seed={standing.first_seed}, restarts={standing.restarts}"
    return f"# Seed {standing.leader} {told} a race of restarts, which {again} repeats.\n"


def _code(name: str, value: Any) -> str:
    """Return an argument of a reader as Python; of a tokeniser what differs from the usual one, if anything."""
    if name != "tokeniser":
        return repr(os.fspath(value) if isinstance(value, os.PathLike) else value)
    tokeniser = value if isinstance(value, Tokeniser) else Tokeniser.from_dict(value)
    usual = Tokeniser().to_dict()
    changed = {key: found for key, found in tokeniser.to_dict().items() if found != usual[key]}
    told = ", ".join(f"{key}={found!r}" for key, found in changed.items())
    return told and f"acvb_core.Tokeniser({told})"


def _is_sample(data: Any) -> bool:
    sample = SAMPLES.get(data.name)
    return (
        sample is not None
        and (sample.kind, sample.shape) == (kind_of(data).name, data.shape)
        and _sample_fingerprint(data.name) == data.fingerprint
    )


@lru_cache(maxsize=16)
def _sample_fingerprint(name: str) -> str:
    """Return a sample's fingerprint, kept: texts take a second to be cut, and pages ask again and again."""
    return load_sample(name).data.fingerprint


def _changed_values(result: Result) -> dict[str, Any]:
    """Return the method's settings that are not the defaults, the cap being the one this answer needs."""
    values = dict(result.problem.settings.values)
    if "max_sweeps" in values:
        # A stopped run ends where it was stopped; an extended one had more sweeps than its settings say.
        stopped = result.verdict is Verdict.STOPPED and result.snapshot.sweep > 0
        values["max_sweeps"] = result.snapshot.sweep if stopped else result.max_sweeps
    elif result.snapshot.passes and result.verdict in (Verdict.STOPPED, Verdict.MAX_SWEEPS):
        values["epochs"] = result.snapshot.passes
    defaults = {parameter.name: parameter.default for parameter in result.problem.row.parameters}
    return {name: value for name, value in values.items() if value != defaults[name]}


def write_run(result: Result, folder: Path) -> list[Path]:
    """Write a run to a folder, which is made when it is not there.

    Files
    -----
    run.json
        As `run_json` gives it.
    history.csv
        Diagnostics of every sweep.
    race.csv
        Where restarts raced: seed, sweeps, cpu_seconds, lower_bound, pseudo_loo, out_after (`Result.race`).
    rows.csv, columns.csv
        IRM: object, cluster, probability of that cluster, entropy (nats); of a network rows.csv alone. Where labels
        of the row objects are known, a column known_ATTRIBUTE for each attribute.
    blocks.csv
        IRM: row_cluster, column_cluster, ones, entries, mean, low, high; of an undirected network each block once.
    agreement.csv
        IRM, where labels are known: attribute, labels, known, unknown, ari, nmi (see `known_labels`).
    topics.csv
        LDA: topic, rank, word, probability of the most probable words.
    documents.csv
        LDA: document, topic_1 … topic_K: share of each topic.
    posterior.npz
        Arrays without pickle, as `irm_arrays` and `lda_arrays` say. Names are the UTF-8 bytes of a JSON list:
        `json.loads(file["vocabulary"].tobytes())`.

    Clusters and topics are numbered from 1, largest first, the same number in every file. Text in the CSV files is
    guarded as `csv_text` says; run.json and posterior.npz hold names as they are.

    Returns
    -------
    list of Path

    Raises
    ------
    OSError
        The folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"run.json": run_json(result), "history.csv": csv_text(result.history)}
    texts |= {f"{name}.csv": csv_text(table) for name, table in run_tables(result).items()}
    if result.race is not None:
        texts["race.csv"] = csv_text(result.race)
    paths = []
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8", newline="")
    paths.append(folder / "posterior.npz")
    np.savez_compressed(paths[-1], allow_pickle=False, **posterior_arrays(result))
    return paths


def posterior_arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz (see `write_run`)."""
    return _ARRAYS[result.problem.settings.model](result)
