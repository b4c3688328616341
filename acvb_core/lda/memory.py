"""What a run of LDA will need in memory."""

from __future__ import annotations

from typing import Any

from acvb_core.data.corpus import Corpus

_SINGLE = 4


def memory_bytes(corpus: Corpus, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run beyond the data, in bytes.

    Parameters
    ----------
    corpus : Corpus
    method : str
    values : dict
        Of the method's parameters.
    """
    k = int(values["k"])
    counts = (corpus.n_documents + corpus.n_words) * k * _SINGLE
    data = corpus.n_pairs * 8 + corpus.n_documents * 8
    if method == "gibbs":
        return data + 8 * counts + corpus.n_tokens * 12
    if method == "vb":
        return data + 12 * counts
    needed = data + corpus.n_pairs * k * _SINGLE
    # Counts of the last state, of the sweep under way and of the absences; doubles while the bound is evaluated.
    needed += 8 * counts
    if method in ("cvb", "acvb"):
        needed += 3 * counts
    if method in ("acvb", "acvb0"):
        needed += 3 * counts
        if values["track"]:
            needed += corpus.n_pairs * k * _SINGLE
    return needed
