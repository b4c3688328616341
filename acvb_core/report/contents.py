"""The contents of a report and of a workbook: tables of a run under titles, its settings, its method in words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import pandas as pd

from acvb_core.core.versions import LIBRARIES, describe_process
from acvb_core.data.table import Table
from acvb_core.engine.result import Result
from acvb_core.store.export import list_tables, to_plain


class Sheet(NamedTuple):
    """A table of a run under a title."""

    title: str  #: at most 31 characters, as a workbook needs
    about: str  #: one sentence
    table: pd.DataFrame
    exact: Collection[str] | bool = False  #: columns whose numbers have all their digits, or all (`csv_text`)


def list_sheets(result: Result) -> list[Sheet]:
    """Return the tables of a run: its parts with a line each, its own tables, the data, the settings, how it went."""
    summary = result.prepared.model_row.part("answer.summary")
    parts = summary.summarise_parts(result)
    sheets = [
        Sheet(title, "A line for each: size, certainty, contents.", part) for title, part in parts.items()
    ]
    tables = list_tables(result)
    for name, table in tables.items():
        title, about = summary.TITLES[name]
        sheets.append(Sheet(title, about, table))
    sheets += [Sheet(title, about, table) for title, (about, table) in summary.compare_parts(result).items()]
    sheets += [annotate_data(result), *fill_gaps(result)]
    sheets.append(Sheet("Settings", "The settings of the run.", list_settings(result)))
    sheets.append(Sheet("History", "Diagnostics of every sweep.", result.history, exact=True))
    if result.race is not None:
        sheets.append(Sheet("Race", "The restarts that raced.", result.race, exact=True))
    if result.report is not None and result.report.facts:
        lines = pd.DataFrame(
            {"count": [fact.count for fact in result.report.facts], "finding": result.report.lines()}
        )
        sheets.append(Sheet("Reading", "What reading the data found and did.", lines))
    versions = pd.DataFrame(list(describe_process().items()), columns=["name", "version"])
    return [
        *sheets,
        Sheet("Versions", "The program and its libraries: the same versions repeat the run.", versions),
    ]


def annotate_data(result: Result) -> Sheet:
    """Return the data as they were read, with the results in each line."""
    summary = result.prepared.model_row.part("answer.summary")
    table, read = summary.annotate_data(result)
    return Sheet("Data with results", summary.ANNOTATED, table, read)


def has_gaps(result: Result) -> bool:
    """Return whether the data have missing cells that the run predicts in a table."""
    return isinstance(result.prepared.data, Table) and result.prepared.data.n_missing > 0


def fill_gaps(result: Result) -> list[Sheet]:
    """Return the table with its missing cells filled in, and these cells; nothing if there are none."""
    if not has_gaps(result):
        return []
    filled = result.prepared.model_row.part("answer.summary").fill_in(result)
    own = [str(name) for name in result.prepared.data.columns]
    about = "The table with its missing cells filled in by their expected values; the last column names them."
    return [
        Sheet("Filled in", about, filled.table, own),
        Sheet("Filled cells", "The cells that were missing, with standard deviations.", filled.cells),
    ]


def list_settings(result: Result) -> pd.DataFrame:
    """Return the settings of a run: setting, value, default and meaning."""
    prepared = result.prepared
    spec, values = prepared.spec, prepared.spec.values
    rows = [
        ("model", spec.model, "", prepared.model_row.label),
        ("method", spec.method, "", prepared.row.label),
        ("seed", spec.seed, 0, "Seed of the inference."),
        ("heldout", spec.heldout, 0.0, "Share of the data that was held out to score predictions."),
        ("heldout_documents", spec.heldout_documents, 0.0, "Share of whole documents that was held out."),
        ("heldout_seed", spec.heldout_seed, 0, "Seed of what is held out."),
        ("start", spec.start, "", "The run that this one continued from."),
    ]
    rows += [(one.name, values[one.name], one.default, one.help) for one in prepared.row.parameters]
    known = [row for row in rows if row[1] != "" and (row[0] != "heldout_documents" or row[1])]
    frame = pd.DataFrame(known, columns=["setting", "value", "default", "meaning"], dtype=object)
    frame["value"], frame["default"] = (
        [_plain(value) for value in frame[name]] for name in ("value", "default")
    )
    return frame


def _plain(value: Any) -> Any:
    plain = to_plain(value)
    return plain if isinstance(plain, int | float | str) and not isinstance(plain, bool) else str(plain)


def describe_arrangement(result: Result) -> str:
    """Return in sentences that a reader has joined or left out parts, or chosen documents; empty if neither."""
    many = result.prepared.model_row.display.parts[1]
    of = ""
    if result.groups:
        of = (
            f"Shares and documents are of the documents with {result.of_groups} alone. Words of the {many}, scores, "
            "settings and curves are those of the run on all documents."
        )
    if not result.arranged:
        return of
    said = []
    for parts in result.arranged.values():
        joined = sum(len(part) > 1 for part in parts)
        said.append(f"{len(parts):,} made of {sum(map(len, parts)):,} of the run, {joined:,} of them joined")
    shown = " and ".join(said)
    text = f"A reader has arranged the {many}: shown are {shown}. Settings and curves are those of the run."
    return f"{text} {of}".rstrip()


def describe_method(result: Result) -> list[str]:
    """Return the model, the method, its reference and how the run was judged, in sentences for a paragraph."""
    prepared = result.prepared
    row, spec = prepared.row, prepared.spec
    sentences = [
        f"The data were fitted with the {prepared.model_row.label} by {row.label}.",
        row.summary,
        f"Reference: {row.reference}.",
        f"Convergence is judged by: {row.describe_convergence()}.",
    ]
    if spec.heldout or spec.heldout_documents:
        of = "documents" if spec.heldout_documents else prepared.model_row.unit[1]
        share = spec.heldout_documents or spec.heldout
        sentences.append(
            f"A share of {share:g} of the {of} was held out, which the run did not see, to score its predictions."
        )
    return sentences


def describe_convergence(result: Result) -> list[str]:
    """Return how the run ended and why, what its samples are worth, and how well it predicts, in sentences."""
    last = result.snapshot
    sentences = [result.reason, describe_arrangement(result)]
    if result.chain is not None:
        sentences.append(result.chain.describe())
    if result.race_report is not None and result.race_report.caution:
        sentences.append(result.race_report.caution)
    sentences.append(
        f"{last.sweep:,} sweeps took {last.cpu_seconds:,.3g} seconds of processor time."
        + ("" if last.lower_bound is None else f" Lower bound: {last.lower_bound:,.2f} nats.")
    )
    return [sentence for sentence in sentences if sentence]


def list_versions() -> str:
    """Return the versions of the program and its libraries in one line."""
    versions = describe_process()
    names = ("acvb_core", "Python", *LIBRARIES)
    return ", ".join(f"{name} {versions[name]}" for name in names)
