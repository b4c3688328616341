"""A figure that grows in place: Plotly.react on one node, so that zoom stays and nothing flickers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import streamlit as st

from acvb_core.views.narrow import stack_panels
from pages.ui.shared.charts import suit_page

_HTML = '<div class="live-plot" style="width:100%;min-height:10rem"></div>'
# The figure is drawn by the Plotly that Streamlit bundles. It is loaded with the first chart on the page, hence the
# waiting; a frame that is overtaken by a newer one meanwhile is dropped.
SCRIPT = r"""
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function bundledPlotly() {
  for (let i = 0; i < 400; i++) {
    if (window.Plotly?.react) return window.Plotly;
    await pause(50);
  }
  throw new Error("Plotly was not loaded");
}

const CONFIG = {
  displaylogo: false,
  responsive: true,
  scrollZoom: false,
  showSendToCloud: false, // the default offers to send the figure to another machine
  plotlyServerURL: "",
  toImageButtonOptions: { format: "svg" },
  modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
};

// Drawing anew while the user drags would end the drag, and the zoom it was to give.
function watchDrags(node) {
  if (node.watchesDrags) return;
  node.watchesDrags = true;
  node.addEventListener("pointerdown", () => (node.isDragged = true), true);
  for (const end of ["pointerup", "pointercancel", "blur"])
    window.addEventListener(end, () => (node.isDragged = false), true);
}

// The curves of selected runs stand out, or those of the run whose name is pointed at for a moment: others are paler.
const PALE = 0.4;
const MOMENT_MS = 300;
const runOf = (item) => item?.__data__?.[0]?.trace?.legendgroup;
function liftCurves(node) {
  const curves = [...node.querySelectorAll(".scatterlayer .trace")];
  const wanted = node.lifted ? [node.lifted] : node.selected;
  const isOne = curves.some((curve) => wanted.includes(runOf(curve))); // not of deleted runs alone
  for (const curve of curves) curve.style.filter = isOne && !wanted.includes(runOf(curve)) ? `opacity(${PALE})` : "";
}
const POINTING = ["pointerover", "pointerout", "focusin", "focusout"];
function watchNames(node) {
  if (node.watchNames) return;
  node.watchNames = ({ type, target, relatedTarget }) => {
    const at = /out$/.test(type) ? relatedTarget : target; // none where the pointer leaves the window
    const name = at?.closest?.(".legend .traces");
    const run = name && node.contains(name) ? runOf(name) : undefined;
    if (run === node.pointedAt) return;
    node.pointedAt = run;
    clearTimeout(node.moment);
    const lift = (one) => {
      node.lifted = one;
      liftCurves(node);
    };
    lift(undefined);
    if (run) node.moment = setTimeout(lift, MOMENT_MS, run);
  };
  for (const kind of POINTING) document.addEventListener(kind, node.watchNames);
}

// Pixels below which panels stand one below another.
const NARROW = 560;

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".live-plot");
  node.selected = data.lifted;
  watchDrags(node);
  watchNames(node);
  const isNarrow = () => node.clientWidth < NARROW;
  const frame = (node.liveFrame = (node.liveFrame ?? 0) + 1);
  const overtaken = () => frame !== node.liveFrame || !node.isConnected;
  const draw = async () => {
    const Plotly = await bundledPlotly();
    if (overtaken()) return;
    const figure = JSON.parse(data.figure);
    if ((node.narrow = isNarrow())) figure.layout = figure.narrow;
    node.style.height = `${figure.layout.height}px`;
    const style = getComputedStyle(node);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    figure.layout.font = {
      size: 13,
      ...figure.layout.font,
      family: read("--st-font", "sans-serif"),
      color: read("--st-text-color", "#1F2933"),
    };
    const drawing = JSON.stringify(figure);
    if (drawing === node.drawing) return liftCurves(node); // until the next point, frames are all the same
    while (node.isDragged) await pause(50);
    if (overtaken()) return;
    await Plotly.react(node, figure.data, figure.layout, CONFIG);
    node.drawing = drawing;
    liftCurves(node);
  };
  const report = (problem) => {
    if (!overtaken()) node.textContent = `The curves cannot be drawn: ${problem.message}`;
  };
  node.redraw = () => draw().catch(report);
  node.redraw();
  node.widths ??= new ResizeObserver(() => {
    if (node.narrow !== undefined && node.narrow !== isNarrow()) node.redraw();
  });
  node.widths.observe(node);
  return () => {
    // Streamlit also cleans up for a call that a newer one overtook; the node then stays on the page.
    if (node.isConnected) return;
    node.widths.disconnect();
    for (const kind of POINTING) document.removeEventListener(kind, node.watchNames);
    window.Plotly?.purge(node);
  };
}
"""
_component = st.components.v2.component("acvb_live_plot", html=_HTML, js=SCRIPT, isolate_styles=False)
_FIRST = {"data": [{"type": "scatter", "x": [0], "y": [0]}], "layout": {"height": 10}}


def live_plot(figure: dict[str, Any], *, key: str, lifted: Sequence[str] = ()) -> None:
    """Show a figure, or bring the one of this key up to date.

    Parameters
    ----------
    figure : dict
        `data` and `layout` as Plotly takes them; a constant `uirevision` keeps the zoom.
    key : str
    lifted : sequence of str
        Legend groups whose curves stand out.
    """
    # Streamlit loads its Plotly when a chart of its own appears: one of ten pixels, which never changes.
    with st.container(height=1, border=False, key=f"{key}_loader"):
        st.plotly_chart(_FIRST, key=f"{key}_loader_chart", config={"staticPlot": True})
    shown = suit_page({**figure, "narrow": stack_panels(figure)})
    _component(data={"figure": json.dumps(shown), "lifted": [*lifted]}, key=key)
