"""Topics of a run that was written to a folder, for documents that were not fitted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.clusters import order_by_size, rearrange
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.completion import Completion
from acvb_core.models.lda.topics import word_probability
from acvb_core.models.lda.transform import completed, transformed
from acvb_core.store.files import DAMAGE, StoreError, damage_error, from_labels_bytes, read_npz
from acvb_core.store.trained import load_model

_RUN, _ARRAYS = "run.json", "posterior.npz"
_WANTED = "Give a folder that `acvb fit --model lda … --out` wrote, or the model.npz in it."


@dataclass(frozen=True, eq=False)
class SavedTopics:
    """What new documents are read with.

    Attributes
    ----------
    word_probability : ndarray, shape (K, V)
        phi: rows sum to one.
    alpha : ndarray, shape (K,)
        Concentrations.
    vocabulary : ndarray of str (object dtype), shape (V,)
    tokeniser : Tokeniser or None
        How the texts were cut; None where word counts were read.
    name : str
        What the user calls the corpus.
    """

    word_probability: Array
    alpha: Array
    vocabulary: NDArray[Any]
    tokeniser: Tokeniser | None
    name: str

    def transform(self, corpus: Corpus) -> pd.DataFrame:
        """Return the topic shares of documents, as `Result.transform` does."""
        return transformed(corpus, self.vocabulary, self.word_probability, self.alpha)

    def completion(self, corpus: Corpus) -> Completion:
        """Return how well the topics complete documents, as `Result.completion` does.

        Raises
        ------
        DataError
            No word of the documents is one of the topics'.
        """
        return completed(corpus, self.vocabulary, self.word_probability, self.alpha)


def load_topics(folder: Path) -> SavedTopics:
    """Return the topics of a run that `write_run` wrote, or of a file that `save_model` wrote.

    Raises
    ------
    StoreError
        The folder is not there or holds no run, the run is of a model without topics, a file is damaged, or texts
        were cut in a way that this version does not know.
    """
    if folder.is_file():
        return _of_model(folder)
    if not folder.is_dir():
        raise StoreError(f"{folder} is no folder. {_WANTED}")
    for name in (_RUN, _ARRAYS):
        if not (folder / name).is_file():
            raise StoreError(f"{folder} holds no run: there is no {name} in it. {_WANTED}")
    name, tokeniser = _about(folder / _RUN)
    path = folder / _ARRAYS
    arrays = read_npz(path, ("phi", "alpha", "vocabulary"))
    try:
        saved = SavedTopics(
            arrays["phi"], arrays["alpha"], from_labels_bytes(arrays["vocabulary"]), tokeniser, name
        )
        wrong = _fault(saved)
    except DAMAGE as error:
        raise damage_error(path) from error
    if wrong is not None:
        raise damage_error(path, wrong)
    return saved


def _of_model(path: Path) -> SavedTopics:
    """Return the topics of a model, numbered as in the files of the run that left it: the largest first."""
    trained = load_model(path)
    posterior = trained.posterior
    orders = {domain: order_by_size(mass) for domain, mass in posterior.masses().items()}
    posterior = rearrange(posterior, orders)
    return SavedTopics(
        word_probability(posterior),
        np.asarray(posterior["alpha"]),
        trained.vocabulary,
        trained.tokeniser,
        trained.name,
    )


def _about(path: Path) -> tuple[str, Tokeniser | None]:
    """Return the name of the corpus, and how its texts were cut."""
    try:
        about = json.loads(path.read_bytes())
        model, data = about["model"], about["data"]
        if model == "lda":
            # Runs of older versions do not say how their texts were cut.
            settings = data.get("tokeniser")
            return str(data["name"]), None if settings is None else Tokeniser.from_dict(settings)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ParameterError as error:
        raise StoreError(
            f"{path}: its texts were cut in a way that this version does not know: {error}"
        ) from error
    except (*DAMAGE, AttributeError, RecursionError) as error:
        raise damage_error(path) from error
    raise StoreError(f"{path.parent} holds a run of model {str(model)!r}, which has no topics. {_WANTED}")


def _fault(saved: SavedTopics) -> str | None:
    """Return what is wrong with the arrays, if anything."""
    phi, alpha, vocabulary = saved.word_probability, saved.alpha, saved.vocabulary
    if not all(isinstance(word, str) for word in vocabulary) or len(set(vocabulary)) < len(vocabulary):
        return "its vocabulary is no list of different words"
    if phi.dtype.kind != "f" or alpha.dtype.kind != "f" or not len(alpha):
        return "it holds other numbers than those of topics"
    if phi.shape != (len(alpha), len(vocabulary)) or alpha.shape != (len(alpha),):
        return f"{len(alpha)} topics, {len(vocabulary)} words, but probabilities of the shape {phi.shape}"
    # A NaN fails each of these.
    if not (np.all(phi >= 0) and np.allclose(phi.sum(axis=1, dtype=np.float64), 1.0, atol=1e-3)):
        return "the words' probabilities do not add up to one"
    if not (np.all(alpha >= 0) and 0 < alpha.sum() < np.inf):
        return "a concentration is below 0, or all are 0"
    return None
