"""The topics of a run with a line each, and its documents as they were read, with their topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from acvb_core.data.corpora.metadata import take_groups
from acvb_core.data.corpus import Corpus
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.arrangement import arrange_topics
from acvb_core.models.lda.answer.describe import describe_found
from acvb_core.models.lda.answer.effects import describe_effects, list_effects
from acvb_core.models.lda.state import TOPICS
from acvb_core.models.lda.topics import TopicAnswer

#: Title and contents of each table of a run, by its name.
TITLES = {
    "topics": ("Words", "The most probable words of every topic."),
    "documents": ("Documents", "The share of each topic in every document."),
}
#: Contents of the data with results, for people.
ANNOTATED = "The documents as they were read, in their order, with their largest topic and its share."
#: Words of a topic that its line names.
_LISTED = 12


def describe_parts(result: Result) -> str:
    """Return what the run found, and how topics differ by time, group and number, in sentences."""
    names = [f"“{number} · {name}”" for number, name in enumerate(result.names[TOPICS], start=1)]
    effects = (describe_effects(found, names, column) for column, found in list_effects(result).items())
    return " ".join([describe_found(result), *effects])


#: Title and contents of the comparisons by kind of column, and the title of those of the ends of a line.
_COMPARED = {
    "date": ("Topics over time", "The share of each topic in each period, with 95 % intervals."),
    "group": (
        "Topics by group",
        "The share of each topic in each group, and tests against the other groups.",
    ),
    "number": ("Topics by number", "The share of each topic at each value of a number, or in ranges of it."),
}
_CHANGES = (
    "Changes of topics",
    "How each topic changes from the first date or lowest number to the last, with tests.",
)


def compare_parts(result: Result) -> dict[str, tuple[str, pd.DataFrame]]:
    """Return how topics differ by time, group and number: what a table has, and the table, by its title."""
    tables: dict[tuple[str, str], list[pd.DataFrame]] = {}
    names = np.array(result.names[TOPICS], dtype=object)
    for column, found in list_effects(result).items():
        for title, table in ((_COMPARED[found.kind], found.table), (_CHANGES, found.line)):
            if table is not None:
                named = table.assign(name=names[table["topic"] - 1], column=column)
                first = ["column", "topic", "name"]
                listed = [*first, *(name for name in table.columns if name not in first)]
                tables.setdefault(title, []).append(named[listed])
    return {title: (about, pd.concat(parts, ignore_index=True)) for (title, about), parts in tables.items()}


def write_arrangement(result: Result) -> str:
    """Return Python that joins the topics of the repeated run as they are joined in a result."""
    groups = tuple(tuple(map(int, group)) for group in result.arranged[TOPICS])
    module = arrange_topics.__module__
    return f"\nfrom {module} import arrange_topics\n\nresult = arrange_topics(result, {groups!r})\n"


def summarise_parts(result: Result) -> dict[str, pd.DataFrame]:
    """Return the topics, a line each, under a title.

    Returns: topic, name, share of all words, documents (of which it is the largest topic), coherence (NPMI of its most
      probable words over the documents), and words, the most probable first.
    """
    answer = TopicAnswer.of_result(result)
    largest = np.bincount(result.labels("documents"), minlength=answer.n_topics + 1)[1:]
    table = pd.DataFrame(
        {
            "topic": np.arange(1, answer.n_topics + 1),
            "name": result.names["topics"],
            "share": answer.topics.share,
            "documents": largest,
            "coherence": answer.quality.npmi,
            "words": [", ".join(map(str, words)) for words in answer.list_top_words(_LISTED)],
        }
    )
    return {"Topics": table}


def annotate_data(result: Result) -> tuple[pd.DataFrame, list[str]]:
    """Return the documents as they were read, with their largest topic; and the columns of the data.

    Returns: document, text, label and the further columns of the data, as far as they are known; then topic, topic_name
      and topic_share. Documents are in the order of the data. Documents without words, and those that were held out
      whole, have no topic. Of a corpus on disk the documents are a sample.
    """
    shown = TopicAnswer.of_result(result).corpus
    data = result.prepared.data
    corpus = take_groups(data, result.groups) if isinstance(data, Corpus) else shown
    shares = result.documents.filter(regex=r"^topic_\d+(:|$)").to_numpy(dtype=np.float64)
    labels = result.labels("documents")
    own = pd.DataFrame(
        {
            "topic": pd.array(labels, dtype="Int64"),
            "topic_name": np.array(["", *result.names["topics"]], dtype=object)[labels],
            "topic_share": shares[np.arange(len(labels)), np.maximum(labels, 1) - 1],
        },
        index=pd.Index(shown.documents),
    )
    own.loc[own["topic"] == 0, "topic"] = pd.NA
    known: dict[str, Any] = {"document": corpus.documents}
    known |= {} if corpus.texts is None else {"text": list(corpus.texts)}
    known |= {} if corpus.labels is None else {"label": corpus.labels}
    taken = {*known, *own.columns}
    further = {f"{name} (read)" if name in taken else name: of for name, of in corpus.metadata.items()}
    own = own.reindex(corpus.documents).reset_index(drop=True)
    own["topic_name"] = own["topic_name"].fillna("")
    return pd.concat([pd.DataFrame(known | further), own], axis=1), [*known, *further]
