"""Topics of new documents that are read from a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from acvb_core.data.corpora.readers import inspect_corpus, load_corpus
from acvb_core.engine.result import Result
from acvb_core.models.lda.state import TOPICS
from acvb_core.models.lda.transform import no_known_word_error, require_tokeniser


def score_file(result: Result, file: Any, filename: str) -> pd.DataFrame:
    """Return the topics of the documents of a file, in its order; the topics do not change.

    Texts are cut as those of the run; word counts are taken as they are.

    Returns: document, label if the file has one, tokens (of words that the topics know), unknown, the largest topic
      (topic, topic_name, topic_share), and the share of every topic. Without known words there are no topics.
    Raises DataError: the file cannot be read, or no word of it is known.
    Raises ParameterError: a file of texts, and it is not known how to cut these.
    """
    file.seek(0)
    schema = inspect_corpus(file, filename)
    tokeniser = None
    if schema.has_texts:
        tokeniser = require_tokeniser(result.prepared.data.tokeniser, result.prepared.data.name)
        tokeniser.check_cuts_texts()
    file.seek(0)
    corpus = load_corpus(file, filename=filename, tokeniser=tokeniser).data
    table = result.transform(corpus)
    if not table["tokens"].any():
        raise no_known_word_error(filename)
    columns = [name for name in table.columns if name.startswith("topic_")]
    shares = table[columns].to_numpy(dtype=np.float64)
    known = np.isfinite(shares).all(axis=1)
    largest = np.where(known, np.nan_to_num(shares, nan=-1.0).argmax(axis=1) + 1, 0)
    names = np.array(["", *result.names[TOPICS]], dtype=object)
    headings = {one: f"{one}: {name}" for one, name in zip(columns, result.names[TOPICS], strict=True)}
    table = table.rename(columns=headings)
    share = np.where(
        known, np.take_along_axis(shares, np.maximum(largest, 1)[:, None] - 1, axis=1)[:, 0], np.nan
    )
    table.insert(3, "topic_share", share)
    table.insert(3, "topic_name", names[largest])
    table.insert(3, "topic", pd.array(np.where(known, largest, 0), dtype="Int64"))
    table.loc[~known, "topic"] = pd.NA
    if corpus.labels is not None:
        table.insert(1, "label", corpus.labels)
    return table
