"""The number of topics: a form that starts the same runs with several numbers, and their measures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.display import write_number
from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import RunSpec
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.how_many import Recommendation, measure_stability, recommend_k
from acvb_core.models.lda.figures.topics import MEASURES, best_k, choose_k_figure
from acvb_core.models.lda.grid import MODEL, grid_row, grid_table, prepare_grid, settings_without_k
from acvb_core.registry import method_row, methods_for, model_row
from acvb_core.views.parts import stack_panels
from pages.ui.running.setup import find_free_memory
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_figure
from pages.ui.shared.empty import describe_answer_page, show_comparison_button, show_empty_state
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, answer_key, choose_one, list_runs, open_run, read_answer
from pages.ui.shared.refresh import is_narrow, refresh
from pages.ui.shared.services import places
from pages.ui.shared.style import MARKED
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.dataset import Dataset


def find_jobs(workspace: Workspace, dataset: Dataset) -> list[Job]:
    """Return the runs that find topics in the data in use, oldest first."""
    wanted = dataset.data.fingerprint
    return [job for job in list_runs(workspace, MODEL) if job.outline.fingerprint == wanted]


def group_grids(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return runs that differ in the number of topics and the seed alone, the newest grid first."""
    grids: dict[Any, list[Job]] = {}
    for job in jobs:
        if job.outline.error is None:
            grids.setdefault(settings_without_k(job.outline.spec), []).append(job)
    several = [group for group in grids.values() if len({topic_number(job) for job in group}) > 1]
    return sorted(several, key=lambda group: -max(job.created for job in group))


def topic_number(job: Job) -> int:
    """Return the chosen number of topics of a run."""
    return int(job.outline.spec.values["k"])


def describe_grid(group: Sequence[Job]) -> str:
    """Return the label of a grid: method, numbers, what is held out, most sweeps."""
    settings = group[0].outline.spec
    numbers = sorted({topic_number(job) for job in group})
    shown = ", ".join(f"{k:,}" for k in numbers)
    whole = f"{say.percent(settings.heldout_documents)} of the documents held out"
    held = f"{say.percent(settings.heldout)} held out" if settings.heldout else "nothing held out"
    row = method_row(MODEL, settings.method)
    values = settings.values
    most = say.epochs(values["epochs"]) if row.streams else f"at most {values['max_sweeps']:,} sweeps"
    return f"{row.label} · {shown} topics · {whole if settings.heldout_documents else held} · {most}"


def label_grids(groups: Iterable[Sequence[Job]]) -> dict[str, str]:
    """Return the label of each grid by the id of its first run; equal ones are numbered."""
    labels = {group[0].id: describe_grid(group) for group in groups}
    shared, counted = Counter(labels.values()), Counter[str]()
    for first, label in labels.items():
        counted[label] += 1
        if shared[label] > 1:
            labels[first] = f"{label} · no. {counted[label]}"
    return labels


def collect_finished(group: Iterable[Job]) -> list[tuple[Job, Result]]:
    """Return the runs that have ended, with their results."""
    ended = [(job, read_answer(job)) for job in group if job.outline.verdict is not None]
    return [(job, result) for job, result in ended if result is not None]


def collect_rows(group: Iterable[Job]) -> dict[str, dict[str, Any]]:
    """Return the measures of each run that has ended, a row of `Grid.table` by the id of the run."""
    return {job.id: _build_row(answer_key(job, result), result) for job, result in collect_finished(group)}


@st.cache_resource(show_spinner=False, max_entries=400)
def _build_row(key: Key, _result: Result) -> dict[str, Any]:
    return grid_row(_result)


def measure_group(group: Sequence[Job]) -> tuple[pd.DataFrame, Recommendation | None]:
    """Return the measures of the runs that have ended, their stability included, and the numbers that they favour."""
    ended = collect_finished(group)
    table = grid_table(collect_rows(group).values())
    stable = _measure_stability(
        tuple(answer_key(job, result) for job, result in ended), [one for _, one in ended]
    )
    table["stability"] = table["k"].map(stable).astype(float)
    return table, recommend_k(table, stable)


@st.cache_resource(show_spinner="Comparing the seeds", max_entries=32)
def _measure_stability(keys: tuple[Key, ...], _results: Sequence[Result]) -> dict[int, float]:
    return measure_stability(_results)


def find_best_run(group: Iterable[Job], k: int) -> Job | None:
    """Return the run with a number of topics that predicts best: held-out words, or each word from all others."""

    def perplexity(pair: tuple[Job, Result]) -> float:
        last = pair[1].snapshot
        value = last.extras.get("loo_perplexity") if last.heldout is None else last.heldout.perplexity
        return float("inf") if value is None else float(value)

    fitting = [pair for pair in collect_finished(group) if topic_number(pair[0]) == k]
    return min(fitting, key=perplexity)[0] if fitting else None


#: Numbers of topics that are tried unless others are given.
USUAL = (5, 10, 20, 40, 80)
USUAL_SWEEPS = 300
METHOD, STREAM = "cvb0", "sdm"
USUAL_EPOCHS = 3.0
MOST_SEEDS = 10


@dataclass(frozen=True)
class GridPlan:
    """Runs that the user asked for."""

    method: str
    ks: tuple[int, ...]
    seeds: int
    length: dict[str, Any]  #: the method's setting for the length of a run: most sweeps, or epochs
    check_memory: bool = True  #: a run does not start if it needs more memory than is free

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.ks) * self.seeds

    def memory_bytes(self, corpus: Corpus | DiskCorpus) -> int:
        """Peak memory of the runs that run at the same time, beyond the data."""
        row = method_row(MODEL, self.method)
        memory = model_row(MODEL).memory
        each = [memory(corpus, self.method, row.values({"k": k, **self.length})) for k in self.ks]
        return sum(sorted(each * self.seeds, reverse=True)[: places().here.limit])


def max_topics(corpus: Corpus | DiskCorpus) -> int:
    """Return the largest number of topics that makes sense: no more than there are documents, or words."""
    return min(corpus.shape)


def propose_numbers(corpus: Corpus | DiskCorpus) -> tuple[int, ...]:
    """Return the numbers of topics that are tried unless others are given; at least two where there can be."""
    most = max_topics(corpus)
    fitting = tuple(k for k in USUAL if k <= most)
    return fitting if len(fitting) > 1 else tuple(sorted({min(2, most), most}))


def parse_numbers(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers of topics in a text, "5, 10 20"; a ParameterError says which one cannot be tried."""
    numbers = set()
    for part in re.findall(r"[^\s,;]+", text):
        if not re.fullmatch(r"[0-9]{1,9}", part):
            text = f"{part[:40]!r} is not a whole number. Give numbers with commas between: 5, 10, 20."
            raise ParameterError(text)
        if not 1 <= int(part) <= most:
            text = f"{int(part):,} topics cannot be tried here. Give numbers from 1 to {most:,}."
            raise ParameterError(text)
        numbers.add(int(part))
    if len(numbers) < 2:
        raise ParameterError("Give at least two numbers to choose from: 5, 10, 20.")
    return tuple(sorted(numbers))


def start_runs(workspace: Workspace, dataset: Dataset, plan: GridPlan) -> int:
    """Start the runs of a plan that do not exist yet; return their number."""
    there = {_identity(job.prepared.spec) for job in find_jobs(workspace, dataset)}
    how = {"heldout": 0.0, **dataset.split, **plan.length, "check_memory": plan.check_memory}
    runs = prepare_grid(dataset.data, plan.ks, plan.method, plan.seeds, **how)
    new = [prepared for prepared in runs if _identity(prepared.spec) not in there]
    for prepared in new:
        workspace.add(prepared)
    return len(new)


def _identity(settings: RunSpec) -> tuple[Any, ...]:
    return settings_without_k(settings), settings.values["k"], settings.seed


def show_form(workspace: Workspace, dataset: Dataset, corpus: Corpus | DiskCorpus) -> None:
    """Draw the form of the runs, and start them."""
    methods = {method.name: method for method in methods_for(corpus, "lda")}
    usual = STREAM if isinstance(corpus, DiskCorpus) else METHOD
    columns = st.columns([2, 3, 1.5, 1.5], vertical_alignment="bottom")

    def keep(name: str) -> dict[str, Any]:
        return {"key": f"grid_{name}_{dataset.mark}", "persist_state": "session"}

    method = columns[0].selectbox(
        "Method",
        list(methods),
        index=list(methods).index(usual),
        format_func=lambda name: methods[name].label,
        help=f"{methods[usual].label} is fast and predicts well.",
        **keep("method" if usual == METHOD else "method_disk"),
    )
    proposed = ", ".join(map(str, propose_numbers(corpus)))
    hint = f"Separated by commas, from 1 to {max_topics(corpus):,}."
    text = columns[1].text_input("Numbers of topics", proposed, help=hint, **keep("ks"))
    hint = "Runs for each number of topics. How much they differ shows which differences between numbers are noise."
    seeds = columns[2].number_input("Seeds", 1, MOST_SEEDS, 2, help=hint, **keep("seeds"))
    length: dict[str, Any]
    if methods[method].streams:
        given = columns[3].number_input("Epochs", 1e-3, 1e3, USUAL_EPOCHS, 0.5, format="%g", **keep("epochs"))
        length = {"epochs": float(given)}
    else:
        given = columns[3].number_input("Maximum sweeps", 1, 100_000, USUAL_SWEEPS, 50, **keep("sweeps"))
        length = {"max_sweeps": int(given)}
    try:
        plan = GridPlan(method, parse_numbers(text, max_topics(corpus)), int(seeds), length)
    except ParameterError as error:
        plan = None
        st.text(str(error))
    allowed = False
    if plan is not None:
        plan = replace(plan, check_memory=check_memory(plan, corpus))
        anyway = f"grid_nevertheless_{dataset.mark}"
        allowed = plan.check_memory or st.checkbox("Start them anyway", key=anyway)
    of = "of the documents" if dataset.whole_documents else "of each document's words"
    share = f"{say.percent(dataset.heldout)} {of}" if dataset.heldout else "nothing"
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Start" if plan is None else f"Start {say.count(plan.n_runs, 'run')} of {methods[method].label}",
            type="primary", icon=":material/play_arrow:", disabled=not allowed, key="grid_start",
        )  # fmt: skip
        need = "" if plan is None else f"About {say.size(plan.memory_bytes(corpus))} of memory · "
        held = f"held out: {share}, seed {dataset.heldout_seed} (set on the Data page)"
        st.caption(need + held, width="content")
    if pressed and plan is not None:
        try:
            with st.spinner("Preparing the runs"):
                n_started = start_runs(workspace, dataset, plan)
        except AcvbError as error:
            st.text(str(error))
            return
        if n_started:
            st.rerun()  # the sidebar counts them, too
        else:
            st.caption("All of these runs exist already.")


def check_memory(plan: GridPlan, corpus: Corpus | DiskCorpus) -> bool:
    """Return whether the runs fit into memory; warn if they do not."""
    need, free = plan.memory_bytes(corpus), find_free_memory()
    if free is None or need <= free:
        return True
    st.warning(
        f"These runs need about {say.size(need)} of memory, and {say.size(free)} is free. Fewer topics need less.",
        icon=":material/memory:",
    )
    return False


REFRESH_SECONDS = 1.0
INTRODUCTION = """
You choose the number of topics. Try several numbers, each with more than one seed. A sentence then names the numbers
that do well by coherence, exclusivity, stability and held-out perplexity together. Read the topics before you decide.
"""

# "Choosing K" in docs/measured.md shows why leave-one-out perplexity cannot choose the number.
#: By the measure's name in the table of a grid.
MEASURE_TEXTS: dict[str, str] = {
    "heldout_perplexity": "**Held-out perplexity**: how well hidden words are predicted; 1,000 means as uncertain as a "
    "choice among 1,000 words. It often keeps improving with more topics than anybody would want to read.",
    "npmi": "**Coherence (NPMI)**, normalised pointwise mutual information: how often the ten most probable words of a "
    "topic occur in the same documents. It comes closest to what people call a clear topic, and usually favours few "
    "topics. Check the diversity, too: topics that repeat each other can be coherent.",
    "exclusivity": "**Exclusivity**: how much the ten most probable words of a topic belong to it alone, from 0 to 1. "
    "With few topics, words are shared by fewer of them, so the sentence counts what is above chance.",
    "stability": "**Stability**: how alike the topics are that two seeds find, from 0 (as any two topics) to 1 (the "
    "same). It needs two seeds.",
    "loo_perplexity": "**Leave-one-out perplexity**: how well each word is predicted from all others. It needs nothing "
    "held out. Do not choose the number of topics by it: it keeps falling after held-out perplexity has turned, "
    "because each word's topic was chosen with that word in view. It shows where more topics gain little.",
}

#: Columns of the table: heading, format, and 1 if higher is better, -1 if lower, else 0.
COLUMNS: dict[str, tuple[str, str | Callable[[float], str], int]] = {
    "k": ("Topics", "{:,.0f}", 0),
    "seed": ("Seed", "{:.0f}", 0),
    "state": ("Status", "{}", 0),
    "sweeps": ("Sweeps", "{:,.0f}", 0),
    "cpu_seconds": ("CPU s", write_number, 0),
    "loo_perplexity": ("Leave-one-out perplexity", write_number, -1),
    "heldout_perplexity": ("Held-out perplexity", write_number, -1),
    "npmi": ("NPMI", write_number, 1),
    "exclusivity": ("Exclusivity", write_number, 1),
    "u_mass": ("u_mass", write_number, 1),
    "diversity": ("Diversity", write_number, 1),
    "effective_k": ("In use", "{:,.0f}", 0),
}
#: Of columns that no text explains.
_HELPS = {
    "CPU s": "Processor seconds of the run.",
    "u_mass": "Coherence from counts of documents, as a logarithm (nats). Closer to 0 is better.",
    "Diversity": "Share of different words among the most probable ones of all topics: 1 if no topics share one.",
    "In use": "Topics that have tokens.",
}


def show_nothing_to_try(workspace: Workspace) -> None:
    """Draw the page without texts."""
    dataset = workspace.dataset

    def actions() -> None:
        st.page_link("pages/data.py", label="Choose texts", icon=":material/dataset:")
        show_comparison_button(workspace, "lda")

    show_empty_state(
        "Nothing to try yet",
        "This page is for texts, and for counts of words in documents. "
        + ("Choose some first." if dataset is None else describe_answer_page(dataset.model)),
        icon=":material/stacked_line_chart:",
        actions=actions,
    )


def show_measures(group: list[Job]) -> None:
    """Draw the progress and the measures of the runs, again and again while they run."""
    busy = any(job.inspect().status.active for job in group)

    def panel() -> None:
        active = [job for job in group if job.inspect().status.active]
        if busy and not active:
            st.rerun()
        if active:
            show_progress(group, active)
        table, found = measure_group(group)
        if len(table):
            if found is not None and not active:
                st.markdown(f"**{found.sentence}**")
            with contain_failure():
                wanted = None if found is None or active else (found.low, found.high)
                figure = choose_k_figure(table, wanted=wanted, height=330)
                if is_narrow():
                    figure.layout = stack_panels(figure)
                show_figure(figure, "grid_figure", "Measures by number of topics.")
            warn_at_edge(table)
            explain_measures(group)
        show_runs(group)

    refresh(panel, REFRESH_SECONDS if busy else None)


def show_progress(group: list[Job], active: list[Job]) -> None:
    """Draw the number of runs that have ended."""
    done = len(group) - len(active)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.progress(done / len(group), text=f"{done:,} of {say.count(len(group), 'run')} done", width=420)
        stops = not current_workspace().view_only
        if stops and st.button("Stop the rest", icon=":material/stop:", key="grid_stop"):
            for job in active:
                job.stop()


def warn_at_edge(table: pd.DataFrame) -> None:
    """Say which measures are best at the largest number that was tried, as a larger one may be better."""
    largest = int(table["k"].max())
    titles = [
        say.uncapitalise(title)
        for name, (title, _, _) in MEASURES.items()
        if table[name].notna().any() and best_k(table, name) == largest
    ]
    if titles:
        st.caption(
            f"Best at the largest number tried: {', '.join(titles)}. A larger number may be better still."
        )


def explain_measures(group: list[Job]) -> None:
    """Draw an explanation of each measure."""
    held_out = group[0].prepared.heldout is not None
    with st.container(key="grid_words"):
        for name, text in MEASURE_TEXTS.items():
            if held_out or name != "heldout_perplexity":
                with st.container(gap=None, key=f"grid_word_{name}"):
                    st.caption(text)
    prepared = group[0].prepared
    if prepared.model_row.on_disk(prepared.data):
        st.caption("The documents are on disk, so coherence is measured on a random sample of them.")
    if not held_out:
        st.caption("Nothing was held out of these runs, so they have no held-out perplexity.")


@contain_failure("table")
def show_runs(group: list[Job]) -> None:
    """Draw one line for each run: its measures once it has ended, its progress before."""
    ended, lines = collect_rows(group), []
    for job in group:
        seen = job.inspect()
        line = ended.get(job.id) or {
            "k": topic_number(job),
            "seed": job.prepared.spec.seed,
            "sweeps": 0 if seen.snapshot is None else seen.snapshot.sweep,
            "cpu_seconds": 0.0 if seen.snapshot is None else seen.snapshot.cpu_seconds,
        }
        lines.append(line | {"state": say.describe_state(seen.outline).text})
    table = pd.DataFrame(lines, columns=list(COLUMNS))
    table = table.sort_values(["k", "seed"], kind="stable", ignore_index=True)
    columns = dict(COLUMNS)
    if group[0].prepared.row.streams:  # a sweep of a stream is a window
        columns["sweeps"] = ("Windows", *COLUMNS["sweeps"][1:])
    best = {
        heading: (sign * table[name].astype(float)).max() * sign
        for name, (heading, _, sign) in columns.items()
        if sign and table[name].notna().sum() > 1
    }
    forms = {heading: form for heading, form, _ in columns.values()}
    table.columns = list(forms)

    def shade(column: pd.Series) -> list[str]:
        wanted = best.get(str(column.name))
        return [MARKED if wanted is not None and value == wanted else "" for value in column]

    shown = table.style.format(forms).apply(shade)
    helps = {heading: st.column_config.Column(help=text) for heading, text in _HELPS.items()}
    height = 38 + 35 * len(table)
    st.dataframe(
        shown, hide_index=True, key="grid_table", height=height, placeholder="–", column_config=helps
    )
    st.caption("Shaded: the best run by each measure. Rings in the figures: the best mean over the seeds.")


def choose_topics(group: list[Job]) -> None:
    """Draw the choice of a number whose topics are shown, once all runs have ended."""
    numbers = sorted({topic_number(job) for job, _ in collect_finished(group)})
    if not numbers or any(job.inspect().status.active for job in group):
        return
    table, found = measure_group(group)
    best = {name: best_k(table, name) for name in MEASURES if table[name].notna().any()}
    # Perplexity alone often favours more topics than anybody would read.
    first = numbers[0] if found is None else found.knee

    def label(k: int) -> str:
        by = [say.uncapitalise(MEASURES[name][0].partition(" (")[0]) for name, at in best.items() if at == k]
        return f"{k:,} topics" + (f" (best {', '.join(by)})" if by else "")

    # Other numbers are a new choice.
    key = f"grid_k_{group[0].id}_{'-'.join(map(str, numbers))}"
    st.session_state.setdefault(key, first)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="grid_go"):
        k = choose_one("Look at the topics of", numbers, label, key, width=540)
        if st.button("See the topics", icon=":material/topic:", key="grid_see"):
            chosen = find_best_run(group, k)
            if chosen is not None:
                open_run(chosen)


STYLE = """
<style>
.st-key-grid_words { display: grid; gap: 0.5rem 1.5rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(max(13rem, 30%), 1fr)); }
.st-key-grid_words > div { width: 100% !important; min-width: 0; }
</style>
"""


def show_how_many() -> None:
    """Draw the page."""
    workspace = current_workspace()
    st.title("How many topics?", anchor=False)
    dataset = workspace.dataset
    if dataset is None or not isinstance(dataset.data, Corpus | DiskCorpus):
        show_nothing_to_try(workspace)
        st.stop()
    st.html(STYLE)
    st.markdown(INTRODUCTION, width=860)
    if not workspace.view_only:
        with st.container(border=True, key="grid_form"):
            show_form(workspace, dataset, dataset.data)
    grids = group_grids(find_jobs(workspace, dataset))
    if not grids:
        st.caption(
            "No such runs yet."
            if workspace.view_only
            else "Press Start. The measures appear here as the runs end. You can leave the page meanwhile."
        )
        st.stop()
    groups = {group[0].id: group for group in grids}
    chosen = grids[0]
    if len(grids) > 1:
        chosen = groups[choose_one("Runs to compare", list(groups), label_grids(grids).__getitem__, "grid")]
    else:
        st.caption(describe_grid(chosen))
    show_measures(chosen)
    choose_topics(chosen)
