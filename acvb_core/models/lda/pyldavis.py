"""Topics as the data that the front-end of pyLDAvis draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.evaluate.ranking import distributions, top_words
from acvb_core.models.lda.topics import topic_map

Floats = NDArray[np.float64]
Columns = dict[str, list[Any]]
#: Words are looked for between so many values of lambda at a time.
_PIECES = 10


def pyldavis_data(
    word_probability: ArrayLike,
    document_share: ArrayLike,
    lengths: ArrayLike,
    vocabulary: Sequence[str] | NDArray[Any],
    *,
    n_words: int = 30,
    lambda_step: float = 0.01,
    positions: ArrayLike | None = None,
    sort: bool = True,
) -> dict[str, Any]:
    """Return what pyLDAvis's `PreparedData.to_dict()` returns, as plain lists: `json.dump` writes it as it is.

    Topics come largest first; `topic.order` has their numbers (from 1) in `word_probability`. Word frequencies are the
    ones that the model expects, so that the parts of each bar add up to it (pyLDAvis does the same, whatever
    frequencies it is given).

    `word_probability`: shape (K, V); distribution of each topic over words.
    `document_share`: shape (D, K); share of each topic in each document.
    `lengths`: shape (D,); number of tokens of each document.
    `vocabulary`: length V.
    `n_words`: bars shown at a time.
    `lambda_step`: step of the slider for lambda, a whole part of 1.
    `positions`: shape (K, 2); places of the topics on the map, in the order of `word_probability`. Default:
      `topic_map`, whose distance is a metric, the square root of the divergence that pyLDAvis takes.
    `sort`: whether the largest topic comes first; otherwise topics keep the numbers they have.
    Raises DataError, ParameterError: shapes that do not go together, or settings that make no sense.
    Reference: Sievert and Shirley 2014. Chuang, Manning and Heer 2012, eq. 1-2 (saliency).
    """
    phi, tokens, words = _check_arguments(
        word_probability, document_share, lengths, vocabulary, n_words, lambda_step
    )
    order = np.argsort(-tokens, kind="stable") if sort else np.arange(len(tokens))
    phi, tokens = phi[order], tokens[order]
    places = topic_map(phi).positions if positions is None else _places(positions, len(phi))[order]
    shown = min(n_words, len(words))
    # Tokens that the model expects of each word in each topic; the table is cut to the words shown further down.
    expected = tokens @ phi
    log_p = np.log(np.where(expected > 0.0, expected, np.nan) / expected.sum())
    bars, seen = _bars(phi, tokens, expected, log_p, words, shown, lambda_step)
    return {
        "mdsDat": {
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "topics": list(range(1, len(phi) + 1)),
            "cluster": [1] * len(phi),
            "Freq": (100.0 * tokens / tokens.sum()).tolist(),
        },
        "tinfo": bars,
        "token.table": _token_table(phi, tokens, expected, words, seen),
        "R": shown,
        "lambda.step": lambda_step,
        "plot.opts": {"xlab": "PC1", "ylab": "PC2"},
        "topic.order": (order + 1).tolist(),
    }


def _check_arguments(
    word_probability: ArrayLike,
    document_share: ArrayLike,
    lengths: ArrayLike,
    vocabulary: Sequence[str] | NDArray[Any],
    n_words: int,
    lambda_step: float,
) -> tuple[Floats, Floats, NDArray[Any]]:
    """Return phi, the expected tokens of each topic and the words."""
    if n_words < 1:
        raise ParameterError(f"At least one word must be shown, not {n_words}.")
    if not (0.0 < lambda_step <= 1.0 and abs(round(1.0 / lambda_step) * lambda_step - 1.0) < 1e-9):
        raise ParameterError(
            f"The step of lambda must be a whole part of 1 (0.01, 0.05, …), not {lambda_step}."
        )
    phi = distributions(word_probability, n_words=len(vocabulary))
    theta = distributions(document_share, "the documents' topic shares")
    length = np.asarray(lengths, dtype=np.float64)
    if theta.shape != (len(length), len(phi)):
        raise DataError(
            f"the documents' topic shares have the shape {theta.shape}, with {len(length):,} lengths and "
            f"{len(phi):,} topics",
            remedy="Give one row and one length for each document, one column for each topic.",
        )
    return phi, length @ theta, np.asarray(vocabulary, dtype=object)


def _places(positions: ArrayLike, n_topics: int) -> Floats:
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (n_topics, 2):
        raise DataError(
            f"positions of the shape {places.shape} were given for {n_topics:,} topics",
            remedy="Give two coordinates for each topic.",
        )
    return places


def _bars(
    phi: Floats,
    tokens: Floats,
    expected: Floats,
    log_p: Floats,
    words: NDArray[Any],
    shown: int,
    lambda_step: float,
) -> tuple[Columns, NDArray[np.int64]]:
    """Return the words shown with no topic chosen and with each, and the numbers of all of them."""
    salient = top_words(np.nan_to_num(_saliency(phi, tokens, expected)), shown)
    frequency = np.floor(expected[salient])
    ranks = np.arange(shown, 0, -1, dtype=np.float64)
    parts = [(salient, frequency, frequency, "Default", ranks, ranks)]
    lambdas = np.linspace(0.0, 1.0, round(1.0 / lambda_step) + 1)
    for number, (row, size) in enumerate(zip(phi, tokens, strict=True), 1):
        with np.errstate(divide="ignore"):
            log_phi = np.log(row)
        chosen = _ever_shown(log_phi, log_p, lambdas, shown)
        log_lift = log_phi[chosen] - log_p[chosen]
        parts.append(
            (
                chosen,
                size * row[chosen],
                expected[chosen],
                f"Topic{number}",
                log_phi[chosen].round(4),
                log_lift.round(4),
            )
        )
    columns: Columns = {"Term": [], "Freq": [], "Total": [], "Category": [], "logprob": [], "loglift": []}
    for chosen, part, total, category, log_probability, log_lift in parts:
        columns["Term"] += words[chosen].tolist()
        columns["Freq"] += part.tolist()
        columns["Total"] += total.tolist()
        columns["Category"] += [category] * len(chosen)
        columns["logprob"] += log_probability.tolist()
        columns["loglift"] += log_lift.tolist()
    return columns, np.unique(np.concatenate([part[0] for part in parts]))


def _saliency(phi: Floats, tokens: Floats, expected: Floats) -> Floats:
    """Return p(w) times the divergence of p(topic | w) from p(topic): sum of p(topic, w) log p(w | topic) / p(w)."""
    total = expected.sum()
    out = np.zeros(phi.shape[1])
    share = expected / total
    for row, size in zip(phi, tokens, strict=True):
        used = row > 0.0
        out[used] += size / total * row[used] * np.log(row[used] / share[used])
    return out


def _ever_shown(log_phi: Floats, log_p: Floats, lambdas: Floats, shown: int) -> NDArray[np.int64]:
    """Return the words among the `shown` most relevant at one of the lambdas, those of small lambda first.

    Relevance is a straight line in lambda. Between two lambdas a word lies below the larger of its two ends and above
    the smaller; one whose larger end does not reach the least of the best smaller ends is never shown in between.
    """
    used = np.flatnonzero(np.isfinite(log_phi) & np.isfinite(log_p))
    log_phi, log_p = log_phi[used], log_p[used]
    top = []
    for piece in np.array_split(lambdas, min(_PIECES, len(lambdas))):
        ends = log_phi - (1.0 - piece[[0, -1]])[:, None] * log_p
        least, most = ends.min(axis=0), ends.max(axis=0)
        near = np.flatnonzero(most >= np.sort(least)[-min(shown, len(least)) :][0])
        scores = log_phi[near] - (1.0 - piece)[:, None] * log_p[near]
        top.append(near[top_words(scores, shown)].ravel())
    _, first = np.unique(np.concatenate(top), return_index=True)
    return used[np.concatenate(top)[np.sort(first)]]


def _token_table(
    phi: Floats, tokens: Floats, expected: Floats, words: NDArray[Any], seen: NDArray[np.int64]
) -> Columns:
    """Return how each word seen is divided among the topics, leaving out parts below half a token."""
    parts = tokens[:, None] * phi[:, seen]
    by_name = np.argsort(words[seen].astype(str), kind="stable")
    word, topic = np.nonzero(parts.T[by_name] >= 0.5)
    word = by_name[word]
    return {
        "Topic": (topic + 1).tolist(),
        "Freq": (parts[topic, word].round() / expected[seen[word]]).tolist(),
        "Term": words[seen[word]].tolist(),
    }
