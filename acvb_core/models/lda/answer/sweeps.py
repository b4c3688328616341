"""Topics as they were after one sweep of a run, next to those of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.clusters import place_columns
from acvb_core.engine.result import Result


def list_topics_then(result: Result, excerpt: Mapping[str, Any]) -> pd.DataFrame:
    """Return the topics after a sweep with their first words, in the order of the run's answer.

    A topic has the number of the topic of the answer that it shares most of the first words with.

    `excerpt`: as `LdaModel.take_excerpt` gives it.
    Returns: topic (a number above those of the answer if it has no partner there), share (of all tokens), kept (share
      of the first words of the topic in the answer that it has), words.
    """
    model: Any = result.prepared.model
    vocabulary, last = model.corpus.vocabulary, model.take_excerpt(result.posterior)["words"]
    then, tokens = np.asarray(excerpt["words"]), np.asarray(excerpt["tokens"], dtype=np.float64)
    shared = np.array([[len(np.intersect1d(a[a >= 0], b[b >= 0])) for b in then] for a in last])
    numbers = place_columns(shared, shared > 0)[0] + 1
    lines = []
    for k in np.argsort(numbers).tolist():
        number = int(numbers[k])
        partner = last[number - 1] if number <= len(last) else last[:0]
        kept = shared[number - 1, k] / max((partner >= 0).sum(), 1) if number <= len(last) else 0.0
        words = ", ".join(map(str, vocabulary[then[k][then[k] >= 0]]))
        lines.append((number, float(tokens[k] / max(tokens.sum(), 1e-300)), float(kept), words))
    return pd.DataFrame(lines, columns=["topic", "share", "kept", "words"])
