"""Bayesian clusters of relations, topics of corpora and features of tables, with inference that is sure to converge.

>>> import acvb_core
>>> relation = acvb_core.load_sample("southern_women").relation
>>> result = acvb_core.fit(relation, "acvb0", k_rows=5, k_cols=5)
>>> result.rows.head()  # doctest: +SKIP
>>> corpus = acvb_core.load_sample("bars").corpus
>>> acvb_core.fit(corpus, "acvb0", k=10, max_sweeps=20).topics.head()  # doctest: +SKIP
>>> table = acvb_core.load_sample("block_images").table
>>> acvb_core.fit(table, "fab", heldout=0.3).features.head()  # doctest: +SKIP

Names are imported when they are first used, so that `import acvb_core` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from acvb_core.cluster.backend import DaskExecutor
    from acvb_core.core.parallel import use_threads
    from acvb_core.data.corpora.disk_build import read_to_disk, write_disk_corpus
    from acvb_core.data.corpora.readers import load_corpus
    from acvb_core.data.corpora.tokenise import Tokeniser
    from acvb_core.data.corpus import Corpus
    from acvb_core.data.disk import DiskCorpus
    from acvb_core.data.network import as_network, as_two_sided, with_attributes, with_names
    from acvb_core.data.relation import Network, Relation
    from acvb_core.data.relation_readers import load_labels, load_relation
    from acvb_core.data.report import DataChangedWarning
    from acvb_core.data.table import Table
    from acvb_core.data.table_build import load_table
    from acvb_core.engine.experiments.answers import combine
    from acvb_core.engine.experiments.report import experiment
    from acvb_core.engine.fitting import compare, fit
    from acvb_core.engine.result import Result
    from acvb_core.engine.tuning import tune
    from acvb_core.models.lda.grid import grid
    from acvb_core.models.lda.online.streaming_lda import StreamingLda
    from acvb_core.models.lda.trained import TrainedTopics, trained_topics
    from acvb_core.report.files import write_report
    from acvb_core.report.original import add_results
    from acvb_core.samples.catalogue import load_sample
    from acvb_core.shards.place import shard_workers
    from acvb_core.store.archives import load_comparison, load_result
    from acvb_core.store.topics import load_model, save_model

__version__ = "0.1.0"

__all__ = [
    "Corpus",
    "DaskExecutor",
    "DataChangedWarning",
    "DiskCorpus",
    "Network",
    "Relation",
    "Result",
    "StreamingLda",
    "Table",
    "Tokeniser",
    "TrainedTopics",
    "__version__",
    "add_results",
    "as_network",
    "as_two_sided",
    "combine",
    "compare",
    "experiment",
    "fit",
    "grid",
    "load_comparison",
    "load_corpus",
    "load_labels",
    "load_model",
    "load_relation",
    "load_result",
    "load_sample",
    "load_table",
    "methods",
    "read_to_disk",
    "save_model",
    "shard_workers",
    "trained_topics",
    "tune",
    "use_threads",
    "with_attributes",
    "with_names",
    "write_disk_corpus",
    "write_report",
]

_HOME = {
    "Corpus": "acvb_core.data.corpus",
    "DaskExecutor": "acvb_core.cluster.backend",
    "DataChangedWarning": "acvb_core.data.report",
    "DiskCorpus": "acvb_core.data.disk",
    "Network": "acvb_core.data.relation",
    "Relation": "acvb_core.data.relation",
    "Result": "acvb_core.engine.result",
    "StreamingLda": "acvb_core.models.lda.online.streaming_lda",
    "Table": "acvb_core.data.table",
    "Tokeniser": "acvb_core.data.corpora.tokenise",
    "TrainedTopics": "acvb_core.models.lda.trained",
    "add_results": "acvb_core.report.original",
    "as_network": "acvb_core.data.network",
    "as_two_sided": "acvb_core.data.network",
    "combine": "acvb_core.engine.experiments.answers",
    "compare": "acvb_core.engine.fitting",
    "experiment": "acvb_core.engine.experiments.report",
    "fit": "acvb_core.engine.fitting",
    "grid": "acvb_core.models.lda.grid",
    "load_comparison": "acvb_core.store.archives",
    "load_corpus": "acvb_core.data.corpora.readers",
    "load_labels": "acvb_core.data.relation_readers",
    "load_model": "acvb_core.store.topics",
    "load_relation": "acvb_core.data.relation_readers",
    "load_result": "acvb_core.store.archives",
    "load_sample": "acvb_core.samples.catalogue",
    "load_table": "acvb_core.data.table_build",
    "read_to_disk": "acvb_core.data.corpora.disk_build",
    "save_model": "acvb_core.store.topics",
    "shard_workers": "acvb_core.shards.place",
    "trained_topics": "acvb_core.models.lda.trained",
    "tune": "acvb_core.engine.tuning",
    "use_threads": "acvb_core.core.parallel",
    "with_attributes": "acvb_core.data.network",
    "with_names": "acvb_core.data.network",
    "write_disk_corpus": "acvb_core.data.corpora.disk_build",
    "write_report": "acvb_core.report.files",
}


#: Functions that read: called by these names they warn of what they changed in the data (`DataChangedWarning`). The app
#: and the command line, which call those of the modules, show the whole report.
_READERS = ("load_corpus", "load_labels", "load_relation", "load_table", "read_to_disk")


def methods() -> pd.DataFrame:
    """Return the methods there are, one row each.

    Returns
    -------
    DataFrame
        model, method, label, ends (how a run ends), summary, reference, settings (names and defaults).
    """
    import pandas as pd

    from acvb_core.registry import METHODS

    return pd.DataFrame(
        [
            {
                "model": row.model,
                "method": row.name,
                "label": row.label,
                "ends": row.describe_convergence(),
                "summary": row.summary,
                "reference": row.reference,
                "settings": ", ".join(f"{p.name}={p.default!r}" for p in row.parameters),
            }
            for row in METHODS
        ]
    )


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    if name in _READERS:
        from acvb_core.data.report import warning_of_changes

        value = warning_of_changes(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
