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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.data.samples import SAMPLES, load_sample
from acvb_core.engine.result import Result
from acvb_core.engine.snapshot import Verdict
from acvb_core.errors import ParameterError
from acvb_core.store.files import labels_bytes

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


def responsibilities_frame(result: Result, domain: str) -> pd.DataFrame:
    """Return who belongs where, and how surely.

    Parameters
    ----------
    result : Result
    domain : "rows" or "cols"

    Returns
    -------
    DataFrame, one row an object
        object, cluster_1 … cluster_K: probability of each cluster, numbered as everywhere.

    Raises
    ------
    ParameterError
        There is no such domain.
    """
    labels = _labels(result)
    if domain not in labels:
        raise ParameterError(f"there is no domain {domain!r}; there are {', '.join(labels)}.")
    responsibilities = result.posterior[domain]
    names = [f"cluster_{k + 1}" for k in range(responsibilities.shape[1])]
    frame = pd.DataFrame(responsibilities, columns=names)
    frame.insert(0, "object", labels[domain])
    return frame


def _labels(result: Result) -> dict[str, Any]:
    relation = result.problem.data
    return {"rows": relation.row_labels, "cols": relation.column_labels}


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
    return json.dumps(plain(result.to_dict()), indent=2, allow_nan=False) + "\n"


def python_snippet(
    result: Result, source: str | None = None, reader_options: Mapping[str, Any] | None = None
) -> str:
    """Return Python that makes the same run again, bit for bit on the same versions of the libraries.

    Parameters
    ----------
    result : Result
    source : str, optional
        Path of the file the data came from, or `sample:NAME`. Without it: the sample of the relation's name
        where the data are that sample's, else a file name to fill in.
    reader_options : mapping, optional
        What `load_relation` was told, beside the path.
    """
    relation = result.problem.data
    if source is None and _is_sample(result):
        source = f"sample:{relation.name}"
    if source is not None and source.startswith("sample:"):
        loaded = f"acvb_core.load_sample({source.removeprefix('sample:')!r})"
    else:
        options = {name: value for name, value in (reader_options or {}).items() if value is not None}
        given = [repr(source or "FILE.csv"), *(f"{name}={value!r}" for name, value in options.items())]
        loaded = f"acvb_core.load_relation({', '.join(given)})"
    settings = result.problem.settings
    arguments = {"model": settings.model} if settings.model != "irm" else {}
    arguments |= {
        name: getattr(settings, name)
        for name, default in (("seed", 0), ("heldout", 0.0), ("heldout_seed", 0))
        if getattr(settings, name) != default
    }
    arguments |= _changed_values(result)
    lines = ["relation", repr(settings.method), *(f"{name}={value!r}" for name, value in arguments.items())]
    call = "".join(f"    {line},\n" for line in lines)
    return (
        "import acvb_core\n\n"
        f"relation = {loaded}.relation\n"
        f"# {relation.shape[0]:,} x {relation.shape[1]:,} objects, {relation.n_ones:,} links; the same data have "
        "this fingerprint.\n"
        f'assert relation.fingerprint == "{relation.fingerprint}"\n'
        f"result = acvb_core.fit(\n{call})\n"
        'print(result.verdict, "after", result.snapshot.sweep, "sweeps")\n'
    )


def _is_sample(result: Result) -> bool:
    relation = result.problem.data
    sample = SAMPLES.get(relation.name)
    return (
        sample is not None
        and (sample.n_rows, sample.n_cols) == relation.shape
        and load_sample(relation.name).relation.fingerprint == relation.fingerprint
    )


def _changed_values(result: Result) -> dict[str, Any]:
    """Return the method's settings that are not the defaults, the cap being the one this answer needs."""
    values = dict(result.problem.settings.values)
    if "max_sweeps" in values:
        # A stopped run ends where it was stopped; an extended one had more sweeps than its settings say.
        stopped = result.verdict is Verdict.STOPPED and result.snapshot.sweep > 0
        values["max_sweeps"] = result.snapshot.sweep if stopped else result.max_sweeps
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
    rows.csv, columns.csv
        object, cluster, probability of that cluster, entropy (nats).
    blocks.csv
        row_cluster, column_cluster, ones, entries, mean, low, high.
    posterior.npz
        rows, cols: responsibilities, column k - 1 for cluster k; row_cluster, column_cluster: most probable
        cluster of each object; ones, entries: expected counts of each block, shape (K_rows, K_cols);
        row_labels, column_labels: names, as the UTF-8 bytes of a JSON list:
        `json.loads(file["row_labels"].tobytes())`.

    Clusters are numbered from 1, largest first, the same number in every file. Text in the CSV files is guarded
    as `csv_text` says; run.json and posterior.npz hold names as they are.

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
    texts |= {f"{name}.csv": csv_text(table) for name, table in result.tables.items()}
    paths = []
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8", newline="")
    paths.append(folder / "posterior.npz")
    np.savez_compressed(paths[-1], allow_pickle=False, **posterior_arrays(result))
    return paths


def posterior_arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz (see `write_run`)."""
    posterior, blocks = result.posterior, result.blocks
    shape = posterior["rows"].shape[1], posterior["cols"].shape[1]
    labels = _labels(result)
    return {
        "rows": posterior["rows"],
        "cols": posterior["cols"],
        "row_cluster": posterior.labels("rows") + 1,
        "column_cluster": posterior.labels("cols") + 1,
        "ones": blocks["ones"].to_numpy().reshape(shape),
        "entries": blocks["entries"].to_numpy().reshape(shape),
        "row_labels": labels_bytes(labels["rows"]),
        "column_labels": labels_bytes(labels["cols"]),
    }
