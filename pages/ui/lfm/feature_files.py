"""The files of a run on a table."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from acvb_core.core.files import scratch_prefix
from acvb_core.engine.result import Result
from acvb_core.store import export
from acvb_core.store.export import csv_text
from pages.ui.shared.picking import FileOffer, offer_arrays, offer_run


def list_files(result: Result, measure: Callable[[], Mapping[str, pd.DataFrame]]) -> list[FileOffer]:
    """Return the files of a run: its tables, the run itself, its arrays, and all of them in one archive.

    `measure`: returns how far the features depend on the seed (`measure_spread`).
    """

    def table(label: str, name: str) -> FileOffer:
        return FileOffer(label, f"{name}.csv", "text/csv", lambda: csv_text(result.tables[name]))

    return [
        table("Weights of the features", "features"),
        table("Features of the objects", "objects"),
        table("Baseline and noise of the columns", "columns"),
        FileOffer(
            "Features over the seeds", "seeds.csv", "text/csv", lambda: csv_text(list_spread(measure()))
        ),
        offer_run(result),
        offer_arrays(result),
        FileOffer("Everything", "everything.zip", "application/zip", lambda: pack_everything(result)),
    ]


def list_spread(spread: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how far the features depend on the seed (`measure_spread`), one row for each feature and column.

    feature, column, weight, low, high; share, share_low, share_high, found, runs. What was not measured is NaN.
    """
    features = spread["features"].rename(columns={"low": "share_low", "high": "share_high"})
    return spread["weights"].merge(features, on="feature", how="left")


def pack_everything(result: Result) -> bytes:
    """Return all files of a run as a zip archive."""
    out = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        paths = export.write_run(result, Path(folder))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in paths:
                archive.write(path, path.name)
    return out.getvalue()
