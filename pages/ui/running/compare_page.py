"""Compare: several runs side by side and taken together, in curves, scores, and what they found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.engine.experiments.answers import Combination, combine
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.registry import method_row, model_row
from acvb_core.store.export import csv_text
from acvb_core.views.comparison import agreement_figure, alluvial_figure, contingency_figure
from acvb_core.views.comparison_table import (
    HELP,
    ComparisonTable,
    agreement_tables,
    clusters_of,
    comparison_table,
    name_clusters,
    same_documents,
    same_split,
)
from acvb_core.views.theme import Figure
from pages.ui.running.live import choose_axis, draw_curves, model_in_use, select_jobs
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import (
    ComparedRuns,
    choose_pair,
    show_conclusion,
    show_more_seeds,
    show_parts,
)
from pages.ui.shared.charts import name_width, show_figures_in_tabs
from pages.ui.shared.empty import show_comparison_button, show_empty_state
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import ModelPages, all_model_pages, models_on, pages_of_model, pages_of_run
from pages.ui.shared.picking import (
    Key,
    choose_way,
    follow_runs,
    list_runs,
    offer_table,
    show_absent_run,
    show_download,
)
from pages.ui.shared.style import MARKED
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.entrance import name_address

MOST_RUNS = 8


def show_too_few(workspace: Workspace, model: str, jobs: list[Job]) -> None:
    """Draw the page with one finished run or none: what is missing, and buttons that start it."""
    has_data = workspace.dataset is not None
    follow_runs(lambda: list_runs(workspace, *models_on(pages_of_model(model).answer.path)))

    def actions() -> None:
        if jobs:
            show_further_runs(workspace, jobs[0])
        if has_data:
            st.page_link("pages/run.py", label="Start more runs", icon=":material/play_arrow:")
        else:
            st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:")
        show_comparison_button(workspace, model, primary=not has_data)

    show_empty_state(
        "Nothing to compare yet",
        f"You need two finished runs, and there {'is one' if jobs else 'are none'} so far. Start several methods, or "
        "one method with several seeds, on the same data.",
        icon=":material/compare_arrows:",
        actions=actions,
    )


def show_further_runs(workspace: Workspace, job: Job) -> None:
    """Draw the buttons that start a run again with other seeds, or another method like it; none for a viewer."""
    show_more_seeds(workspace, job, "compare_seeds")
    settings, row = job.outline.spec, job.outline.model_row
    others = [name for name in pages_of_run(job).uses if name != settings.method]
    if workspace.view_only or not others or job.outline.on_disk or settings.start:
        return
    method = method_row(settings.model, others[0])
    if not st.button(f"Run {method.label} too", icon=":material/play_arrow:", key="compare_method"):
        return
    known = {parameter.name for parameter in method.parameters}
    values = {cap: settings.values[cap] for cap in row.caps.values() if cap in known & settings.values.keys()}
    names = ("model", "seed", "heldout", "heldout_documents", "heldout_seed")
    try:
        same = {name: getattr(settings, name) for name in names}
        workspace.add(prepare_run(job.prepared.data, method.name, values, **same))
    except AcvbError as error:
        st.error("The run could not be started.", icon=":material/error:")
        st.text(str(error))
    else:
        st.rerun()


def show_alone(workspace: Workspace, jobs: list[Job]) -> None:
    """Say so if one run alone is on the data in use, and offer others like it."""
    dataset = workspace.dataset
    here = (
        []
        if dataset is None
        else [job for job in jobs if job.outline.fingerprint == dataset.data.fingerprint]
    )
    if len(here) == 1:
        follow_runs(lambda: list_runs(workspace, here[0].outline.spec.model))
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="compare_alone"):
            st.text(f"{here[0].label.name} is the only run on the data in use.", width="content")
            show_further_runs(workspace, here[0])


@st.cache_resource(show_spinner=False, max_entries=16)
def compare_clusterings(
    keys: tuple[Key, ...], labels: tuple[str, ...], domain: str, _results: Sequence[Result]
) -> dict[str, pd.DataFrame]:
    return agreement_tables(_results, labels, domain)


def choose_runs(workspace: Workspace, jobs: list[Job], kind: str) -> list[Job]:
    """Draw the choice of runs: those on the data in use to begin with, and those that have ended since."""
    labels = say.label_runs(jobs)
    by_id = {job.id: job for job in jobs}
    dataset = workspace.dataset
    wanted = (dataset.data if dataset else jobs[-1].outline).fingerprint
    alike = [job.id for job in jobs if job.outline.fingerprint == wanted]
    if len(alike) < 2:
        alike = list(by_id)
    key, offered = f"compare_runs_{kind}", f"compare_offered_{kind}"
    asked = [] if workspace.tab is None else workspace.tab.take_runs()
    if known := [job_id for job_id in asked if job_id in by_id]:
        st.session_state[key], st.session_state[offered] = known[:MOST_RUNS], (wanted, alike)
    last, before = st.session_state.get(key), st.session_state.get(offered)
    st.session_state[offered] = (wanted, alike)
    if last is not None and before is not None and before[0] == wanted:
        new = [job_id for job_id in alike if job_id not in before[1]]
        still = [job_id for job_id in last if job_id in by_id]  # a run may have been removed since
        room = max(MOST_RUNS - len(still), 0)
        st.session_state[key] = [*still, *(new[-room:] if room else [])]
    else:
        st.session_state[key] = alike[-MOST_RUNS:]
    chosen = st.multiselect(
        "Runs",
        list(by_id),
        format_func=lambda job_id: labels.get(job_id, job_id),
        max_selections=MOST_RUNS,
        key=key,
        persist_state="session",
    )
    name_address(*(job_id for job_id in by_id if job_id in chosen))
    show_absent_run("compare", [] if len(known) == len(asked) else asked, chosen)
    return [by_id[job_id] for job_id in by_id if job_id in chosen]


def _say_what_is_shared(jobs: list[Job]) -> None:
    """Say what all runs have in common, which their names on this page leave out."""
    shared, _ = say.shorten_names(jobs)
    data = list(set(say.name_datasets(jobs).values()))
    if parts := [part for part in (shared, f"on {data[0]}" if len(data) == 1 else "") if part]:
        st.caption(f"All of them: {' · '.join(parts)}")


@contain_failure()
def show_curves(runs: ComparedRuns, model: str, note: str) -> None:
    x = choose_axis("compare_x", runs.jobs)
    if note:
        st.caption(note)
    labels = {job.id: label for job, label in zip(runs.jobs, runs.labels, strict=True)}
    draw_curves(runs.jobs, labels, x, key="compare_curves", of="compare", first=model)


@contain_failure("table")
def show_scores(table: ComparisonTable) -> None:
    for note in table.notes:
        st.caption(note)

    def marks(_: pd.DataFrame) -> pd.DataFrame:
        return table.best.map(lambda best: MARKED if best else "")

    shown = table.frame.style.format(table.formats, na_rep="–").apply(marks, axis=None)
    helps = {title: st.column_config.Column(help=HELP[title]) for title in table.frame if title in HELP}
    height = 38 + 35 * len(table.frame)
    st.dataframe(shown, key="compare_table", height=height, placeholder="–", column_config=helps)
    if table.best.to_numpy().any():
        st.caption("Shaded: best comparable value.", help="Log likelihoods are in nats (natural logarithms).")
    scores = table.frame.reset_index(names="Run")
    st.download_button(
        "Scores as CSV", lambda: csv_text(scores, exact=True), "scores.csv", "text/csv", key="compare_csv",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    if table.seeds is not None:
        st.dataframe(table.seeds, key="compare_seeds", height=38 + 35 * len(table.seeds), placeholder="–")
        st.caption(
            "Mean ± standard deviation over the runs that differ in their seeds alone.",
            help="R-hat, of Gibbs sampling: near 1 where the chains agree; above 1.01, take more sweeps. Effective "
            "samples: how many independent draws would tell as much. Both are the worst over the hyper-parameters.",
        )
    if "Skill, averaged" in table.frame:
        st.caption(
            "Averaged: predictions by the mean of many samples. Read the clusters of a run that has converged, and "
            "predict with the average. The figures for this are below."
        )


def show_advice(pages: ModelPages) -> None:
    """Draw which method reads best and which predicts best, with what was measured."""
    for heading, text in pages.words.advice:
        with st.expander(heading, icon=":material/rule:"):
            st.markdown(text, width=760)


@contain_failure("part of the page")
def show_agreement(runs: ComparedRuns, model: str) -> None:
    """Draw how alike the clusterings of the model's objects are."""
    domains = model_row(model).clusterings
    pages, results, labels = pages_of_model(model), runs.results, runs.labels
    _, parts = pages.parts
    others = {result.prepared.spec.model for result in results} - {model}
    domain = _choose_domain(domains)
    by = "A run with one clustering uses it for rows and columns. " if others else pages.clustered_by
    st.caption(
        f"{by}1 means the same {parts}, whatever their numbers; 0 means no more alike than by chance.",
        help="Adjusted Rand index (ARI): agreement beyond chance. Normalised mutual information (NMI): how much one "
        "grouping tells about the other.",
    )
    tables = compare_clusterings(runs.keys, tuple(labels), domain, results)
    measures = {
        name: (f"agreement_{measure}", partial(agreement_figure, tables[measure], measure))
        for name, measure in (("Rand index", "ari"), ("Mutual information", "nmi"))
    }
    show_figures_in_tabs(measures, "agreement_measure")


def _choose_domain(domains: Mapping[str, str]) -> str:
    """Draw the choice of the objects, if a model clusters two kinds."""
    if len(domains) == 1:
        return next(iter(domains))
    names = {name: words.capitalize() for name, words in domains.items()}
    return str(
        choose_way("Objects", names, "compare_domain", label_visibility="collapsed", persist_state="session")
    )


@contain_failure("part of the page")
def show_moves(runs: ComparedRuns, model: str) -> None:
    """Draw where the objects of each cluster of one run are in another run."""
    results, labels = runs.results, runs.labels
    domain = _choose_domain(model_row(model).clusterings)
    one, other = choose_pair("pair", labels)
    left, right = clusters_of((results[one], results[other]), domain)
    names = (labels[one], labels[other])
    called: Any = {
        "cluster_names": (name_clusters(results[one], domain), name_clusters(results[other], domain))
    }
    figures: dict[str, tuple[str, Callable[[], Figure]]] = {
        "Flow": ("alluvial", lambda: alluvial_figure(left, right, names, **called)),
        "Table": ("contingency", lambda: contingency_figure(left, right, names, **called)),
    }
    show_figures_in_tabs(figures, "pair_view")
    st.caption(
        "Clusters of the second run have the numbers of those of the first that they share most objects with."
    )


def find_model(workspace: Workspace) -> str:
    """Return the model whose page shows the runs to compare: of the data in use, else of the newest run."""
    model = model_in_use(workspace)
    jobs = select_jobs(workspace, False)
    newest = pages_of_run(jobs[-1]).model if jobs else None
    if model is None or (newest and newest not in models_on(pages_of_model(model).answer.path)):
        model = newest
    return model or next(iter(all_model_pages()))


def show_compare() -> None:
    """Draw the page."""
    workspace = current_workspace()
    st.title("Compare", anchor=False)
    model = find_model(workspace)
    pages = pages_of_model(model)
    alike = models_on(pages.answer.path)
    finished = [
        job
        for job in list_runs(workspace, *alike)
        if job.outline.verdict is not None and job.outline.has_answer
    ]
    if len(finished) < 2:
        name_address()
        show_too_few(workspace, model, finished)
        st.stop()
    show_alone(workspace, finished)
    chosen = choose_runs(workspace, finished, alike[0])
    if len(chosen) < 2:
        st.info("Choose two runs or more to compare.", icon=":material/compare_arrows:")
        st.stop()
    _say_what_is_shared(chosen)
    runs = ComparedRuns.gather(chosen)
    results = runs.results
    states = [say.describe_state(job.outline).text for job in chosen]
    table: ComparisonTable | None = None
    with contain_failure("table"):
        table = comparison_table(results, runs.labels, states)
    same_data = table is not None and table.same_data
    if table is not None and not same_data:
        st.warning(table.notes[0], icon=":material/warning:")
    show_conclusion(runs)
    note = table.notes[0] if table is not None and same_data and not table.same_split else ""
    parts = {} if table is None else {"Scores": partial(_show_score_part, table, pages, runs)}
    parts["Curves"] = partial(show_curves, runs, model, note)
    folded = runs.fold()
    parts[pages.answer.title] = partial(_show_answers, pages, folded)
    if same_data and model_row(model).clusterings and same_documents(results):
        # A model with two clusterings comes first: its two sides can be chosen.
        of = max(
            (job.prepared.spec.model for job in chosen), key=lambda name: len(model_row(name).clusterings)
        )
        parts["Agreement"] = partial(show_agreement, runs, of)
        parts["Where objects go"] = partial(show_moves, folded if len(folded.jobs) > 1 else runs, of)
    show_parts("compare_part", parts)


def _show_answers(pages: ModelPages, folded: ComparedRuns) -> None:
    """Draw the answers of runs side by side, each answer once."""
    if len(folded.jobs) == 1:
        st.text(f"All of these runs have the same answer. The {pages.answer.title} page shows it.")
    pages.compare(folded)


def _show_score_part(table: ComparisonTable, pages: ModelPages, runs: ComparedRuns) -> None:
    show_scores(table)
    show_advice(pages)
    show_combination(runs)


_HELP = (
    "The mean of what several runs predict is usually better than what one of them predicts. Certainty: how often, over"
    " the runs, an object is together with the others of its cluster."
)


@st.fragment
@contain_failure("part of the page")
def show_combination(runs: ComparedRuns) -> None:
    """Draw the button that combines the runs, and what they come to together; nothing for runs that cannot be."""
    prepared_runs = [result.prepared for result in runs.results]
    if len({(one.spec.model, one.fingerprint) for one in prepared_runs}) > 1 or not same_split(runs.results):
        return
    row = prepared_runs[0].model_row
    groups = row.clusterings if all(one.posterior.normalised for one in runs.results) else {}
    if prepared_runs[0].heldout is None and not groups:
        return
    st.subheader("Combined", anchor=False, help=_HELP)
    chosen = f"combined_{'_'.join(key[0] for key in runs.keys)}"
    if not st.session_state.get(chosen):
        label = f"Combine these {len(runs.results)} runs"
        if not st.button(label, icon=":material/merge:", key="combine_runs"):
            return
        st.session_state[chosen] = True
    combined = combine_runs(runs.keys, runs.results)
    if combined.score is not None:
        st.text(describe_prediction(combined, runs.labels))
    for domain, name in combined.clusterings.items():
        _show_consensus(combined, domain, name, runs.labels)


@st.cache_resource(show_spinner="Combining the runs", max_entries=8)
def combine_runs(keys: tuple[Key, ...], _results: Sequence[Result]) -> Combination:
    """Return the runs taken together."""
    return combine(_results)


def describe_prediction(combined: Combination, labels: Sequence[str]) -> str:
    """Return how well the runs predict together, and how well the best of them does alone."""
    shown = combined.results[0].prepared.model_row.display.score
    at = max(range(len(labels)), key=lambda run: combined.scores[run].log_likelihood)
    score, best = combined.score, combined.scores[at]
    together, alone = (shown.write_with_baseline(one._asdict()) for one in (score, best))
    verdict = "better than" if score.log_likelihood >= best.log_likelihood else "not as good as"
    return (
        f"Together: held-out {shown.name} {together}, {verdict} the best single run ({labels[at]}, {alone})."
    )


def _show_consensus(combined: Combination, domain: str, name: str, labels: Sequence[str]) -> None:
    """Draw the clusters that the runs agree on, and the file of them."""
    try:
        table = combined.consensus(domain)
    except ParameterError as error:
        st.info(str(error), icon=":material/info:")
        return
    n_groups, unsure = int(table["cluster"].max()), int((table["certainty"] < 0.5).sum())
    st.text(
        f"{name.capitalize()}: the runs agree on {say.count(n_groups, 'cluster')}. "
        f"Certainty is below 0.5 for {unsure:,} of {say.count(len(table), 'object')}."
    )
    columns: dict[str, Any] = {
        "object": st.column_config.TextColumn("Object", width=name_width()),
        "cluster": st.column_config.NumberColumn("Cluster"),
        "certainty": st.column_config.ProgressColumn(
            "Certainty", min_value=0.0, max_value=1.0, format="%.2f"
        ),
    }
    for n, label in enumerate(labels, start=1):
        help = f"{label}. Its clusters have the numbers of its own page."
        columns[f"run_{n}"] = st.column_config.NumberColumn(f"Run {n}", help=help)
    st.dataframe(
        table.sort_values(["cluster", "certainty"], ascending=[True, False]),
        hide_index=True,
        key=f"consensus_{domain}",
        height=min(320, 38 + 35 * len(table)),
        column_config=columns,
    )
    offer = offer_table(f"{name.capitalize()} as CSV", f"consensus-{domain}.csv", lambda: table)
    show_download(combined.results[0], offer)
