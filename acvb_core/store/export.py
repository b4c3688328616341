"""Results as files that other programs read: CSV, JSON, npz, and the Python that repeats a run.

In CSV a text cell that begins with = + - @, a tab or a carriage return gets an apostrophe in front, everywhere
alike, because spreadsheets would take it for a formula. Numbers are written with as many digits as bring them
back exactly.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from acvb_core.core.scratch import scratch_prefix
from acvb_core.engine.result import Result
from acvb_core.store.csv_text import csv_text
from acvb_core.store.known_labels import add_known_labels, compare_known_labels

if TYPE_CHECKING:
    import pandas as pd


def to_plain(value: Any) -> Any:
    """Return a value as JSON allows it: mappings, lists, text and numbers; None in place of NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_plain(value.tolist())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)


def run_json(result: Result) -> str:
    """Return the run as JSON: how it ended, its scores, its settings and the identity of its data."""
    return json.dumps(to_plain(run_dict(result)), indent=2, allow_nan=False) + "\n"


def run_dict(result: Result) -> dict[str, Any]:
    """Return what run.json holds; `known_labels` is the agreement with them, where the data have any."""
    known = compare_known_labels(result).set_index("attribute").to_dict("index")
    facts = result.prepared.model_row.part("export").facts(result)
    return {"name": result.label} | result.to_dict() | facts | ({"known_labels": known} if known else {})


def run_tables(result: Result) -> dict[str, pd.DataFrame]:
    """Return the tables of a run by the name of their file: the model's own, and what is known of the objects."""
    tables, known = dict(result.tables), compare_known_labels(result)
    if len(known):
        tables |= {"rows": add_known_labels(result), "agreement": known}
    return tables


def write_run(result: Result, folder: Path) -> list[Path]:
    """Write a run to a folder, which is made when it is not there.

    Files
    -----
    run.json
        As `run_json` gives it.
    history.csv
        Diagnostics of every sweep.
    race.csv
        Where restarts raced: seed, sweeps, cpu_seconds, lower_bound, pseudo_loo, heldout, out_after (`Result.race`).
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
        LDA: document, topic_1 … topic_K: share of each topic. Of a corpus on disk those of a sample, as run.json
        tells; `write_document_topics` writes those of all.
    features.csv
        Latent features: feature, share of the objects that have it, objects (their expected number), and what it adds
        to each column, in the column's units.
    objects.csv
        Latent features: object, feature_1 … feature_K: probability that the object has each feature.
    columns.csv
        Latent features: column, baseline, noise_sd, mean, sd, in the column's units.
    posterior.npz
        Arrays without pickle, as `arrays` in each model's export.py says. Names are the UTF-8 bytes of a JSON
        list: `json.loads(file["vocabulary"].tobytes())`.
    model.npz
        LDA: the topics to go on from (`load_model`).

    Clusters, topics and features are numbered from 1, largest first, the same number in every file. Text in the CSV
    files is guarded as `csv_text` says; run.json and posterior.npz hold names as they are.

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
    write_posterior(result, paths[-1])
    written: list[Path] = result.prepared.model_row.part("export").files(result, folder)
    return paths + written


def zip_runs(results: Mapping[str, Result]) -> bytes:
    """Return a zip file with a folder for each run, as `write_run` writes it, by the name of the folder."""
    out = io.BytesIO()
    with (
        TemporaryDirectory(prefix=scratch_prefix()) as place,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, result in results.items():
            for path in write_run(result, Path(place) / name):
                archive.write(path, path.relative_to(place))
    return out.getvalue()


def write_posterior(result: Result, file: Path | BinaryIO) -> None:
    """Write posterior.npz (see `write_run`)."""
    np.savez_compressed(file, allow_pickle=False, **posterior_arrays(result))


def posterior_arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz (see `write_run`)."""
    arrays: dict[str, Any] = result.prepared.model_row.part("export").arrays(result)
    return arrays
