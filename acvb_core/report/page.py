"""A run as one HTML page to send to others: it needs no other file and no network, and prints well."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from datetime import date
from typing import Any

import pandas as pd

from acvb_core.core.display import write_number
from acvb_core.core.errors import AcvbError
from acvb_core.engine.result import Result
from acvb_core.report.contents import (
    Sheet,
    describe_arrangement,
    describe_convergence,
    describe_method,
    list_settings,
    list_sheets,
    list_versions,
)
from acvb_core.store.export import csv_text
from acvb_core.store.snippet import python_snippet
from acvb_core.views.conclusion import describe_run
from acvb_core.views.theme import ReportFigure, isolate, plotly_source

#: Rows and columns of a table that are shown, lines of a table of parts, and characters of a cell.
_ROWS, _COLUMNS, _PARTS, _CHARACTERS = 12, 9, 200, 300
#: Characters of one CSV file that the page has, and of all of them.
_MOST_CSV, _MOST_FILES = 2_000_000, 8_000_000
#: Sheets that have a section of their own, or say nothing to a reader of the page.
_ELSEWHERE = ("Settings", "Reading", "Versions")
#: Width of a figure in pixels, and of one that takes half of the page.
_WIDTH, _HALF = 920, 450


def report_html(
    result: Result, *, title: str = "", question: str = "", note: str = "", source: str | None = None
) -> str:
    """Return a report of a run as an HTML page.

    The page has the question and what was found, the parts by name with their uncertainty, figures, the data and what
    reading them found, the method with its reference, how the run converged, the first rows of every table with the
    whole one as a file, settings, versions, and Python that repeats the run. Text of the user is shown as it is.

    `title`: by default the name of the data.
    `question`: by default that of the model.
    `note`: further text of the user, such as the note of the run.
    `source`: the file that the data come from, for the Python (`python_snippet`).
    """
    heading = title or result.prepared.data.name
    sheets = list_sheets(result)
    parts = result.prepared.model_row.part("answer.summary").summarise_parts(result)
    *figures, curves = list_figures(result)
    sections = [
        _write_found(result, question, note),
        *(_write_part(name, table) for name, table in parts.items()),
        _write_figures(figures),
        _write_data(result),
        _write_method(result, curves),
        _write_tables([sheet for sheet in sheets if sheet.title not in (*_ELSEWHERE, *parts)]),
        _write_settings(result),
        _write_snippet(result, source),
    ]
    return _PAGE.format(
        title=_text(heading),
        run=_text(f"{result.label} · {date.today():%d %B %Y}"),
        style=_STYLE,
        body="\n".join(sections),
        plotly=plotly_source(),
        draw=_DRAW,
    )


def list_figures(result: Result) -> list[ReportFigure]:
    """Return the figures of a report, the curves of the run at the end."""
    found = result.prepared.model_row.part("figures.plots").list_reported(result)
    return [
        *found,
        ReportFigure("Curves of the run", "Each point is a sweep.", lambda: result.plot("convergence")),
    ]


def _text(value: object) -> str:
    """Return text as HTML shows it: no tags, and the direction of what follows left alone."""
    return html.escape(isolate(str(value)))


def _paragraph(*sentences: str) -> str:
    return f"<p>{_text(' '.join(sentence for sentence in sentences if sentence))}</p>"


def _section(title: str, *content: str) -> str:
    return f"<section>\n<h2>{_text(title)}</h2>\n" + "\n".join(content) + "\n</section>"


def _write_found(result: Result, question: str, note: str) -> str:
    found = result.prepared.model_row.part("answer.summary").describe_parts(result)
    asked = question or result.prepared.model_row.display.question
    return _section(
        "Result",
        f'<p class="question">{_text(asked)}</p>',
        f'<div class="found">{_paragraph(found)}{_paragraph(describe_run(result))}</div>',
        *map(_paragraph, filter(None, [describe_arrangement(result)])),
        *(_paragraph(line) for line in note.splitlines() if line.strip()),
    )


def _write_part(title: str, table: pd.DataFrame) -> str:
    shown = table.iloc[:_PARTS].rename(columns=lambda name: name.replace("_", " "))
    return _section(title, _write_table(shown), _describe_rest(len(table), _PARTS))


def _describe_rest(n: int, shown: int) -> str:
    return f"<p class=note>The first {shown:,} of {n:,} lines.</p>" if n > shown else ""


def _write_figures(figures: Sequence[ReportFigure]) -> str:
    return (
        _section("Figures", '<div class="figures">', *map(_write_figure, figures), "</div>")
        if figures
        else ""
    )


def _write_figure(reported: ReportFigure) -> str:
    """Return a figure as data that the page draws when it is opened."""
    try:
        figure = reported.draw()
    except AcvbError as error:
        return _paragraph(f"{reported.title}: {error}")
    # Plotly's JSON writes < > & as codes, so no text in it can end the script.
    if reported.half:
        figure.update_layout(title_text="")  # the heading above it says the same
    look, width = ("half", _HALF) if reported.half else ("wide", _WIDTH)
    return (
        f'<figure class="{look}" data-width="{width}" data-alt="{_text(reported.title)}">'
        f"<h3>{_text(reported.title)}</h3>"
        f'<script type="application/json">{figure.to_json(validate=False)}</script>'
        f"<figcaption>{_text(reported.caption)}</figcaption></figure>"
    )


def _write_data(result: Result) -> str:
    data, lines = result.prepared.data, [] if result.report is None else result.report.lines()
    source = "" if result.report is None else f"Read from {result.report.source}."
    reading = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return _section(
        "Data",
        _paragraph(f"{data.name}: {data.size_text}.", source),
        f"<ul>{reading}</ul>" if reading else "",
        f"<p class=note>Fingerprint (SHA-256): <code>{_text(result.prepared.fingerprint)}</code></p>",
    )


def _write_method(result: Result, curves: ReportFigure) -> str:
    return _section(
        "Method and convergence",
        _paragraph(*describe_method(result)),
        _paragraph(*describe_convergence(result)),
        _write_figure(curves),
    )


def _write_tables(sheets: Sequence[Sheet]) -> str:
    content, room = [], _MOST_FILES
    for sheet in sheets:
        table = sheet.table
        content.append(f"<h3>{_text(sheet.title)}</h3>{_paragraph(sheet.about)}")
        content.append(_write_table(table.iloc[:_ROWS, :_COLUMNS]))
        file = csv_text(table, exact=sheet.exact) if table.size * 4 <= min(room, _MOST_CSV) else ""
        if file and len(file) <= min(room, _MOST_CSV):
            room -= len(file)
        else:
            file = ""
        content.append(_describe_table(table, sheet.title, file))
    return _section("Tables", *content)


def _describe_table(table: pd.DataFrame, title: str, file: str) -> str:
    """Return how much of a table is shown, with a link to the whole of it."""
    size = f"{len(table):,} rows, {table.shape[1]:,} columns."
    if not file:
        return f"<p class=note>{size} The table is too large for this page; the workbook or the CSV file has it.</p>"
    name = f"{title.lower().replace(' ', '-')}.csv"
    content = base64.b64encode(file.encode("utf-8", "replace")).decode()
    link = (
        f'<a download="{_text(name)}" href="data:text/csv;charset=utf-8;base64,{content}">{_text(name)}</a>'
    )
    return f"<p class=note>{size} <span class=screen>The whole table: {link}</span></p>"


def _write_table(table: pd.DataFrame) -> str:
    """Return a table of all cells that are given."""
    numbers = [pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
    head = "".join(
        f"<th{' class=number' if number else ''}>{_text(_shorten(name))}</th>"
        for name, number in zip(table.columns, numbers, strict=True)
    )
    columns = [_write_cells(table.iloc[:, at], number) for at, number in enumerate(numbers)]
    body = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in zip(*columns, strict=True))
    return f'<div class="table"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _write_cells(column: pd.Series, number: bool) -> list[str]:
    if number:
        return [f"<td class=number>{_write_value(value)}</td>" for value in column.tolist()]
    return [f"<td>{'' if pd.isna(value) else _text(_shorten(value))}</td>" for value in column.tolist()]


def _write_value(value: Any) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, bool | int):
        return f"{value}"
    return write_number(value) if abs(value) < 1e15 else f"{value:.4g}"


def _shorten(value: object) -> str:
    text = str(value)
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"


def _write_settings(result: Result) -> str:
    return _section(
        "Settings", _write_table(list_settings(result)), _paragraph(f"Versions: {list_versions()}.")
    )


def _write_snippet(result: Result, source: str | None) -> str:
    code = python_snippet(result, source)
    return _section(
        "Repeat this run",
        _paragraph("This Python gives the same numbers, bit by bit, with the same versions."),
        f'<pre id="snippet">{html.escape(code)}</pre>',
    )


#: Nothing may be loaded: not by the page, and not by what somebody wrote into a name.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
body { max-width: 940px; margin: 2rem auto; padding: 0 1rem; color: #1f2933; background: #fff;
  font: 15px/1.5 'Source Sans 3', 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #d9e0e6; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; overflow-wrap: anywhere; }
p, li, td, th { overflow-wrap: anywhere; }
.run, .note, figcaption { color: #52606d; font-size: .87rem; }
.question { font-style: italic; }
.found { border-left: 4px solid #0072b2; padding: .1rem 0 .1rem 1rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid #e9edf1;
  min-width: 2.5rem; max-width: 24rem; }
th { border-bottom-color: #9aa5b1; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 20px; }
figure { margin: 0; flex: 0 0 100%; min-width: 0; }
figure.half { flex: 0 1 450px; }
figure img { width: 100%; height: auto; display: block; }
pre { background: #f4f6f8; padding: .8rem 1rem; font-size: .8rem; overflow-x: auto; white-space: pre-wrap; }
code { font-size: .8rem; overflow-wrap: anywhere; }
@page { margin: 15mm; }
@media print {
  body { max-width: none; margin: 0; padding: 0; font-size: 10pt; }
  h2, h3 { break-after: avoid; }
  figure, tr, .found { break-inside: avoid; }
  thead { display: table-header-group; }
  .table, pre { overflow: visible; }
  figure.half { flex-basis: calc(50% - 10px); }
  .screen { display: none; }
}
"""
#: Draws each figure once, as a picture that keeps its proportions on paper.
_DRAW = """
(async () => {
  for (const place of document.querySelectorAll("figure[data-width]")) {
    const note = document.createElement("a");
    try {
      const parts = JSON.parse(place.querySelector("script").textContent);
      const width = Number(place.dataset.width), height = parts.layout.height || 420;
      const layout = {...parts.layout, width, height, autosize: false, paper_bgcolor: "#fff"};
      const picture = document.createElement("img");
      picture.src = await Plotly.toImage({data: parts.data, layout}, {format: "svg", width, height});
      picture.alt = place.dataset.alt;
      note.href = picture.src;
      note.download = place.dataset.alt + ".svg";
      note.className = "note screen";
      note.textContent = "SVG";
      place.insertBefore(picture, place.querySelector("figcaption"));
    } catch (error) {
      note.textContent = "This figure could not be drawn: " + error;
    }
    place.append(note);
  }
  document.documentElement.dataset.drawn = "yes";
})();
"""
_PAGE = (
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content=\""""
    + _POLICY
    + """\">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1><p class="run">{run}</p></header>
{body}
<noscript><p>The figures need JavaScript, which is off.</p></noscript>
<script>{plotly}</script>
<script>{draw}</script>
</body>
</html>
"""
)
