"""Scores of predictions, the same for every method: of held-out words, links and cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.evaluate.agreement import label_agreement
from acvb_core.evaluate.heldout import score_cells, score_links, score_words
from benchmarks.peers.trials import Trial, standardise_heldout

#: Probabilities that a peer rounds to 0 or 1 count as this far from it.
_LEAST = 1e-12


def judge_words(predicted: NDArray[np.floating], trial: Trial) -> dict[str, float]:
    """Return the mean log probability of a held-out token (nats) and the perplexity."""
    score = score_words(np.maximum(predicted, _LEAST), trial.heldout.counts)
    return {"log_likelihood": score.log_likelihood, "perplexity": score.perplexity}


def judge_links(predicted: NDArray[np.floating], trial: Trial) -> dict[str, float]:
    """Return the mean log probability of a held-out pair (nats), the skill and the area under the ROC curve."""
    train = trial.train
    density = train.ones.nnz / (train.shape[0] * train.shape[1] - train.missing.nnz)
    score = score_links(np.clip(predicted, _LEAST, 1 - _LEAST), trial.heldout.values, density)
    return {"log_likelihood": score.log_likelihood, "skill": score.skill, "auc": score.roc_auc}


def judge_cells(predicted: NDArray[np.floating], trial: Trial) -> dict[str, float]:
    """Return the mean log density of a held-out cell (nats, standardised) and the share of variance predicted."""
    score = score_cells(np.asarray(predicted, dtype=np.longdouble), standardise_heldout(trial))
    return {"log_likelihood": score.log_likelihood, "explained": score.explained}


_JUDGES: dict[str, Callable[[NDArray[np.floating], Trial], dict[str, float]]] = {
    "topics": judge_words,
    "networks": judge_links,
    "relations": judge_links,
    "features": judge_cells,
}


def judge(
    predicted: NDArray[np.floating], trial: Trial, clusters: ArrayLike | None = None
) -> dict[str, float]:
    """Return the scores of one answer; a ValueError refuses predictions that are not all numbers.

    `clusters`: number of each row object's cluster, held against the known labels where there are some.
    """
    if not np.isfinite(predicted).all():
        raise ValueError("it predicts values that are not numbers")
    scores = _JUDGES[trial.task](predicted, trial)
    if clusters is not None and trial.labels is not None:
        numbers = np.unique(np.asarray(clusters), return_inverse=True)[1]
        scores["ari"] = label_agreement(numbers, trial.labels).ari
    return scores
