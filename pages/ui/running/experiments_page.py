"""Experiments: a form, and for each experiment how far it is, its table, its figure, its answer and its files."""

from __future__ import annotations

import re
from functools import partial

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Status
from acvb_core.engine.experiments.answers import COURSE
from acvb_core.engine.experiments.plan import SCORE, Plan, plan_experiment
from acvb_core.engine.experiments.report import LEVEL, TWO_WAYS, Experiment
from acvb_core.engine.prepared import clean_name
from acvb_core.engine.study import StudyJob, StudyState
from acvb_core.evaluate.significance import LEAST_SPLITS
from acvb_core.registry import methods_for
from acvb_core.store.export import csv_text, latex_table
from acvb_core.views.studies import course_figure, experiment_figure
from pages.ui.running.setup import choose_model
from pages.ui.running.studies import follow_study, show_study_bar, show_troubles
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_figure
from pages.ui.shared.empty import show_empty_state
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.dataset import Dataset

#: Methods and settings in one experiment, and splits.
MOST_CONDITIONS, MOST_SPLITS = 100, 1_000
#: Methods that are compared unless others are chosen; of a model without them its first three.
_USUAL = ("acvb0", "cvb0", "vb", "gibbs")
#: Columns of the table, and what they are called.
_TITLES = {
    "condition": "Method", "level": "", "n": "Runs", "mean": "Mean", "sd": "SD", "difference": "From the best",
    "low": "95 % from", "high": "to", "p": "p", "p_uncorrected": "p (uncorrected)", "p_wilcoxon": "p (ranks)",
    "cpu_seconds": "CPU s", "stability": "Stability",
}  # fmt: skip
_OF_TESTS = ("level", "low", "high", "p", "p_uncorrected", "p_wilcoxon")
#: Of the columns of the table.
_HELPS = {
    "SD": "Standard deviation over the splits.",
    "From the best": "Mean difference from the best method, split by split.",
    "95 % from": "Lower end of the 95 % interval of that difference, corrected as p is.",
    "to": "Upper end of the 95 % interval of that difference, corrected as p is.",
    "p": "How easily chance alone would make such a difference on these data: t-test, corrected for the training data "
    "that splits share, and adjusted for the number of pairs (Holm's method).",
    "p (uncorrected)": "Paired t-test without that correction. It asks less: would other splits of these same data "
    "show a difference?",
    "p (ranks)": "Asks the same as p (uncorrected), by Wilcoxon's signed ranks, which trusts no normal distribution.",
    "CPU s": "Mean processor seconds of a run.",
}
_ABOUT = (
    "One run on one split proves little. An experiment fits several methods on several random splits of your data. "
    "All methods get the same splits, and the differences of their held-out scores are tested."
)


def show_experiments_page() -> None:
    """Draw the page."""
    st.title("Experiments", anchor=False)
    st.caption(_ABOUT)
    workspace = current_workspace()
    dataset = workspace.dataset
    jobs = workspace.experiments.jobs(workspace.key)
    if dataset is None and not jobs:
        show_empty_state(
            "No data yet",
            "Choose data first. Then name the methods to compare here.",
            icon=":material/science:",
            actions=lambda: st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:"),
        )
        return
    if dataset is not None and not workspace.view_only:
        with st.expander("New experiment", icon=":material/add:", expanded=not jobs):
            _show_form(workspace, dataset)
    show_troubles(workspace, workspace.experiments, "experiment", "experiment")
    for job in reversed(jobs):
        with contain_failure("experiment"):
            _show_experiment(workspace, job)


def _show_form(workspace: Workspace, dataset: Dataset) -> None:
    model = choose_model(dataset, "experiment_")
    rows = {row.name: row for row in methods_for(dataset.data, model)}
    usual = [name for name in _USUAL if name in rows] or list(rows)[:3]
    chosen = st.multiselect(
        "Methods", list(rows), default=usual, format_func=lambda name: rows[name].label,
        key=f"experiment_methods_{model}_{dataset.mark}", persist_state="session",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom", key="experiment_form"):
        typed = st.text_input(
            "Numbers to try (K)", "", placeholder="usual", key=f"experiment_k_{dataset.mark}", width=220,
            persist_state="session",
            help="Numbers of clusters, topics or features, with commas between: 5, 10, 20. Each is tried "
            "with each method. Empty: each method's usual number.",
        )  # fmt: skip
        splits = st.number_input(
            "Splits", 2, MOST_SPLITS, 10, key=f"experiment_splits_{dataset.mark}", persist_state="session",
            help=f"From {LEAST_SPLITS} splits on, differences are tested.",
        )  # fmt: skip
        seed = st.number_input(
            "First seed", 0, 2**31 - 1, 0, key=f"experiment_seed_{dataset.mark}", persist_state="session"
        )
    numbers = [part.strip() for part in typed.split(",") if part.strip()]
    wrong = next((part for part in numbers if not re.fullmatch(r"\d{1,6}", part)), None)
    n_runs = len(chosen) * max(len(numbers), 1) * int(splits)
    reason = None
    if not chosen:
        reason = "Choose at least one method."
    elif wrong is not None:
        reason = f"K is {wrong!r}; give whole numbers with commas between."
    elif not dataset.heldout:
        reason = "Nothing is held out to judge methods by. Set a share on the Data page."
    elif len(chosen) * max(len(numbers), 1) > MOST_CONDITIONS:
        reason = f"These are more than {MOST_CONDITIONS} methods and settings. Choose fewer."
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Start the experiment", type="primary", icon=":material/science:", key="experiment_start",
            disabled=reason is not None,
        )  # fmt: skip
        st.caption(
            reason or f"{say.count(n_runs, 'run')}, each with {say.percent(dataset.heldout)} held out.",
            width="content",
        )
    if pressed:
        k = [int(part) for part in numbers] or None
        try:
            plan = _plan(dataset, model, chosen, k, int(splits), int(seed))
            workspace.require_room()
            workspace.experiments.add(workspace.key, plan, dataset.name)
        except AcvbError as error:
            st.error("The experiment could not be started.", icon=":material/error:")
            st.text(str(error))
            return
        st.rerun()


def _plan(
    dataset: Dataset, model: str, methods: list[str], k: list[int] | None, splits: int, seed: int
) -> Plan:
    share = {name: value for name, value in dataset.split.items() if name != "heldout_seed"}
    return plan_experiment(dataset.data, methods, model=model, k=k, splits=splits, seed=seed, **share)


def _show_experiment(workspace: Workspace, job: StudyJob[Experiment]) -> None:
    with st.container(border=True, key=f"experiment_{job.id}"):
        name = clean_name(workspace.experiments.name(job.id)) or "data"
        st.subheader(f"{name} · {say.ago(job.created)}", anchor=False)

        def draw(seen: StudyState[Experiment]) -> None:
            show_study_bar(
                workspace, workspace.experiments, job, seen, prefix="experiment",
                text=_describe_state(job, seen), nouns=("experiment", "run"),
            )  # fmt: skip
            if seen.error is not None:
                st.error("The experiment failed:", icon=":material/error:")
                st.text(seen.error)
            if seen.study.scores:
                with contain_failure("answer"):
                    _show_answer(job, seen.study)

        follow_study(job, draw)


def _describe_state(job: StudyJob[Experiment], seen: StudyState[Experiment]) -> str:
    text = f"{seen.study.n_runs:,} of {say.count(seen.planned, 'run')}"
    if seen.status is Status.QUEUED:
        return f"{say.describe_wait(job)} · {text}"
    if seen.status is Status.PAUSED:
        return f"Paused · {text}"
    if not seen.status.active and not seen.is_complete:
        return f"{'Interrupted' if seen.status is Status.INTERRUPTED else 'Stopped'} · {text}"
    return text


def _show_answer(job: StudyJob[Experiment], experiment: Experiment) -> None:
    key = f"experiment_{job.id}"
    names = {name: _name_score(name) for name in experiment.scores}
    score = st.selectbox(
        "Score", list(names), index=list(names).index(SCORE) if SCORE in names else 0, format_func=names.__getitem__,
        key=f"{key}_score", width=300,
    )  # fmt: skip
    st.markdown(f"**{experiment.conclusion(score)}**")
    summary = experiment.summary(score)
    tested = bool(summary["p"].notna().any())
    helps = {title: st.column_config.Column(help=text) for title, text in _HELPS.items()}
    table = _format_summary(summary)
    if not tested:
        table = table.drop(columns=[_TITLES[name] for name in _OF_TESTS])
    st.dataframe(table, hide_index=True, placeholder="–", key=f"{key}_table", column_config=helps)
    st.caption(
        ("★: no difference from the best was found. " if tested else "")
        + "Stability: how alike the clusters or topics of the runs are, from 0 "
        "(as by chance) to 1 (the same)."
        + (f" {TWO_WAYS}" if (summary["predicts_by"] == "samples").any() else ""),
        help=f"★: p is at least {LEVEL:g}. Splits of the same data share most of their training data, so the t-test "
        f"and its interval are corrected (Nadeau and Bengio 2003). Fewer than {LEAST_SPLITS} splits are not tested. "
        "The result is about these data: methods that are equal on average over data sets are still called different "
        "on one data set in 7 to 13 % of cases.",
    )
    show_figure(
        partial(experiment_figure, experiment, score, names[score]),
        f"{key}_figure",
        f"{names[score]} of every run, and the mean of every row of the table. {experiment.conclusion(score)}",
    )
    if any(row.get(COURSE) for row in experiment.rows):
        show_figure(
            partial(course_figure, experiment, names[SCORE]),
            f"{key}_course",
            f"{names[SCORE]} over CPU seconds: the mean of each method's runs, and the range of all of them.",
        )
    failed = [row for row in experiment.rows if row.get("error")]
    if failed:
        st.warning(f"{say.count(len(failed), 'run')} failed:", icon=":material/warning:")
        st.text("\n".join(f"Run {row['run']:,} ({row['condition']}): {row['error']}" for row in failed[:5]))
    if len(failed) > 5:
        st.caption("The file of all runs gives the other reasons.")
    files = (
        ("Download all runs (CSV)", "runs.csv", lambda: csv_text(experiment.table(), exact=True)),
        ("Download the table (CSV)", "summary.csv", lambda: csv_text(summary, exact=True)),
        ("Download the table (LaTeX)", "summary.tex", lambda: latex_table(summary)),
    )
    with st.container(horizontal=True):
        for label, name, write in files:
            icon = ":material/download:"
            st.download_button(label, write, name, icon=icon, key=f"{key}_{name}", on_click="ignore")


def _name_score(name: str) -> str:
    """Return what a score is called: "Held-out log likelihood"."""
    words = name.removeprefix("heldout_").replace("_", " ")
    return f"Held-out {words.replace('roc auc', 'ROC AUC').replace('rmse', 'RMSE')}"


def _format_summary(summary: pd.DataFrame) -> pd.DataFrame:
    of_others = ["difference", "low", "high"]
    level = ~summary["significant"] & (summary["best"] | summary["p"].notna())
    table = summary.assign(level=level.map({True: "★", False: ""}))
    table[of_others] = table[of_others].mask(summary["best"])
    return table[list(_TITLES)].rename(columns=_TITLES)
