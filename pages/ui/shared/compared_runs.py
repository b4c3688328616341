"""Runs that are compared, and the choice of two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from pages.ui.shared.picking import Key


class ComparedRuns(NamedTuple):
    """The runs that the Compare page shows, in the same order in every field."""

    keys: tuple[Key, ...]
    jobs: list[Job]
    results: list[Result]
    labels: list[str]


def choose_pair(key: str, labels: Sequence[str]) -> tuple[int, int]:
    """Draw two select boxes and return the positions of the two runs chosen in them."""
    order = list(range(len(labels)))
    with st.container(horizontal=True, gap="medium", key=key):
        return tuple(
            st.selectbox(
                label, order, index=index, format_func=labels.__getitem__, key=f"{key}_{end}", width=300
            )
            for index, (label, end) in enumerate((("From", "one"), ("To", "other")))
        )
