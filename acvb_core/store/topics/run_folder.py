"""Topics of a run that was written to a folder, for documents that were not fitted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.models.lda.transform import FixedTopics
from acvb_core.registry import MODELS
from acvb_core.store.files import DAMAGE, StoreError, damage_error, from_labels_bytes, read_npz
from acvb_core.store.topics.trained import load_model

_RUN, _ARRAYS = "run.json", "posterior.npz"
_WANTED = "Give a folder that `acvb fit --model lda … --out` wrote, or the model.npz in it."


def load_topics(folder: Path) -> FixedTopics:
    """Return the topics of a run that `write_run` wrote, or of a file that `save_model` wrote.

    Raises StoreError: the folder is not there or holds no run, the run is of a model without topics, a file is
      damaged, or texts were cut in a way that this version does not know.
    """
    if folder.is_file():
        return load_model(folder).fixed_topics
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a folder. {_WANTED}")
    for name in (_RUN, _ARRAYS):
        if not (folder / name).is_file():
            raise StoreError(f"{folder} holds no run: there is no {name} in it. {_WANTED}")
    name, tokeniser = _read_about(folder / _RUN)
    path = folder / _ARRAYS
    arrays = read_npz(path, ("phi", "alpha", "vocabulary"))
    try:
        vocabulary = from_labels_bytes(arrays["vocabulary"])
        topics = FixedTopics(arrays["phi"], arrays["alpha"], vocabulary, tokeniser, name)
        fault = _find_fault(topics)
    except DAMAGE as error:
        raise damage_error(path) from error
    if fault is not None:
        raise damage_error(path, fault)
    return topics


def _read_about(path: Path) -> tuple[str, Tokeniser | None]:
    """Return the name of the corpus, and how its texts were cut."""
    try:
        about = json.loads(path.read_bytes())
        model, data = about["model"], about["data"]
        if any(row.name == model and row.kind == "corpus" for row in MODELS):
            # Runs of older versions do not say how their texts were cut.
            settings = data.get("tokeniser")
            return str(data["name"]), None if settings is None else Tokeniser.from_dict(settings)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ParameterError as error:
        raise StoreError(
            f"{path}: its texts were cut in a way that this version does not know: {error}"
        ) from error
    except DAMAGE as error:
        raise damage_error(path) from error
    raise StoreError(f"{path.parent} holds a run of model {str(model)!r}, which has no topics. {_WANTED}")


def _find_fault(topics: FixedTopics) -> str | None:
    """Return what is wrong with the arrays, if anything."""
    phi, alpha, vocabulary = topics.word_probability, topics.alpha, topics.vocabulary
    if not all(isinstance(word, str) for word in vocabulary) or len(set(vocabulary)) < len(vocabulary):
        return "its vocabulary is not a list of different words"
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
