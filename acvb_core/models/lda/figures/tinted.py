"""A document with its words tinted by topic, as HTML in which everything that was read is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lda.topics import search_pattern
from acvb_core.views.parts import Labels, user_name
from acvb_core.views.theme import MUTED, cluster_colour, css_colour, rgba

Floats = NDArray[np.float64]
#: Characters of a text that are shown.
LIMIT = 12_000
#: Opacity of the faintest and of the strongest tint: the words stay readable on both.
FAINTEST, STRONGEST = 0.1, 0.5
#: Probability below which a word is not tinted.
_LEAST = 0.05
#: Of what is searched for; its colour is that of the topic.
_MARK = "background:none;color:inherit;font-weight:700;text-decoration:underline 2px"


def word_topics(
    words: Iterable[int], document_share: ArrayLike, word_probability: ArrayLike
) -> dict[int, Floats]:
    """Return for words of one document the probability of each topic, given the document.

    `words`: indices of words (0-based).
    `document_share`: shape (K,); theta of the document.
    `word_probability`: shape (K, V); phi.
    Returns theta_k phi_kw for each word, shape (K,), scaled to add up to one; a word that no topic has is left out.
    """
    theta = np.asarray(document_share, dtype=np.float64)
    phi = np.asarray(word_probability)
    chosen = np.unique(np.fromiter(words, dtype=np.int64))
    joint = theta[:, None] * phi[:, chosen]
    total = joint.sum(axis=0)
    return {
        int(word): joint[:, i] / total[i]
        for i, word in enumerate(chosen)
        if total[i] > 0.0 and np.isfinite(total[i])
    }


def tint_text(
    text: str,
    spans: Sequence[tuple[int, int, int]],
    probabilities: Mapping[int, ArrayLike],
    *,
    labels: Labels = None,
    topic: int | None = None,
    marked: str = "",
    limit: int = LIMIT,
) -> str:
    """Return a text as HTML, each known word on the colour of its topic, the stronger the more probable it is.

    `spans`: as `Tokeniser.spans` gives them: in order and without overlap.
    `probabilities`: shape (K,); probability of each topic for each word (0-based), as `word_topics` gives it. Words
      that are not in it are plain.
    `labels`: names of the topics.
    `topic`: tint by this topic (from 1) alone; by default each word by its most probable one.
    `marked`: text that is underlined wherever it occurs, in either case.
    `limit`: most characters; a longer text ends there, and says so.
    Returns: one `div`. Line breaks are kept.
    """
    end = _cut(text, spans, limit)
    parts: list[str] = []
    at = 0
    hits = [match.span() for match in search_pattern(marked).finditer(text)] if marked else []
    for start, stop, word in spans:
        if stop > end:
            break
        if word not in probabilities or start < at:
            continue
        parts.append(_mark(text, at, start, hits))
        parts.append(_tint_word(_mark(text, start, stop, hits), probabilities[word], labels, topic))
        at = stop
    parts.append(_mark(text, at, end, hits))
    if end < len(text):
        parts.append(
            f'<br><em style="color:{css_colour(MUTED)}">… cut after {end:,} of {len(text):,} characters</em>',
        )
    return (
        '<div dir="auto" style="white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.75;'
        f'unicode-bidi:plaintext">{"".join(parts)}</div>'
    )


def tint(topic: int, probability: float, labels: Labels = None) -> str:
    """Return the colour behind a word that is of a topic (from 1) with some probability, as rgba()."""
    share = min(max(probability, 0.0), 1.0)
    return rgba(cluster_colour(topic, labels), round(FAINTEST + (STRONGEST - FAINTEST) * share, 3))


def _mark(text: str, begin: int, end: int, hits: Sequence[tuple[int, int]]) -> str:
    """Return a stretch of a text as HTML, with those parts underlined that lie in one of the `hits`."""
    parts, at = [], begin
    for first, last in hits:
        first, last = max(first, at), min(last, end)
        if first < last:
            parts += [_plain(text[at:first]), f'<mark style="{_MARK}">{_plain(text[first:last])}</mark>']
            at = last
    return "".join([*parts, _plain(text[at:end])])


def _tint_word(word: str, given: ArrayLike, labels: Labels, topic: int | None) -> str:
    """Return a word, which is HTML already, on the colour of its topic."""
    chances = np.nan_to_num(np.asarray(given, dtype=np.float64))
    number = int(chances.argmax()) + 1 if topic is None else topic
    chance = float(chances[number - 1]) if number <= len(chances) else 0.0
    if chance < _LEAST:
        return word
    name = user_name(number, labels)
    title = f"topic {number}{f' · {name}' if name else ''} ({chance:.2f})"
    return (
        f'<span style="background:{tint(number, chance, labels)};border-radius:3px;padding:0 1px" '
        f'title="{html.escape(title)}">{word}</span>'
    )


def _plain(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "<br>".join(html.escape(line) for line in lines)


def _cut(text: str, spans: Sequence[tuple[int, int, int]], limit: int) -> int:
    """Return where the text is cut: at the limit, or before the word that the limit would cut in two."""
    if len(text) <= limit:
        return len(text)
    return next((start for start, stop, _ in spans if start < limit < stop and start > 0), limit)
