"""The live part of the Run page: the table of runs and their curves, refreshed while anything moves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import streamlit as st

from acvb_core.engine.history import RACE_CRITERIA
from acvb_core.engine.job import Job, JobSnapshot
from acvb_core.registry import methods_of
from acvb_core.views.convergence import RunCurve, XAxis, find_overlaps, live_figure
from acvb_core.views.parts import stack_panels
from acvb_core.views.theme import Figure
from pages.ui.running.run_table import Rows, show_actions, show_end, show_remarks, show_run_table
from pages.ui.shared import format as say
from pages.ui.shared.absent import show_deleted_runs
from pages.ui.shared.charts import suit_page
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import group_by_model
from pages.ui.shared.picking import choose_way
from pages.ui.shared.refresh import refresh
from pages.ui.shared.sidebar import count_moving_jobs
from pages.ui.shared.workspace import Workspace

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


def live_plot(figure: Figure, *, key: str, lifted: Sequence[str] = ()) -> None:
    """Show a figure, or bring the one of this key up to date; a constant `uirevision` keeps the zoom."""
    # Streamlit loads its Plotly when a chart of its own appears: a tiny one, which never changes. If it were as wide as
    # the page, it would stay so when the window becomes narrow.
    with st.container(height=1, width=20, border=False, key=f"{key}_loader"):
        st.plotly_chart(_FIRST, key=f"{key}_loader_chart", config={"staticPlot": True})
    parts = suit_page(figure.to_dict() | {"narrow": stack_panels(figure)})
    drawn = json.dumps(parts, default=lambda values: values.tolist())  # arrays that Plotly does not encode
    _component(data={"figure": drawn, "lifted": [*lifted]}, key=key)


REFRESH_SECONDS = 0.5
#: Runs that have ended and whose curves are drawn without being selected.
MOST_CURVES = 12
#: Overlaps of curves that are put into words.
MOST_OVERLAPS = 3
AXES: dict[XAxis, str] = {"sweep": "Against sweeps", "cpu_seconds": "Against CPU seconds"}
#: … where some runs stream.
STREAM_AXES: dict[XAxis, str] = {
    "passes": "Against epochs",
    "documents_seen": "Against documents",
    "cpu_seconds": "Against CPU seconds",
    "sweep": "Against windows",
}


def select_jobs(workspace: Workspace, every: bool) -> list[Job]:
    """Return the runs to show: those on the data in use, or all of them where asked for or there is no data."""
    jobs, dataset = workspace.jobs, workspace.dataset
    if every or dataset is None:
        return jobs
    wanted = dataset.data.fingerprint
    return [job for job in jobs if job.outline.fingerprint == wanted]


def show_live_runs(workspace: Workspace, *, every: bool) -> None:
    """Draw the table of the runs and their curves, and keep both fresh while a run moves."""
    busy = count_moving_jobs(workspace)["run"] > 0
    drawn = [job.id for job in select_jobs(workspace, every)]

    def panels() -> None:
        now_busy = count_moving_jobs(workspace)["run"] > 0
        jobs = select_jobs(workspace, every)
        if now_busy != busy or [job.id for job in jobs] != drawn:
            st.rerun()  # begin or end the refreshing, or have the rest of the page know what was deleted or added
        show_deleted_runs(workspace)
        rows = Rows.of(jobs)
        shown = rows.choose_drawn(MOST_CURVES)
        labels = say.label_runs(jobs)
        curves = {curve.id: curve for curve in build_curves(shown, labels)}
        chosen = show_run_table(workspace, rows, {job.id: job.inspect() for job in shown}, curves)
        ids = {job.id for job in (*shown, *chosen)}
        shown = [job for job in jobs if job.id in ids]
        acted = chosen or rows.lines[0].jobs
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run_bar"):
            with contain_failure("row of buttons"):
                show_actions(workspace, acted)
            # In here, so that switching redraws the panels and not the page around them.
            x = choose_axis("x_axis", shown)
        show_remarks(workspace, jobs, chosen)
        show_races(shown)
        lifted = [job.id for job in chosen]
        draw_curves(
            shown, labels, x, key="curves", of=workspace.id, first=model_in_use(workspace), lifted=lifted
        )
        show_end(acted)  # below, so that the curves stay on the first screen

    refresh(panels, REFRESH_SECONDS if busy else None)


@contain_failure("part of the page")
def show_races(jobs: Sequence[Job]) -> None:
    """Draw a line for each run of several restarts: how they stand, or how it went."""
    labels = say.label_runs(jobs)
    lines = [f"**{labels[job.id]}**: {text}" for job in jobs if (text := describe_race(job.inspect()))]
    if lines:
        st.caption("  \n".join(lines))


def describe_race(seen: JobSnapshot) -> str:
    """Return how the restarts of a run stand, in words; "" where it has none."""
    race_report, starts = seen.race_report, seen.prepared.spec.restarts
    if race_report is None:
        by = RACE_CRITERIA[seen.prepared.model_row.raced_by]
        return "" if starts == 1 else f"{starts:,} starts will race by the {by}."
    by = RACE_CRITERIA[race_report.judged_by]
    sizes = " → ".join(f"{size:,}" for size in race_report.sizes)
    seed = f"seed {race_report.leader}"
    if race_report.rung is not None:
        return (
            f"racing by the {by}: {sizes} → …, leader {seed}; seed {race_report.running} is on its way to "
            f"{race_report.rung:,} sweeps."
        )
    total = race_report if seen.snapshot is None else race_report.with_leader(seen.snapshot)
    cost = f"{say.count(total.sweeps, 'sweep')} and {say.duration(total.cpu_seconds)} of CPU in all"
    if not race_report.is_decided:
        return (
            f"the race of {race_report.restarts:,} starts was stopped; {seed}, then ahead, was kept. {cost}."
        )
    won = f"{seed} won the race of {race_report.restarts:,} starts by the {by} ({sizes}), {cost}."
    return f"{won} {race_report.caution}".rstrip()


def model_in_use(workspace: Workspace) -> str | None:
    """Return the model of the data in use, None without data."""
    dataset = workspace.dataset
    return None if dataset is None else dataset.model


def choose_axis(key: str, jobs: Sequence[Job]) -> XAxis:
    """Draw the choice of what curves are drawn against; CPU time by default where sweeps of different kinds meet."""
    streams = [job.prepared.row.streams for job in jobs]
    axes = dict(STREAM_AXES if any(streams) else AXES)
    if any(streams) and not all(streams):
        axes["sweep"] = "Against sweeps, windows"
    key = f"{key}_stream" if any(streams) else key
    comparable = have_like_sweeps(jobs)
    first = {} if comparable else {"default": "cpu_seconds"}
    key = key if comparable else f"{key}_time"
    x: XAxis = choose_way(
        "Curves against", axes, key, label_visibility="collapsed", persist_state="session", **first
    )
    return x


def have_like_sweeps(jobs: Sequence[Job]) -> bool:
    """Return whether the runs of each model sweep alike: no samplers or streams beside others."""
    kinds = {(job.prepared.row.model, job.prepared.row.sampled, job.prepared.row.streams) for job in jobs}
    return len(kinds) == len({model for model, *_ in kinds})


def draw_curves(
    jobs: Sequence[Job],
    labels: Mapping[str, str],
    x: XAxis,
    *,
    key: str,
    of: str,
    first: str | None = None,
    lifted: Sequence[str] = (),
) -> None:
    """Draw the curves of some runs, those of each model in a figure of their own.

    `labels` are names by id. `of` says what is shown: while it is the same, the zoom stays. Runs of the model `first`
    come first. Curves are paler than those of the runs `lifted`. Models without streaming methods have sweeps in
    place of documents and epochs.
    """
    for number, (model, some) in enumerate(group_by_model(jobs, first).items()):
        streams = any(method.streams for method in methods_of(model))
        own = x if streams or x == "cpu_seconds" else "sweep"
        with contain_failure():
            curves = build_curves(some, labels)
            figure = live_figure(curves, x=own, uirevision=f"{of}-{model}-{own}")
            live_plot(figure, key=key if number == 0 else f"{key}_{model}", lifted=lifted)
            for overlap in find_overlaps(curves)[:MOST_OVERLAPS]:
                st.caption(overlap.describe())


def build_curves(jobs: Sequence[Job], labels: Mapping[str, str]) -> list[RunCurve]:
    """Return what the figure needs of each run."""
    return [RunCurve.of_run(job.id, labels[job.id], job.prepared, job.history) for job in jobs]
