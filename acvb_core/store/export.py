"""Results as files that other programs read: CSV, JSON, npz, and the Python that repeats a run.

In CSV a text cell that begins with = + - @, a tab or a carriage return gets an apostrophe in front, everywhere
alike, because spreadsheets would take it for a formula. Numbers have six significant digits and whole numbers all of
theirs; `run.json`, `posterior.npz`, histories and the tables of experiments have the exact ones.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from acvb_core.core.files import scratch_prefix
from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import attribute_agreement
from acvb_core.registry import MODELS
from acvb_core.store.files import labels_bytes

if TYPE_CHECKING:
    import pandas as pd

# Spaces before the sign do not keep a spreadsheet from running it; some take the wide forms for the signs themselves.
_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?", re.ASCII)
#: What LaTeX takes for its own, and how it is written.
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
    | {letter: f"\\{letter}" for letter in "&%$#_{}"}
)
#: What a folder of results calls the run with its data (`Result.save`).
RESULT_FILE = "result.acvb"
#: … and the list of links that was read, with the clusters of both ends.
OWN_LINKS_FILE = "with-clusters.csv"
#: Above a table in LaTeX.
_LATEX_NOTES = (
    "% p: t-test against the best over splits of one data set, corrected for the training data that splits share",
    "% (Nadeau and Bengio 2003), adjusted by Holm's method. Star: no difference was found, which shows no equality.",
    "% Methods that are equal on average over data sets are still called different on one data set in 7 to 13 % of",
    "% cases. With several data sets test the means of each: compare_paired(..., ratio=0).",
)


def csv_text(frame: pd.DataFrame, *, exact: Collection[str] | bool = False, header: bool = True) -> str:
    """Return a frame as CSV, without its index; text that a spreadsheet would run is guarded by an apostrophe.

    `exact`: columns whose numbers are written with as many digits as bring them back exactly, or True for all; the
      others have six significant digits.
    `header`: with a line of the columns' names.
    """
    import pandas as pd

    whole = set(frame.columns) if exact is True else set(exact or ())
    columns, texts = {}, []
    # By their places: two columns may have the same name.
    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        if not pd.api.types.is_numeric_dtype(column):
            texts.append(column)
            column = pd.Series([_guard_cell(cell) for cell in column], frame.index, dtype=object)
        elif pd.api.types.is_float_dtype(column) and name not in whole:
            numbers = round_digits(column.to_numpy(dtype=np.float64, na_value=np.nan))
            column = pd.Series(numbers, frame.index)
        columns[at] = column
    guarded = pd.DataFrame(columns, index=frame.index)
    guarded.columns = pd.Index([_guard_cell(name) for name in frame.columns], dtype=object)
    out = io.StringIO()
    # A lone carriage return ends a line for many readers, but the writer itself would not quote it.
    odd = any(isinstance(cell, str) and "\r" in cell for column in texts for cell in column)
    quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    form: dict[str, Any] = {"lineterminator": "\n", "quoting": quoting, "float_format": _write_float}
    guarded.to_csv(out, index=False, header=header, **form)
    return out.getvalue()


def _guard_cell(cell: Any) -> Any:
    return f"'{cell}" if is_formula(cell) else cell


def is_formula(cell: Any) -> bool:
    """Return whether a cell is text that a spreadsheet would run; a number with a sign is none."""
    return isinstance(cell, str) and _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None


def round_digits(values: np.ndarray, digits: int = 6) -> np.ndarray:
    """Return numbers with so many significant digits; larger ones are rounded to whole numbers."""
    size, known = np.abs(values), np.isfinite(values) & (values != 0.0)
    after = digits - 1 - np.floor(np.log10(size, where=known, out=np.zeros(values.shape)))
    # Up to 10^22 powers of ten are exact, and their quotients are the numbers that are written with the fewest digits.
    exact, tiny = known & (after <= 22.0) & (size < 1e15), known & (after > 22.0)
    scale = 10.0 ** np.clip(after, 0.0, 22.0)
    rounded = np.where(exact, np.rint(np.where(exact, values, 0.0) * scale) / scale, values)
    rounded[tiny] = [float(f"{value:.{digits}g}") for value in values[tiny].tolist()]
    return rounded + 0.0  # without the sign of -0.0


def _write_float(value: float) -> str:
    """Return the shortest text that brings a number back, a whole one without a point."""
    return str(value).removesuffix(".0")


def latex_table(summary: pd.DataFrame) -> str:
    """Return a summary as a LaTeX table for the package booktabs.

    The best is in bold, and those without a difference from it that was found are starred.
    """
    import pandas as pd

    lines = [
        *_LATEX_NOTES,
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"Method & $n$ & Mean & SD & $p$ \\",
        r"\midrule",
    ]
    for row in summary.to_dict("records"):
        mean = "--" if pd.isna(row["mean"]) else f"{row['mean']:.4g}"
        if row["best"]:
            mean = rf"\textbf{{{mean}}}"
        elif not (row["significant"] or pd.isna(row["p"])):
            mean += "$^*$"
        sd, p = ("--" if pd.isna(row[name]) else f"{row[name]:.3g}" for name in ("sd", "p"))
        lines.append(rf"{row['condition'].translate(_LATEX)} & {row['n']} & {mean} & {sd} & {p} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


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
    known = index_attributes(compare_known_labels(result)).to_dict("index")
    facts = result.prepared.model_row.part("export").facts(result)
    return {"name": result.label} | result.to_dict() | facts | ({"known_labels": known} if known else {})


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
        IRM: object, cluster, name, probability of that cluster, entropy (nats); of a network rows.csv alone. Where
        labels of the objects are known, a column known_ATTRIBUTE for each attribute.
    blocks.csv
        IRM: row_cluster, row_name, column_cluster, column_name, ones, entries, mean, low, high; of an undirected
        network each block once.
        Where links are counted: count, expected in place of ones, entries, and the ratio of the two as mean.
    agreement.csv
        IRM, where labels are known: attribute, labels, known, unknown, ari, nmi (see `known_labels`), and side if
        columns have some.
    topics.csv
        LDA: topic, name, rank, word, probability of the most probable words.
    documents.csv
        LDA: document, topic_1 … topic_K: share of each topic. Of a corpus on disk those of a sample, as run.json
        tells; `write_document_topics` writes those of all.
    features.csv
        Latent features: feature, name, share of the objects that have it, objects (their expected number), and what it
        adds to each column, in the column's units.
    objects.csv
        Latent features: object, feature_1 … feature_K: probability that the object has each feature; a column
        known_NAME for each column of the rows' metadata.
    columns.csv
        Latent features: column, baseline, noise_sd, mean, sd, in the column's units.
    posterior.npz
        Arrays without pickle, as `arrays` in each model's export.py says; and row_cluster_names, column_cluster_names,
        topic_names or feature_names. Names are the UTF-8 bytes of a JSON list:
        `json.loads(file["vocabulary"].tobytes())`.
    model.npz
        LDA: the topics to continue from (`load_model`).

    Clusters, topics and features are numbered from 1, largest first, the same number in every file, with their names
    next to the numbers or after them in headings ("topic_1: sport"). Text in the CSV files is guarded as `csv_text`
    says; run.json and posterior.npz hold names as they are.

    Returns
    -------
    list of Path

    Raises
    ------
    OSError
        The folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"run.json": run_json(result), "history.csv": csv_text(result.history, exact=True)}
    texts |= {f"{name}.csv": csv_text(table) for name, table in list_tables(result).items()}
    if result.race is not None:
        texts["race.csv"] = csv_text(result.race, exact=True)
    paths = []
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8", newline="")
    paths.append(folder / "posterior.npz")
    write_posterior(result, paths[-1])
    written: list[Path] = result.prepared.model_row.part("export").files(result, folder)
    return paths + written


def list_tables(result: Result) -> dict[str, pd.DataFrame]:
    """Return the tables of a run by the names of their files, with names in headings and with known labels."""
    (part, _), names = result.prepared.model_row.display.parts, result.names
    tables = {
        name: name_headings(table, part, names.get(f"{part}s", ())) for name, table in result.tables.items()
    }
    if isinstance(result.prepared.data, Relation):
        domains = {"rows": "rows", "columns": "cols"}
        tables |= {name: add_known_labels(result, domains[name]) for name in domains if name in tables}
    known = compare_known_labels(result)
    return tables | ({"agreement": known} if len(known) else {})


def name_headings(table: pd.DataFrame, part: str, names: Sequence[str | None]) -> pd.DataFrame:
    """Return a table whose columns topic_1, topic_2, … have the names of the topics too: "topic_1: sport"."""
    headings = {f"{part}_{k}": f"{part}_{k}: {name}" for k, name in enumerate(names, start=1) if name}
    return table.rename(columns=headings)


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
    arrays = result.prepared.model_row.part("export").arrays(result)
    names = {
        f"{_PARTS.get(domain, domain[:-1])}_names": labels_bytes(own) for domain, own in result.names.items()
    }
    np.savez_compressed(file, allow_pickle=False, **arrays, **names)


#: What arrays call a part of a domain, if not by the domain's name in the singular.
_PARTS = {"rows": "row_cluster", "cols": "column_cluster"}


def has_heading(*columns: str) -> Callable[[Path], bool]:
    """Return a test for a CSV file that begins with these columns; a single column is all that it may have.

    Names of topics or features, which follow their numbers after a colon, do not count.
    """

    def is_table(path: Path) -> bool:
        first = _read_heading(path)
        begin = first[: len(columns)] if columns[1:] else first
        return tuple(name.partition(": ")[0] for name in begin) == columns

    return is_table


def _read_heading(path: Path) -> list[str]:
    """Return the names of the columns of a CSV file."""
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        return next(csv.reader([lines.readline(1 << 16)]), [])


def own_files() -> list[tuple[str, Callable[[Path], bool]]]:
    """Return the names of the files that runs may leave, each with a test: other files of such names are not ours."""
    shared = [
        ("history.csv", has_heading("sweep", "cpu_seconds")),
        ("race.csv", has_heading("seed", "sweeps", "cpu_seconds")),
        (RESULT_FILE, zipfile.is_zipfile),
        (OWN_LINKS_FILE, lambda path: any(name.endswith("_certainty") for name in _read_heading(path))),
    ]
    parts = dict.fromkeys(row.part("export") for row in MODELS)
    return shared + [file for part in parts for file in part.OWN_FILES]


def remove_leftovers(folder: Path, own: Collection[Path]) -> list[Path]:
    """Remove the files of an earlier run from a folder, and return them.

    `own` is what this run wrote and read: it stays, and so does every file that is not of a run.
    """
    stays = {path.resolve() for path in own}
    removed = []
    for name, is_own in own_files():
        path = folder / name
        if path.is_file() and path.resolve() not in stays and is_own(path):
            path.unlink()
            removed.append(path)
    return removed


def compare_known_labels(result: Result) -> pd.DataFrame:
    """Return the agreement of the clusters with each attribute of their objects.

    Returns: attribute; labels: how many different ones; known, unknown: objects with and without a label, the latter
      being left out; ari, nmi: adjusted Rand index and normalised mutual information, NaN where no label is known; if
      columns have known labels, also side: rows or columns.
    """
    import pandas as pd

    data = result.prepared.data
    if not isinstance(data, Relation):
        return attribute_agreement([], {})[0]
    table = attribute_agreement(result.posterior.labels("rows"), data.labels_of("rows"))[0]
    if data.network is not None or not data.column_attributes:
        return table
    columns = attribute_agreement(result.posterior.labels("cols"), data.labels_of("cols"))[0]
    if not len(columns):
        return table
    sides = {"rows": table, "columns": columns}
    return pd.concat([own.assign(side=side) for side, own in sides.items() if len(own)], ignore_index=True)


def index_attributes(table: pd.DataFrame) -> pd.DataFrame:
    """Return an agreement (`compare_known_labels`) by the attributes; one that rows have too is "NAME (columns)"."""
    again = table["attribute"].duplicated()
    names = table["attribute"].where(~again, table["attribute"] + " (columns)")
    return table.assign(attribute=names).set_index("attribute")


def add_known_labels(result: Result, domain: str = "rows") -> pd.DataFrame:
    """Return the table of the objects of a domain with a column `known_ATTRIBUTE` for each attribute, "" if unknown."""
    objects = result.rows if domain == "rows" else result.columns
    known = result.prepared.data.attributes_of(domain)
    return objects.assign(**{f"known_{name}": values for name, values in known.items()})
