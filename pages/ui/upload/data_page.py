"""Data: upload a file or choose an example, see what was read, and choose what runs hold out."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import streamlit as st

from acvb_core.registry import model_row
from acvb_core.samples.catalogue import SAMPLES
from pages.ui.running.forms import was_filled
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import WholeObjects, pages_of_model
from pages.ui.shared.picking import choose_way
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.upload.form import show_upload
from pages.ui.workspace.dataset import MOST_HELD_OUT, MOST_SEED, Dataset, usual_share

_SOURCES = {"Upload": "Upload your data", "Sample": "Try an example"}


def choose_sample(workspace: Workspace) -> None:
    """Draw the choice of a sample."""
    models = list(dict.fromkeys(sample.model for sample in SAMPLES.values()))
    key = st.selectbox(
        "Sample",
        sorted(SAMPLES, key=lambda name: models.index(SAMPLES[name].model)),
        key="sample",
        format_func=lambda name: f"{pages_of_model(SAMPLES[name].model).group} · {SAMPLES[name].title}",
        persist_state="session",
    )
    sample = SAMPLES[key]
    st.caption(f"{sample.size_text}. {sample.origin} {sample.licence}")
    # The primary button is the next step: with data in use, that is to continue.
    kind: Literal["primary", "secondary"] = "primary" if workspace.dataset is None else "secondary"
    if st.button("Use this sample", type=kind, icon=":material/check:", key="use_sample"):
        if refusal := workspace.explain_no_room():
            st.warning(refusal, icon=":material/warning:")
            return
        with st.spinner("Reading"):
            workspace.set_dataset(Dataset.of_sample(key))
        st.rerun()


def show_data() -> None:
    """Draw the page."""
    workspace = current_workspace()
    st.title("Data", anchor=False)
    if not workspace.view_only and _choose_data(workspace):
        return
    dataset = workspace.dataset
    if dataset is not None:
        if st.button("Go to Run", type="primary", icon=":material/arrow_forward:", key="go_to_run"):
            st.switch_page("pages/run.py")
        st.divider()
        show_overview(workspace, dataset)
    elif workspace.view_only:
        st.caption("No data yet.")
    if not workspace.view_only:
        _offer_removal(workspace)


def _offer_removal(workspace: Workspace) -> None:
    """Draw buttons that remove data sets without runs."""
    removable = workspace.removable_data
    if not removable:
        return
    with st.popover("Remove data", type="tertiary", icon=":material/delete:"):
        st.caption("Data without runs. They stay in this workspace, with their files, until you remove them.")
        for fingerprint, name in say.name_data(removable).items():
            with st.container(
                horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
            ):
                st.text(name, width="content")
                key = f"remove_data_{fingerprint}"
                st.button("Remove", key=key, on_click=workspace.remove_data, args=(fingerprint,))


def _choose_data(workspace: Workspace) -> bool:
    """Draw the choice of an example or a file; return whether a file is open that is not loaded."""
    source = choose_way(
        "Source",
        _SOURCES,
        "source",
        default=None if was_filled("source") else "Sample",
        label_visibility="collapsed",
        persist_state="session",
    )
    if source == "Upload":
        return show_upload(workspace)
    choose_sample(workspace)
    return False


#: In the session: the data, and what is held out of them, that the widgets show.
_SHOWN = "heldout_shown"
#: Of figures whose name does not say enough.
_HELPS = {
    "Density": "Share of the known pairs that are linked.",
    "Components": "Parts of the network that no link joins.",
    "Tokens": "All words of all documents, each as often as it stands there.",
    "Median length": "Half of the documents are shorter, in tokens.",
}


def show_overview(workspace: Workspace, dataset: Dataset) -> None:
    """Draw everything about the data set in use."""
    summary = pages_of_model(dataset.model).summary(dataset.data)
    with st.container(gap=None, key="data_name"):
        st.caption("Data in use")
        st.text(dataset.name)
    with st.container(horizontal=True, gap="medium", key="data_figures"):
        for name, value in summary.figures:
            st.metric(name, value, width="content", help=_HELPS.get(name))
    if summary.note:
        st.caption(summary.note)
    if summary.advice:
        st.info(summary.advice, icon=":material/memory:")
    *tabs, report = st.tabs([*summary.tabs, "Reading report"])
    for tab, draw in zip(tabs, summary.tabs.values(), strict=True):
        with tab:
            draw()
    with report, st.container(gap="xsmall"):
        for line in dataset.report.lines():
            st.text(f"• {line}")
        if original := workspace.find_original(dataset.data.fingerprint):
            st.text(f"• The file {original.name} is kept with these data, and removed with them.")
    edit_held_out(workspace, dataset)


def edit_held_out(workspace: Workspace, dataset: Dataset) -> None:
    """Draw what new runs hold out, and keep what is entered; a viewer reads it."""
    if workspace.view_only:
        st.caption(f"New runs: {say.describe_split(dataset)}.")
        return
    held_out = pages_of_model(dataset.model).held_out
    is_new = _note_shown(dataset)
    with st.container(border=True, gap="small"):
        st.markdown("**Held out for scoring**")
        whole = dataset.whole_documents
        if held_out.whole is not None and not dataset.on_disk:
            key, help = _fill("heldout_kind", whole, is_new), held_out.whole.help
            whole = bool(
                st.segmented_control(
                    "What is held out",
                    [False, True],
                    format_func=held_out.whole.choices.__getitem__,
                    key=key,
                    required=True,
                    label_visibility="collapsed",
                    help=help,
                )
            )
        objects = held_out.whole if whole else None
        now = dataset.heldout
        if whole != dataset.whole_documents:  # another kind of share has another usual size
            now = usual_share(dataset.data, whole)
        share_at, seed_at = st.columns(2, vertical_alignment="bottom")
        share = share_at.number_input(
            f"Share of {held_out.of if objects is None else f'the {objects.one}s'}, %",
            0.0,
            100 * MOST_HELD_OUT,
            step=1.0,
            format="%g",
            key=_fill(f"heldout_percent{'_documents' * whole}", round(100 * now, 6), is_new),
            help="Hidden from new runs and predicted by them: the fair way to compare methods. 0 hides nothing.",
        )
        many = model_row(dataset.model).unit[1] if objects is None else f"{objects.one}s"
        help = f"The same seed hides the same {many}, so that runs can be compared."
        key = _fill("heldout_seed", dataset.heldout_seed, is_new)
        seed = seed_at.number_input("Seed", 0, MOST_SEED, key=key, help=help)
        share /= 100
        st.caption(_hidden_objects(dataset, share, objects) if objects else _hidden_units(dataset, share))
    if (share, seed, whole) != (dataset.heldout, dataset.heldout_seed, dataset.whole_documents):
        workspace.set_dataset(replace(dataset, heldout=share, heldout_seed=seed, whole_documents=whole))
        st.rerun()


def _note_shown(dataset: Dataset) -> bool:
    """Return whether the fields show other data, or another share of them, than when they were drawn last."""
    now = (dataset.data.fingerprint, dataset.split)
    is_new = st.session_state.get(_SHOWN) != now
    st.session_state[_SHOWN] = now
    return is_new


def _fill(key: str, value: bool | float, is_new: bool) -> str:
    """Put a value into a widget that is not drawn yet, unless it shows these data already; return its key."""
    # Set in every run: a browser may draw only the second of two runs, and would show the least value instead.
    st.session_state[key] = value if is_new else st.session_state.get(key, value)
    return key


def _hidden_units(dataset: Dataset, share: float) -> str:
    """Return how many entries, words or cells are hidden from runs, in words."""
    held_out, row = pages_of_model(dataset.model).held_out, model_row(dataset.model)
    one, many = row.unit
    if not share:
        return f"No {one} is hidden from new runs: they have no held-out scores."
    asked = round(share * (row.observed(dataset.data) if row.observed else 0))
    hidden = asked if held_out.most is None else min(asked, held_out.most)
    most = f" (no more than {hidden:,}: enough for a score)" if hidden < asked else ""
    return f"{held_out.about}{say.count(hidden, one, many)} hidden from each new run{most}."


def _hidden_objects(dataset: Dataset, share: float, objects: WholeObjects) -> str:
    """Return how many whole objects are hidden from runs, in words."""
    n = dataset.data.shape[0]
    hidden = min(max(1, round(share * n)), objects.most, n - 1) if share else 0
    most = f" (no more than {objects.most:,}: enough for a score)" if hidden == objects.most else ""
    return f"{say.count(hidden, objects.one)} hidden from each new run{most}. {objects.scored}"
