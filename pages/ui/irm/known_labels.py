"""Labels of objects that are known beforehand: of the data, from a file, and how well clusters agree with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.network import with_attributes
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_labels
from acvb_core.data.report import ReadReport
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import LabelAgreement, attribute_agreement
from acvb_core.models.irm.answer.naming import insert_names
from acvb_core.models.irm.figures.summaries import MOST_ANNOTATED, MOST_LABELS, MOST_NARROW, label_figure
from pages.ui.irm.label_effects import show_effects
from pages.ui.shared.charts import name_width, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_one, choose_way, offer_table, show_download
from pages.ui.shared.refresh import is_narrow
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.upload.form import show_error
from pages.ui.workspace.dataset import Dataset

#: In the session: labels of relations that are not in use, by fingerprint.
_KEPT = "labels_kept"


def show_known_labels(relation: Relation) -> None:
    """Draw the known labels of the data in use, and the upload of more."""
    if len(table := list_attributes(relation)):
        st.dataframe(table, hide_index=True, key="attributes")
        st.caption("Runs never see them. The Blocks page compares the clusters with them.")
    else:
        st.caption(
            "Do you know which objects belong together, by department, party or species, say? Runs never see such "
            "labels. The Blocks page shows how well the clusters agree with them."
        )
    workspace = current_workspace()
    if not workspace.view_only:
        domain = "rows"
        if relation.network is None:
            # What the sides are called is the user's text, which a control would take for Markdown.
            domain = str(choose_way("Labels of", {"rows": "Rows", "cols": "Columns"}, "data_label_side"))
        upload_labels(workspace, relation, domain, "data")


def name_sides(relation: Relation) -> dict[str, str]:
    """Return what the two sides of a relation are called, by domain."""
    kinds = {"rows": ("Rows", relation.row_kind), "cols": ("Columns", relation.column_kind)}
    return {
        domain: side if kind.lower() in side.lower() else f"{side} ({kind})"
        for domain, (side, kind) in kinds.items()
    }


def list_attributes(relation: Relation) -> pd.DataFrame:
    """Return one line for each attribute: how many objects have a label, and how many labels there are."""
    lines = []
    sides = {"rows": ""} if relation.network is not None else name_sides(relation)
    for domain, side in sides.items():
        for name, values in relation.attributes_of(domain).items():
            known = values[values != ""]
            examples = ", ".join(str(value) for value in pd.unique(known)[:3])
            lines.append((name, side, len(known), len(pd.unique(known)), examples))
    columns = ["Attribute", "Of", "Objects with a label", "Labels", "First labels"]
    table = pd.DataFrame(lines, columns=columns)
    return table.drop(columns="Of") if relation.network is not None else table


def upload_labels(workspace: Workspace, relation: Relation, domain: str, key: str) -> None:
    """Draw the upload of a table of labels of a domain, and add them to the relation at once; nothing for a viewer."""
    if workspace.view_only:
        return
    key = f"{key}_{domain}"
    file = st.file_uploader(
        "Upload known labels",
        key=f"{key}_labels",
        help="A CSV or similar. The first line names the columns. Each further line has an object's name and its "
        "labels.",
    )
    if file is None:
        return
    done = f"{key}_labels_done"
    mark = (getattr(file, "file_id", file.name), relation.fingerprint)
    read: tuple[Any, ReadReport] | None = st.session_state.get(done)
    if read is not None and read[0] == mark:
        for line in read[1].lines():
            st.text(f"• {line}")
        return
    try:
        file.seek(0)
        labels = load_labels(file, relation, domain=domain, filename=file.name)
    except AcvbError as error:
        show_error(error, key=f"{key}_labels_problem")
        return
    keep_labels(workspace, relation, domain, labels)
    st.session_state[done] = (mark, labels.report)
    st.rerun()


def keep_labels(workspace: Workspace, relation: Relation, domain: str, labels: Mapping[str, Any]) -> None:
    """Add labels to the data in use if they are of these data; otherwise keep them in the session."""
    dataset = _find_dataset(workspace, relation)
    if dataset is not None:
        workspace.set_dataset(replace(dataset, data=with_attributes(dataset.data, labels, domain)))
        return
    kept = st.session_state.setdefault(_KEPT, {})
    key = relation.fingerprint, domain
    kept[key] = kept.get(key, {}) | dict(labels)


def carry_attributes(before: Relation, after: Relation) -> Relation:
    """Return the second relation with the attributes of the first one's objects, by their names."""
    for domain, side in (("rows", "row_labels"), ("cols", "column_labels")):
        place = {name: i for i, name in enumerate(getattr(before, side))}
        at = [place.get(name) for name in getattr(after, side)]
        own = after.attributes_of(domain)
        more = {
            name: [values[i] if i is not None else "" for i in at]
            for name, values in before.attributes_of(domain).items()
            if name not in own
        }
        after = with_attributes(after, more, domain) if more else after
    return after


def join_known_labels(workspace: Workspace, key: Key, result: Result) -> tuple[Key, Result]:
    """Return a run's result with all known labels of its objects, also those uploaded since, and its key."""
    relation = result.prepared.data
    found: dict[str, dict[str, Any]] = {}
    dataset = _find_dataset(workspace, relation)
    for domain in ("rows", "cols") if relation.network is None else ("rows",):
        more: dict[str, Any] = {} if dataset is None else dict(dataset.data.attributes_of(domain))
        more |= st.session_state.get(_KEPT, {}).get((relation.fingerprint, domain), {})
        own = relation.attributes_of(domain)
        new = {name: values for name, values in more.items() if not _equal(own.get(name), values)}
        found |= {domain: new} if new else {}
    if not found:
        return key, result
    shown = tuple(
        (domain, name, hash(tuple(values))) for domain, new in found.items() for name, values in new.items()
    )
    job_id, sweep, end = key
    key = job_id, sweep, f"{end} {hash(shown)}"
    return key, _extend_result(key, result, found)


@st.cache_resource(show_spinner=False, max_entries=8)
def _extend_result(key: Key, _result: Result, _labels: Mapping[str, Mapping[str, Any]]) -> Result:
    data = _result.prepared.data
    for domain, labels in _labels.items():
        data = with_attributes(data, labels, domain)
    return _result.with_state(prepared=replace(_result.prepared, data=data))


def _find_dataset(workspace: Workspace, relation: Relation) -> Dataset | None:
    """Return the data in use if they have the same objects in the same order."""
    dataset = workspace.dataset
    if dataset is None or not isinstance(dataset.data, Relation):
        return None
    one = dataset.data
    alike = one.fingerprint == relation.fingerprint and _equal(one.row_labels, relation.row_labels)
    return dataset if one is relation or alike else None


def _equal(one: Any, other: Any) -> bool:
    return one is not None and pd.Index(one).equals(pd.Index(other))


@contain_failure("part of the page")
def show_agreement(workspace: Workspace, key: Key, result: Result, loaded: Relation) -> None:
    """Draw how well clusters agree with the known labels of their objects, and the upload of more.

    `loaded`: the relation with its objects named by their ids, as tables of labels name them.
    """
    relation = result.prepared.data
    st.subheader("Known labels", anchor=False)
    domain = choose_clustering(result)
    table, details = score_agreements(result, domain)
    if not details:
        of = (
            {"rows": "row objects", "cols": "column objects"}[domain] if relation.network is None else "nodes"
        )
        st.caption(
            f"The {of} have no known labels of groups. Upload a table of labels (department, party, species) to see "
            "how well the clusters match them. Runs never use labels."
        )
        upload_labels(workspace, loaded, domain, "blocks")
        return
    objects = "nodes" if relation.network is not None else "objects"
    st.dataframe(
        table,
        hide_index=True,
        column_order=("attribute", "ari", "nmi", "labels", "known", "unknown"),
        key="label_scores",
        column_config={
            "attribute": st.column_config.TextColumn("Attribute", width=name_width()),
            "labels": st.column_config.NumberColumn("Labels", width="small", help="Different labels."),
            "known": st.column_config.NumberColumn(f"{objects.capitalize()} with a label"),
            "unknown": st.column_config.NumberColumn(f"{objects.capitalize()} without one"),
            "ari": st.column_config.NumberColumn(
                "ARI",
                format="%.3f",
                help="Adjusted Rand index. 1: the clusters match the labels exactly. 0: no better than chance.",
            ),
            "nmi": st.column_config.NumberColumn(
                "NMI",
                format="%.3f",
                help="Normalised mutual information. 1: the clusters match the labels exactly. 0: nothing in common.",
            ),
        },
    )
    st.caption(
        "How well the clusters match the labels, from 0 (not at all) to 1 (exactly): ARI is the adjusted Rand index, "
        "NMI the normalised mutual information."
    )
    names = sorted(details, key=lambda name: not details[name].groups)  # an identifier comes last
    attribute = names[0]
    if len(names) > 1:
        attribute = choose_one("Attribute", names, str, "label_attribute", width=320)
    shown, most = details[attribute], MOST_NARROW if is_narrow() else MOST_LABELS
    st.caption(_explain_numbers(shown, objects, most))
    alt = "How many objects of each cluster have each label."
    show_figure(label_figure(shown, attribute, names=result.names[domain], most=most), "label_chart", alt)
    end = f"labels-{names.index(attribute) + 1}.csv"
    counts = insert_names(shown.counts, "cluster", "name", result.names[domain])
    show_download(result, offer_table("All counts of the labels", end, lambda: counts))
    show_effects(key, domain, attribute, result)
    if not workspace.view_only:
        with st.expander("More labels from a file", icon=":material/upload:", key="more_labels"):
            upload_labels(workspace, loaded, domain, "blocks")


def _explain_numbers(shown: LabelAgreement, objects: str, most: int) -> str:
    """Return what the numbers of the chart are, and which labels have no column."""
    text = f"Each number counts the {objects} of a cluster (row) that have a label (column)."
    n_clusters, n = shown.table.shape
    if max(n_clusters, min(n, most)) > MOST_ANNOTATED:
        text = f"Point at a cell to see how many {objects} of a cluster (row) have a label (column)."
    if n <= most:
        return text
    return (
        f"{text} The {most - 1} most frequent of {n:,} labels have a column each, and the other "
        f"{n - most + 1:,} share the last one; the file below has them all."
    )


def choose_clustering(result: Result) -> str:
    """Draw the choice of a clustering if there are two, and return it."""
    if "cols" not in result.posterior.n_clusters():
        return "rows"
    sides = {"rows": "Row clusters", "cols": "Column clusters"}
    return str(choose_way("Clusters", sides, "label_domain", label_visibility="collapsed"))


def score_agreements(result: Result, domain: str = "rows") -> tuple[Any, dict[str, LabelAgreement]]:
    """Return the scores of every attribute, and the tables behind them."""
    n_clusters = result.posterior.n_clusters()[domain]
    return attribute_agreement(
        result.posterior.labels(domain), result.prepared.data.labels_of(domain), n_clusters
    )
