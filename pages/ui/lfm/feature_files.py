"""What is taken away of a run on a table."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.store import export
from acvb_core.store.csv_text import csv_text
from pages.ui.shared.picking import FileOffer


def list_files(result: Result) -> list[FileOffer]:
    """Return the files of a run: its tables, the run itself, its arrays, and all of them in one archive."""

    def table(name: str) -> str:
        return csv_text(result.tables[name])

    def arrays() -> bytes:
        out = io.BytesIO()
        np.savez_compressed(out, allow_pickle=False, **export.posterior_arrays(result))
        return out.getvalue()

    text = "text/csv"
    return [
        FileOffer("Weights of the features", "features.csv", text, lambda: table("features")),
        FileOffer("Features of the objects", "objects.csv", text, lambda: table("objects")),
        FileOffer("Baseline and noise of the columns", "columns.csv", text, lambda: table("columns")),
        FileOffer("The run", "run.json", "application/json", lambda: export.run_json(result)),
        FileOffer("Arrays", "posterior.npz", "application/octet-stream", arrays),
        FileOffer("Everything", "everything.zip", "application/zip", lambda: pack_everything(result)),
    ]


def pack_everything(result: Result) -> bytes:
    """Return all files of a run as a zip archive."""
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        paths = export.write_run(result, Path(folder))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in paths:
                archive.write(path, path.name)
    return out.getvalue()
