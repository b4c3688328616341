"""The topics of a run in plain sentences."""

from __future__ import annotations

import numpy as np

from acvb_core.data.disk import DiskCorpus
from acvb_core.data.report import plural
from acvb_core.engine.result import Result
from acvb_core.models.lda.state import TOPICS
from acvb_core.models.lda.topics import TopicAnswer

#: Topics that are named; of more, the largest.
_NAMED = 5


def describe_found(result: Result) -> str:
    """Return what a run found: its largest topics by name, and how much documents mix them."""
    answer, names = TopicAnswer.of_result(result), result.names[TOPICS]
    order = np.argsort(-answer.topics.share, kind="stable")[:_NAMED].tolist()
    shown = [f"“{k + 1} · {names[k]}” ({_percent(float(answer.topics.share[k]))})" for k in order]
    head = f"{plural(answer.n_topics, 'topic')} in {_count_documents(answer, result)}"
    of = f"with their shares of {'these' if result.groups else 'all'} words"
    if answer.n_topics > _NAMED:
        of = f"the largest {of}"
    said = [f"{head}, {of}: {', '.join(shown)}."]
    used = answer.corpus.lengths > 0
    if answer.n_topics > 1 and used.any():
        most = float(np.median(answer.topics.document_share[used].max(axis=1)))
        said.append(f"In half of the documents the main topic has at least {_percent(most)} of the words.")
    return " ".join(said)


def _count_documents(answer: TopicAnswer, result: Result) -> str:
    """Return of how many documents the shares are, and of which."""
    if not result.groups:
        return plural(answer.data.n_documents, "document")
    one = "sampled document" if isinstance(answer.data, DiskCorpus) else "document"
    return f"{plural(answer.corpus.n_documents, one)} with {result.of_groups}"


def _percent(share: float) -> str:
    """Return a share in whole per cent, one decimal below ten."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"
