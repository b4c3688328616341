"""The compared runs taken together: what they predict on average, and the clusters that they agree on."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from acvb_core.core.errors import ParameterError
from acvb_core.engine.experiments.answers import Combination, combine
from acvb_core.engine.result import Result
from acvb_core.store.export import csv_text
from acvb_core.views.comparison_table import same_split
from pages.ui.shared import format as say
from pages.ui.shared.charts import name_width
from pages.ui.shared.compared_runs import ComparedRuns
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import FileOffer, Key, show_download

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
    together, alone = (
        shown.write_with_baseline(score._asdict()) for score in (combined.score, combined.scores[at])
    )
    better = combined.score.log_likelihood >= combined.scores[at].log_likelihood
    verdict = "better than" if better else "not as good as"
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
    st.dataframe(
        table.sort_values(["cluster", "certainty"], ascending=[True, False]),
        hide_index=True,
        key=f"consensus_{domain}",
        height=min(320, 38 + 35 * len(table)),
        column_config={
            "object": st.column_config.TextColumn("Object", width=name_width()),
            "cluster": st.column_config.NumberColumn("Cluster"),
            "certainty": st.column_config.ProgressColumn(
                "Certainty", min_value=0.0, max_value=1.0, format="%.2f"
            ),
            **{
                f"run_{n}": st.column_config.NumberColumn(
                    f"Run {n}", help=f"{label}. Its clusters have the numbers of its own page."
                )
                for n, label in enumerate(labels, start=1)
            },
        },
    )
    show_download(
        combined.results[0],
        FileOffer(
            f"{name.capitalize()} as CSV", f"consensus-{domain}.csv", "text/csv", lambda: csv_text(table)
        ),
    )
