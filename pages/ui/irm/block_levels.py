"""Coarser clusters: how many are shown, and the tree that they are taken from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.tree import ClusterTree, estimate_seconds, grow_trees, take_levels
from acvb_core.models.irm.figures.dendrogram import dendrogram_figure
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_clickable_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import (
    Key,
    answer_key,
    choose_way,
    read_given_names,
    set_choice,
    slide_number,
)
from pages.ui.shared.refresh import is_narrow
from pages.ui.workspace.entrance import name_choice, take_choice

_SIDES = {"rows": "row", "cols": "column"}
#: Bounds by which clusters are joined: what they are called, and what `grow_trees` takes.
_WAYS = {"auto": "By evidence", "corrected": "Corrected for activity", "own": "The run's own"}
_CORRECTED = {"auto": None, "corrected": True, "own": False}
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
    key: Key, tree_key: Key, corrected: bool | None, levels: tuple[tuple[str, int], ...], _result: Result
) -> Result:
    return take_levels(_result, find_trees(tree_key, corrected, _result), dict(levels))


def choose_level(job: Job, key: Key, result: Result) -> tuple[Key, Result]:
    """Draw how many clusters are shown; return the answer with these clusters, and its key."""
    widths = _list_widths(result)
    if not widths:
        return key, result
    corrected = _CORRECTED[_take_way(job)]
    tree_key = answer_key(job, replace(result, given_names={}))  # names do not change the tree
    wanted = f"blocks_tree_{job.id}"
    # The answer of a run under way changes with every sweep.
    seconds = estimate_seconds(result)
    is_quick = seconds <= _QUICK and not job.outline.status.active
    is_ready = is_quick or st.session_state.get(wanted, False)
    with st.container(key="block_levels"):
        numbers = {domain: _take_number(job, domain, n) for domain, n in widths.items()}
        is_ready = is_ready or any(numbers[domain] < n for domain, n in widths.items())
        trees = find_trees(tree_key, corrected, result) if is_ready else {}
        for domain, most in widths.items():
            with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
                numbers[domain] = _choose_number(job, domain, most, len(widths) > 1)
                if trees:
                    _offer_numbers(job, domain, trees[domain], numbers[domain])
                else:
                    st.button(
                        "Suggest numbers", icon=":material/account_tree:", key=f"suggest_{domain}",
                        on_click=st.session_state.__setitem__, args=(wanted, True),
                        help=f"Joining the clusters takes {say.rough_duration(seconds)}.",
                    )  # fmt: skip
    if all(numbers[domain] >= n for domain, n in widths.items()):
        return key, result
    trees = trees or find_trees(tree_key, corrected, result)
    _describe_levels(trees, numbers)
    coarse = _coarsen(key, tree_key, corrected, tuple(numbers.items()), result)
    given = read_given_names(job, coarse)
    job_id, sweep, end = key
    key = job_id, sweep, f"{end} {corrected} {numbers} {dict(given)}"
    return key, replace(coarse, given_names=given) if given else coarse


def _list_widths(result: Result) -> dict[str, int]:
    """Return the numbers of clusters of the domains with enough of them."""
    return {domain: n for domain, n in result.posterior.n_clusters().items() if n >= _LEAST}


def _way_key(job: Job) -> str:
    return f"blocks_tree_way_{job.id}"


def _take_way(job: Job) -> str:
    """Return by which bound clusters are joined: as the address or the choice on the page says."""
    key = _way_key(job)
    if asked := take_choice("joined-by", dict(zip(_WAYS, _WAYS, strict=True))):
        st.session_state[key] = asked
    way: str = st.session_state.setdefault(key, "auto")
    name_choice("joined-by", way, "auto")
    return way


def _level_key(job: Job, domain: str, n_clusters: int) -> str:
    return f"blocks_level_{domain}_{job.id}_{n_clusters}"


def _take_number(job: Job, domain: str, most: int) -> int:
    """Return the number of clusters that the address or the slider asks for; at first all."""
    key = _level_key(job, domain, most)
    asked = take_choice(f"{_SIDES[domain]}-clusters", {str(n): n for n in range(1, most + 1)})
    if asked is not None:
        set_choice(key, asked)
    return int(st.session_state.setdefault(key, most))


def _choose_number(job: Job, domain: str, most: int, named: bool) -> int:
    """Draw the slider of the number of clusters of a domain, and return the number."""
    label = f"Show so many {_SIDES[domain]} clusters" if named else "Show so many clusters"
    key = _level_key(job, domain, most)
    number = slide_number(label, most, key, help=_ABOUT)
    name_choice(f"{_SIDES[domain]}-clusters", str(number), str(most))
    return number


def _offer_numbers(job: Job, domain: str, tree: ClusterTree, number: int) -> None:
    """Draw buttons of the numbers at which the next merge costs much more than the last one did."""
    most, key = tree.numbers[0], _level_key(job, domain, tree.numbers[0])
    with st.container(horizontal=True, gap="xsmall", width="content"):
        for offered in [*tree.suggest(), most]:
            st.button(
                f"All {most:,}" if offered == most else f"{offered:,}", key=f"level_{domain}_{offered}",
                on_click=set_choice, args=(key, offered), disabled=offered == number,
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
def show_tree(job: Job, result: Result) -> None:
    """Draw the tree of the run's own clusters, in which a click chooses a level.

    `result`: with the run's own clusters.
    """
    st.subheader("Which clusters belong together?", anchor=False)
    widths = _list_widths(result)
    if not widths:
        st.caption("The run has too few clusters to be joined.")
        return
    tree_key = answer_key(job, replace(result, given_names={}))
    corrected = _CORRECTED[st.session_state[_way_key(job)]]
    trees = find_trees(tree_key, corrected, result)
    if any(tree.correction or corrected is not None for tree in trees.values()):
        # A run that is corrected itself has one tree.
        choose_way("Joined by the bound of", _WAYS, _way_key(job), default=None, persist_state="session")
    st.caption(next(iter(trees.values())).describe_model())
    for domain, most in widths.items():
        tree, level = trees[domain], _level_key(job, domain, most)
        number = int(st.session_state.get(level, most))
        if len(widths) > 1:
            st.text(f"{_SIDES[domain].capitalize()} clusters")
        chart = f"blocks_tree_{domain}_{len(tree.levels)}_{number}_{corrected}"

        def choose(chosen: int, level: str = level) -> None:
            set_choice(level, chosen)

        figure = dendrogram_figure(tree, tree.find(number), result.names[domain], narrow=is_narrow())
        alt = "A tree: the run's clusters on the left are joined step by step; further right, a step costs more."
        show_clickable_figure(figure, chart, alt, choose, most)
    st.caption(
        "A click on a joint shows the clusters after this merge. Colours are those of the clusters shown; a merged one "
        "has the colour of the largest in it."
    )
