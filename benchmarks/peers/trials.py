"""The data of a trial, and what is held out of them: the same for every method."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_labels
from acvb_core.data.table import Table
from acvb_core.evaluate.agreement import label_agreement
from acvb_core.evaluate.split import hold_out, hold_out_cells
from acvb_core.samples.catalogue import SAMPLES, load_sample
from benchmarks.peers.answers import PeerAbsentError

#: Shares of the words of each document, of the pairs and of the cells that are held out.
WORDS, PAIRS, CELLS = 0.1, 0.1, 0.3


@dataclass(frozen=True, eq=False)
class Trial:
    """Data to fit and data to predict."""

    task: str
    train: Any  #: a Corpus, Relation or Table, without what is held out
    heldout: Any  #: HeldOutWords or HeldOut
    labels: NDArray[Any] | None = (
        None  #: known group of each row object, "" where unknown, shape (n,); None without
    )


def read_reuters() -> Corpus:
    """Return the 395 Reuters articles that the package lda installs."""
    try:
        from lda import datasets
    except ImportError as error:
        raise PeerAbsentError("the package lda, which has the articles, is not installed") from error
    return Corpus.build(datasets.load_reuters(), vocabulary=datasets.load_reuters_vocab(), name="Reuters")


def read_wine() -> Table:
    """Return scikit-learn's table of wines."""
    from sklearn.datasets import load_wine

    return Table.build(np.asarray(load_wine().data, dtype=float), name="wine")


def load_data(task: str, name: str) -> Any:
    """Return the data called so: a sample, "reuters", "wine", or a file."""
    if name in SAMPLES:
        return load_sample(name).data
    if name == "reuters":
        return read_reuters()
    if name == "wine":
        return read_wine()
    # Readers are imported where they are needed: every trial has a process of its own.
    if task == "topics":
        from acvb_core.data.corpora.readers import load_corpus

        return load_corpus(name).data
    if task == "features":
        from acvb_core.data.table_build import load_table

        return load_table(name).data
    from acvb_core.data.relation_readers import load_relation

    return load_relation(name, domains="one" if task == "networks" else "two").data


def prepare_trial(task: str, name: str, seed: int) -> Trial:
    """Return a trial with what is held out drawn from a seed."""
    data = load_data(task, name)
    if task == "topics":
        from acvb_core.evaluate.split import hold_out_tokens

        split = hold_out_tokens(data, WORDS, seed)
    elif task == "features":
        split = hold_out_cells(data, CELLS, seed)
    else:
        split = hold_out(data, PAIRS, seed)
        return Trial(task, split.train, split.heldout, find_labels(data, name))
    return Trial(task, split.train, split.heldout)


def find_labels(relation: Relation, name: str) -> NDArray[Any] | None:
    """Return the known group of each row object, shape (n,), or None.

    It stands in an attribute of the data, or in a file beside them: DATA_labels.csv for DATA.csv and DATA_34.csv.
    """
    attributes = dict(relation.attributes)
    path = Path(name)
    for stem in (path.stem, path.stem.rpartition("_")[0]):
        if not attributes and (beside := path.with_name(f"{stem}_labels.csv")).is_file():
            attributes = dict(load_labels(beside, relation))
    groups = [
        labels for labels in attributes.values() if label_agreement(np.zeros(len(labels)), labels).groups
    ]
    return groups[-1] if groups else None


def standardise_heldout(trial: Trial) -> NDArray[np.float64]:
    """Return the held-out cells of a table on the standardised scale of its training cells, shape (n,)."""
    held, moments = trial.heldout, trial.train.moments
    return np.asarray((held.values - moments.mean[held.columns]) / moments.sd[held.columns])


def find_files(folder: Path) -> list[tuple[str, str]]:
    """Return task and path of each file of a folder, those called labels or truth left out.

    Texts are in corpora/ and text/, links in relations/, tables in features/. A file of links whose first column is
    called "source" is a network.
    """
    files = [("topics", path) for part in ("corpora", "text") for path in (folder / part).rglob("*.csv.gz")]
    files += [("features", path) for path in (folder / "features").rglob("*.csv*")]
    for path in (folder / "relations").rglob("*.csv"):
        with path.open(encoding="utf-8") as lines:
            is_network = lines.readline().startswith("source")
        files.append(("networks" if is_network else "relations", path))
    return sorted(
        (task, str(path))
        for task, path in files
        if not any(word in path.name for word in ("labels", "truth"))
    )
