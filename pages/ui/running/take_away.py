"""The files of a run on the page of its answer: a report, a workbook, the data with results, a graph, single tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.relation import Relation
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.report.contents import Sheet, annotate_data, fill_gaps, has_gaps
from acvb_core.report.files import graph_bytes
from acvb_core.report.original import add_results
from acvb_core.report.page import list_figures, report_html
from acvb_core.report.workbook import workbook_bytes
from acvb_core.store import export
from acvb_core.store.datasets import Original
from acvb_core.store.snippet import python_snippet
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import FileOffer, choose_way, show_download
from pages.ui.shared.workspace import Workspace, current_workspace

_HTML = '<button type="button" class="save-figure"></button><span role="status"></span>'
_CSS = """
.save-figure { font: inherit; color: var(--st-text-color); background: var(--st-background-color); padding: .4rem .9rem;
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius); cursor: pointer; }
.save-figure:is(:hover, :focus-visible) { border-color: var(--st-primary-color); color: var(--st-primary-color); }
"""
# Streamlit's own Plotly makes the picture in the browser, so the server needs no browser of its own.
_JS = r"""
// A page of a PDF (points of 1/72 inch, 96 pixels an inch) with one picture on it, as a data address.
const makePdf = (jpeg, width, height, scale) => {
  const image = atob(jpeg.split(",")[1]);
  const [w, h] = [0.75 * width, 0.75 * height];
  const drawn = `q ${w} 0 0 ${h} 0 0 cm /I Do Q`;
  const look = `/Width ${width * scale}/Height ${height * scale}/ColorSpace/DeviceRGB/BitsPerComponent 8`;
  const bodies = [
    "<</Type/Catalog/Pages 2 0 R>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    `<</Type/Page/Parent 2 0 R/MediaBox[0 0 ${w} ${h}]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>`,
    `<</Length ${drawn.length}>>stream\n${drawn}\nendstream`,
    `<</Type/XObject/Subtype/Image${look}/Filter/DCTDecode/Length ${image.length}>>stream\n${image}\nendstream`,
  ];
  let text = "%PDF-1.4\n";
  const places = bodies.map((body, i) => {
    const place = `${text.length}`.padStart(10, "0");
    text += `${i + 1} 0 obj\n${body}\nendobj\n`;
    return `${place} 00000 n \n`;
  });
  const table = `xref\n0 ${bodies.length + 1}\n0000000000 65535 f \n${places.join("")}`;
  const end = `trailer\n<</Size ${bodies.length + 1}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`;
  return `data:application/pdf;base64,${btoa(text + table + end)}`;
};
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  const status = parentElement.querySelector("span");
  const { format, width, height, scale, name } = data;
  button.textContent = `Save as ${format.toUpperCase()}`;
  status.textContent = "";
  button.onclick = async () => {
    try {
      for (let i = 0; i < 200 && !window.Plotly?.toImage; i++) await pause(50);
      const figure = JSON.parse(data.figure);
      const layout = { ...figure.layout, width, height, autosize: false, paper_bgcolor: "#FFFFFF" };
      const link = document.createElement("a");
      const picture = { format: format === "pdf" ? "jpeg" : format, width, height, scale };
      const made = await window.Plotly.toImage({ data: figure.data, layout }, picture);
      link.href = format === "pdf" ? makePdf(made, width, height, scale) : made;
      link.download = name;
      link.click();
    } catch (error) {
      status.textContent = ` The picture could not be made: ${error}`;
    }
  };
}
"""
_component = st.components.v2.component("acvb_save_figure", html=_HTML, css=_CSS, js=_JS)
_FORMATS = {"svg": "SVG", "png": "PNG", "pdf": "PDF"}
#: Smallest and largest side of a picture in pixels, its usual width and height, and its points for each pixel.
_SMALLEST, _LARGEST, _USUAL = 200, 4_000, (900, 420)
_SCALES = {"svg": 1, "png": 2, "pdf": 3}
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def show_files(job: Job, result: Result, offers: Sequence[FileOffer]) -> None:
    """Draw the buttons of a run's files: those to send to others, those of this page, and Python that repeats it."""
    st.subheader("Download", anchor=False)
    with st.container(horizontal=True, gap="small", key="take_away"):
        for offer in list_offers(job, result):
            show_download(result, offer)
        if isinstance(result.prepared.data, Relation):
            show_own_file(result)
        show_figures(result)
    st.caption("Single tables and files")
    with st.container(horizontal=True, gap="small", key="files"):
        for offer in offers:
            show_download(result, offer)
        # A popover fetches the highlighting of code when it is opened; an expander does so while the page is drawn.
        with st.popover("Repeat this run in Python", icon=":material/code:", key="snippet"):
            known = add_report(current_workspace(), result, stored=False)
            st.code(python_snippet(known), language="python")


@st.fragment
def show_figures(result: Result) -> None:
    """Draw the button that opens the choice of a figure, its format and its size, and saves it."""
    place = st.popover("Figures", icon=":material/image:", key="save_figures", on_change="rerun")
    if not place.open:
        return
    with place, contain_failure():
        figures = {one.title: one.draw for one in list_figures(result)}
        title = st.selectbox("Figure", list(figures), key="saved_figure")
        figure = figures[title]()
        form = choose_way("Format", _FORMATS, "saved_format")
        with st.container(horizontal=True):
            usual = _USUAL[0], int(figure.layout.height or _USUAL[1])
            width, height = (
                st.number_input(
                    f"{side}, pixels", _SMALLEST, _LARGEST, pixels, key=f"saved_{side}_{title}", width=140
                )
                for side, pixels in zip(("Width", "Height"), usual, strict=True)
            )
        name = f"{say.file_name(result.prepared.data.name)[:40]}-{say.file_name(title)[:40]}.{form}"
        drawn = json.dumps(figure.to_dict(), default=lambda values: values.tolist())
        size = {"width": width, "height": height, "scale": _SCALES[form]}
        _component(data={"figure": drawn, "format": form, "name": name, **size}, key="figure_saver")
        st.caption(
            f"For each pixel a PNG has {_SCALES['png']} × {_SCALES['png']} points, and the picture in a PDF "
            f"{_SCALES['pdf']} × {_SCALES['pdf']}. An SVG stays sharp at any size, and so does a "
            "printed report."
        )


_WITH_CLUSTERS = (
    "Each line gets cluster, name and certainty of both ends. Lines and columns stay as they are."
)


def show_own_file(result: Result) -> None:
    """Draw the button of the list of links with the clusters of both ends, and the one that opens its upload."""
    workspace = current_workspace()
    original = workspace.find_original(result.prepared.fingerprint)
    if original is not None:

        def write(original: Original = original) -> str:
            content = workspace.read_original(original)
            return export.csv_text(add_results(add_report(workspace, result), content, original.name))

        about = f"The list of links that you loaded. {_WITH_CLUSTERS}"
        offer = FileOffer("Your own file with clusters", "with-clusters.csv", "text/csv", write, about)
        show_download(result, offer)
    _show_other_file(result, is_kept=original is not None)


@st.fragment
def _show_other_file(result: Result, *, is_kept: bool) -> None:
    """Draw the button that opens the upload of a list of links, and gives it back with the clusters of both ends."""
    label = "Another file" if is_kept else "Your own file"
    with st.popover(label, icon=":material/table_view:", key="own_file"), contain_failure():
        which = "a list of links" if is_kept else "the list of links that you loaded, or another one"
        st.caption(f"Upload {which} about the same objects. It is not kept.")
        given = st.file_uploader("List of links", key="own_file_upload", help=_WITH_CLUSTERS)
        if given is None:
            return
        try:
            table = add_results(add_report(current_workspace(), result), given, given.name)
        except AcvbError as error:
            st.text(str(error))  # it quotes the file
            return
        offer = FileOffer(
            "With clusters", "own-file.csv", "text/csv", lambda: export.csv_text(table), _WITH_CLUSTERS
        )
        show_download(result, offer)


def add_report(workspace: Workspace, result: Result, *, stored: bool = True) -> Result:
    """Return a result with what reading its data found, as far as a workspace knows it (`find_report`)."""
    report = workspace.find_report(result.prepared.fingerprint, stored=stored)
    return result if report is None else replace(result, report=report)


def list_offers(job: Job, result: Result) -> list[FileOffer]:
    """Return the files to send to others."""
    # Files are made in a thread of the server, which knows no session.
    workspace, note, relation = current_workspace(), job.label.note, result.prepared.data
    offers = [
        FileOffer(
            "Report",
            "report.html",
            "text/html",
            lambda: report_html(add_report(workspace, result), note=note),
            "One page with the result, figures, method and settings. It needs no network: send it, or print it as PDF.",
        ),
        FileOffer(
            "Everything in one workbook",
            "everything.xlsx",
            _WORKBOOK,
            lambda: workbook_bytes(add_report(workspace, result)),
            "An Excel workbook with a sheet for each table.",
        ),
    ]
    about = result.prepared.model_row.part("answer.summary").ANNOTATED
    offers.append(_offer_sheet("Data with results", "data.csv", lambda: annotate_data(result), about))
    if has_gaps(result):
        about = "Missing cells have their expected values; the last column names them."
        offers.append(_offer_sheet("Table, filled in", "filled.csv", lambda: fill_gaps(result)[0], about))
        about = "The cells that were missing: expected value and standard deviation of each."
        offers.append(_offer_sheet("Filled cells", "filled-cells.csv", lambda: fill_gaps(result)[1], about))
    if isinstance(relation, Relation):
        about = "Objects and links with clusters, names, colours and places, for Gephi, yEd, Cytoscape or networkx."
        for label, end, kind in (
            ("GEXF", "gexf", "application/gexf+xml"),
            ("GraphML", "graphml", "application/xml"),
        ):
            offers.append(FileOffer(label, f"graph.{end}", kind, partial(graph_bytes, result, end), about))
    return offers


def _offer_sheet(label: str, end: str, make: Callable[[], Sheet], about: str) -> FileOffer:
    """Return a table that `make` returns as a CSV file to download."""

    def write() -> str:
        sheet = make()
        return export.csv_text(sheet.table, exact=sheet.exact)

    return FileOffer(label, end, "text/csv", write, about)
