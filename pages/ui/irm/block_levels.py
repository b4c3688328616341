"""Coarser clusters: how many are shown, and the tree that they are taken from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.tree import ClusterTree, coarsen, estimate_seconds, grow_trees
from acvb_core.models.irm.figures.dendrogram import dendrogram_figure
from pages.ui.shared.charts import show_clickable_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_way, read_given_names
from pages.ui.shared.refresh import is_narrow
from pages.ui.workspace.entrance import name_choice, take_choice

_SIDES = {"rows": "row", "cols": "column"}
_WAYS = {None: "By evidence", True: "Corrected for activity", False: "The run's own"}
#: Clusters from which fewer of them can be shown.
_LEAST = 3
#: A tree that takes longer (seconds) is grown when it is asked for.
_QUICK = 0.5
_ABOUT = (
    "Clusters are merged two by two, those whose merge costs least first, and objects then move to better clusters. "
    "All of this page and its files follow; the run itself stays as it is."
)


@st.cache_resource(show_spinner="Joining clusters", max_entries=16)
def find_trees(key: Key, corrected: bool | None, _result: Result) -> dict[str, ClusterTree]:
    """Return the trees of a run's clusters, by domain."""
    return grow_trees(_result, corrected)


@st.cache_resource(show_spinner=False, max_entries=16)
def _coarsen(
    key: Key, corrected: bool | None, levels: tuple[tuple[str, int], ...], _result: Result
) -> Result:
    return coarsen(_result, find_trees(key, corrected, _result), dict(levels))


def choose_level(job: Job, key: Key, result: Result) -> tuple[Key, Result]:
    """Draw how many clusters are shown; return the answer with these clusters, and its key."""
    widths = _list_widths(result)
    if not widths:
        return key, result
    corrected = st.session_state.get(_way_key(job))
    wanted = f"blocks_tree_{job.id}"
    is_ready = st.session_state.get(wanted, False) or estimate_seconds(result) <= _QUICK
    with st.container(key="block_levels"):
        numbers = {domain: _take_number(job, domain, n) for domain, n in widths.items()}
        is_ready = is_ready or any(numbers[domain] < n for domain, n in widths.items())
        trees = find_trees(key, corrected, result) if is_ready else {}
        for domain, most in widths.items():
            with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
                numbers[domain] = _choose_number(job, domain, most, len(widths) > 1)
                if trees:
                    _offer_numbers(job, domain, trees[domain], numbers[domain])
                else:
                    st.button(
                        "Suggest numbers", icon=":material/account_tree:", key=f"suggest_{domain}",
                        on_click=st.session_state.__setitem__, args=(wanted, True),
                    )  # fmt: skip
    if all(numbers[domain] >= n for domain, n in widths.items()):
        return key, result
    trees = trees or find_trees(key, corrected, result)
    _describe_levels(trees, numbers)
    coarse = _coarsen(key, corrected, tuple(numbers.items()), result)
    given = read_given_names(job, coarse)
    job_id, sweep, end = key
    key = job_id, sweep, f"{end} {corrected} {numbers} {dict(given)}"
    return key, replace(coarse, given_names=given) if given else coarse


def _list_widths(result: Result) -> dict[str, int]:
    """Return the numbers of clusters of the domains with enough of them."""
    return {domain: n for domain, n in result.posterior.n_clusters().items() if n >= _LEAST}


def _way_key(job: Job) -> str:
    return f"blocks_tree_way_{job.id}"


def _level_key(job: Job, domain: str, n_clusters: int) -> str:
    return f"blocks_level_{domain}_{job.id}_{n_clusters}"


def _take_number(job: Job, domain: str, most: int) -> int:
    """Return the number of clusters that the address or the slider asks for; at first all."""
    key = _level_key(job, domain, most)
    asked = take_choice(f"{_SIDES[domain]}-clusters", {str(n): n for n in range(1, most + 1)})
    if asked is not None:
        st.session_state[key] = asked
    return int(st.session_state.setdefault(key, most))


def _choose_number(job: Job, domain: str, most: int, named: bool) -> int:
    """Draw the slider of the number of clusters of a domain, and return the number."""
    label = f"Show so many {_SIDES[domain]} clusters" if named else "Show so many clusters"
    key = _level_key(job, domain, most)
    number = st.slider(label, 1, most, key=key, width=300, persist_state="session", help=_ABOUT)
    name_choice(f"{_SIDES[domain]}-clusters", str(number), str(most))
    return int(number)


def _offer_numbers(job: Job, domain: str, tree: ClusterTree, number: int) -> None:
    """Draw buttons of the numbers at which the next merge costs much more than the last one did."""
    most, key = tree.numbers[0], _level_key(job, domain, tree.numbers[0])
    with st.container(horizontal=True, gap="xsmall", width="content"):
        for offered in [*tree.suggest(), most]:
            st.button(
                f"All {most:,}" if offered == most else f"{offered:,}", key=f"level_{domain}_{offered}",
                on_click=st.session_state.__setitem__, args=(key, offered), disabled=offered == number,
            )  # fmt: skip


def _describe_levels(trees: Mapping[str, ClusterTree], numbers: Mapping[str, int]) -> None:
    """Say how the clusters that are shown differ from those of the run."""
    for domain, number in numbers.items():
        tree = trees[domain]
        at = tree.find(number)
        if at:
            side = f"{_SIDES[domain].capitalize()}s: " if len(numbers) > 1 else ""
            st.caption(f"{side}{tree.describe(at)}", help=tree.describe_model())


@contain_failure("part of the page")
def show_tree(job: Job, key: Key, result: Result) -> None:
    """Draw the tree of the run's own clusters, in which a click chooses a level.

    `result`: with the run's own clusters.
    """
    st.subheader("Which clusters belong together?", anchor=False)
    widths = _list_widths(result)
    if not widths:
        st.caption("The run has too few clusters to be joined.")
        return
    corrected = choose_way("Merged by the bound of", _WAYS, _way_key(job), persist_state="session")
    trees = find_trees(key, corrected, result)
    st.caption(next(iter(trees.values())).describe_model())
    for domain, most in widths.items():
        tree, level = trees[domain], _level_key(job, domain, most)
        number = int(st.session_state.get(level, most))
        if len(widths) > 1:
            st.text(f"{_SIDES[domain].capitalize()} clusters")
        chart = f"blocks_tree_{domain}_{len(tree.levels)}_{number}_{corrected}"

        def choose(chosen: int, level: str = level) -> None:
            st.session_state[level] = chosen

        figure = dendrogram_figure(tree, tree.find(number), result.names[domain], narrow=is_narrow())
        alt = "A tree: the run's clusters on the left are joined step by step; further right, a step costs more."
        show_clickable_figure(figure, chart, alt, choose, most)
    st.caption(
        "A click on a joint shows the clusters after this merge. Colours are those of the clusters shown."
    )
