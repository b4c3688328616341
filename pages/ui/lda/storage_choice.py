"""The choice to keep texts in memory or on disk, with their size and an advice."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.corpora.estimate import Estimate, estimate
from acvb_core.data.sources.source import MAX_TEXT_BYTES
from acvb_core.engine.machine import available_memory
from acvb_core.registry import method_row, model_row
from pages.ui.shared import format as say
from pages.ui.upload.files import rewind
from pages.ui.upload.reader import OpenFile, keep_last

Where = Literal["memory", "disk"]
#: Method and number of topics whose memory is shown.
METHOD, TOPICS = "cvb0", 100
_NAMES: dict[Where, str] = {"memory": "In memory", "disk": "On disk"}
_HELP = """
**In memory**: you can use every method. **On disk**: the documents stay in a folder of the app and are read piece by
piece. The streaming methods (SDM, SCVB0, SVB) need memory for the topics alone, however many documents there are.
CVB0, ACVB0 and VB can be used as well: each of their shards holds a part of the documents in memory. Whole documents
are held out.
"""


def batch_memory(documents: int, words: int, pairs: int, tokens: int) -> int:
    """Return the memory that a batch method with many topics needs on a corpus of such a size, in bytes."""
    sizes: Any = SimpleNamespace(n_documents=documents, n_words=words, n_pairs=pairs, n_tokens=tokens)
    values = method_row("lda", METHOD).values({"k": TOPICS})
    return model_row("lda").memory(sizes, METHOD, values)


def describe_need(needed: int, free: int) -> str:
    """Return the memory that a batch method needs and the free memory, in words."""
    label = method_row("lda", METHOD).label
    return f"{label} with {TOPICS} topics would need about {say.size(needed)} of memory; {say.size(free)} is free."


def choose_storage(opened: OpenFile) -> Where:
    """Draw the choice between memory and disk, with the better place as default, and the reason."""
    key = opened.prefix, repr(opened.options)
    found = keep_last("texts_estimate", key, partial(_estimate_size, opened), "Estimating the size")
    best: Where = "memory"
    places, why = list(_NAMES), "" if found is None else found.sentence
    free = available_memory()
    if found is not None and found.text_bytes > MAX_TEXT_BYTES:
        best, places = "disk", ["disk"]
        why += f" At {say.size(found.text_bytes)} unpacked, they are too large to be read into memory."
    elif found is not None and free is not None:
        needed = batch_memory(found.documents, found.words, found.pairs, found.tokens)
        best = "memory" if needed <= free else "disk"
        why += f" {describe_need(needed, free)}"
    where: Where = st.segmented_control(
        "Where to keep the texts",
        places,
        format_func=_NAMES.__getitem__,
        default=best,
        required=True,
        key=f"{opened.prefix}_where",
        persist_state="session",
        help=_HELP,
    )
    if why:
        st.caption(why)
    return where


def _estimate_size(opened: OpenFile) -> Estimate | None:
    """Return the size of the corpus; None if the file cannot be read, which the reading will report."""
    options = {name: value for name, value in opened.options.items() if name != "vocabulary"}
    try:
        return estimate(rewind(opened.file), **options)
    except AcvbError:
        return None
