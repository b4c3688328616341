"""A run as one file to send to others, in the form that the end of the file's name says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.report.page import report_html
from acvb_core.report.workbook import workbook_bytes
from acvb_core.store.files import replace_file


def write_report(
    result: Result,
    path: str | Path,
    *,
    title: str = "",
    question: str = "",
    note: str = "",
    source: str | None = None,
) -> None:
    """Write a run to one file to send to others.

    Parameters
    ----------
    result : Result
    path : str or Path
        Its end says what is written. ".html": a report that needs no other file and no network. ".xlsx": a workbook
        with a sheet for each table. ".gexf" or ".graphml": a relation as a graph, with clusters, colours and places.
    title, question, note : str, optional
        Texts of a report. By default the name of the data, and the question that the model asks.
    source : str, optional
        The file that the data come from, for the Python in a report that repeats the run.

    Raises
    ------
    ParameterError
        There is no such form, the model of the run has no graph, or a relation has too many links for one.
    StoreError
        The file cannot be written.

    Examples
    --------
    >>> import acvb_core
    >>> result = acvb_core.fit(acvb_core.load_sample("karate"), k_rows=4)
    >>> acvb_core.write_report(result, "karate.html")  # doctest: +SKIP
    """
    texts = {"title": title, "question": question, "note": note}
    forms: dict[str, Callable[[], bytes]] = {
        ".html": lambda: report_html(result, source=source, **texts).encode("utf-8", "replace"),
        ".xlsx": lambda: workbook_bytes(result),
        ".gexf": lambda: graph_bytes(result, "gexf"),
        ".graphml": lambda: graph_bytes(result, "graphml"),
    }
    form = Path(path).suffix.lower()
    if form not in forms:
        raise ParameterError(
            f"{path} ends in {form!r}; a file may end in {', '.join(forms)}. For a PDF print the .html in a browser."
        )
    content = forms[form]()
    with replace_file(Path(path)) as file:
        file.write(content)


def graph_bytes(result: Result, format: str) -> bytes:
    """Return a relation with its clusters as a graph file, "gexf" or "graphml".

    Raises ParameterError: the model of the run has no graph, or the relation has too many links.
    """
    row = result.prepared.model_row
    if not isinstance(result.prepared.data, Relation):
        raise ParameterError(f"model {row.name!r} has no graph; write .html or .xlsx.")
    content: bytes = row.part("figures.graph_files").graph_bytes(result, format)
    return content
