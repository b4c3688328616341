"""Trained topics as a file to continue from, one npz without pickle; and topics of a run in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.tokenise import Tokeniser, WordFunction, with_function
from acvb_core.models.lda.trained import TrainedTopics, trained_topics
from acvb_core.models.lda.transform import FixedTopics
from acvb_core.registry import MODELS
from acvb_core.store.codecs import decode_posterior, encode_posterior
from acvb_core.store.files import (
    DAMAGE,
    Arrays,
    StoreError,
    damage_error,
    from_labels_bytes,
    from_text_bytes,
    labels_bytes,
    read_arrays,
    read_npz,
    savez,
    text_bytes,
    write_arrays,
)

VERSION = 1
#: What a folder of results calls it.
MODEL = "model.npz"
_FORMAT = "acvb trained topics"
_WANTED = "Give a file that save_model wrote, or the folder of a run of topics."
#: What `load_topics` reads of a folder, and what it takes.
_RUN, _ARRAYS = "run.json", "posterior.npz"
_WANTED_RUN = "Give a folder that `acvb fit --model lda … --out` wrote, or the model.npz in it."
_PLAIN = ("documents", "name", "method", "fingerprint")


def save_model(model: Any, path: str | Path | BinaryIO) -> None:
    """Write topics with everything that training continues with.

    Parameters
    ----------
    model : TrainedTopics, Result, or anything with a method `trained_topics`
    path : path or binary file object
        A file that is there is replaced, whole or not at all.

    Raises
    ------
    ParameterError
        There are no topics in it.
    StoreError
        The file cannot be written.
    """
    arrays = model_arrays(model)
    if isinstance(path, str | Path):
        write_arrays(Path(path), arrays, version=VERSION)
    else:
        savez(path, arrays, version=VERSION)


def model_arrays(model: Any) -> Arrays:
    """Return what `save_model` writes, but its version."""
    trained = _as_trained(model)
    form, arrays = encode_posterior(trained.posterior)
    about = {
        "format": _FORMAT,
        **{name: getattr(trained, name) for name in _PLAIN},
        "tokeniser": None if trained.tokeniser is None else trained.tokeniser.to_dict(),
        "values": None if trained.values is None else dict(trained.values),
        "posterior": form,
    }
    return arrays | {
        "about": text_bytes(about),
        "vocabulary": labels_bytes(trained.vocabulary),
        "sizes": np.asarray(trained.sizes),
    }


def _as_trained(model: Any) -> TrainedTopics:
    if hasattr(model, "trained_topics"):
        model = model.trained_topics()
    elif hasattr(model, "snapshot"):
        model = trained_topics(model)
    if isinstance(model, TrainedTopics):
        return model
    raise ParameterError(f"a {type(model).__name__} has no topics to save; give a result or trained topics.")


def load_model(
    path: str | Path | BinaryIO, name: str | None = None, *, tokeniser: WordFunction | None = None
) -> TrainedTopics:
    """Return the topics that `save_model` wrote, to continue from: `fit(..., start=load_model(path))`.

    Parameters
    ----------
    path : path or binary file object
        A file, or the folder that a run of topics was written to.
    name : str, optional
        What messages call a file object.
    tokeniser : callable, optional
        The function that the texts were cut by, which the file does not keep; needed to cut other texts.

    Raises
    ------
    ParameterError
        A tokeniser was given, and the texts were not cut by a function.
    StoreError
        The file is not there, holds something else, is damaged, or was written by a newer version of the program.
    """
    if isinstance(path, str | Path):
        where, stored = Path(path), None
        if where.is_dir():
            if not (where / MODEL).is_file():
                raise StoreError(f"{where} holds no trained topics: there is no {MODEL} in it. {_WANTED}")
            where /= MODEL
    else:
        where, stored = Path(name or "the file"), path
    foreign = StoreError(f"{where} holds no trained topics. {_WANTED}")
    trained = _decode(where, read_arrays(where, version=VERSION, stored=stored, foreign=foreign), foreign)
    return replace(trained, tokeniser=with_function(trained.tokeniser, tokeniser))


def decode_model(path: Path, arrays: Arrays) -> TrainedTopics:
    """Return the topics that `model_arrays` gave; `path` is that of the file, for errors.

    Raises StoreError: they are damaged.
    """
    return _decode(path, arrays, damage_error(path, "the topics that the run began from"))


def is_model(path: Path) -> bool:
    """Return whether the heading of a file is that of `save_model`, of this version or of an older one."""
    try:
        about = from_text_bytes(read_npz(path, ("about",))["about"])
        return bool(about["format"] == _FORMAT)
    except (StoreError, *DAMAGE):
        return False


def _decode(path: Path, arrays: Arrays, foreign: StoreError) -> TrainedTopics:
    try:
        about = from_text_bytes(arrays["about"])
        if about["format"] != _FORMAT:
            raise foreign
    except DAMAGE as error:
        raise foreign from error
    try:
        cut = about["tokeniser"]
        trained = TrainedTopics(
            decode_posterior(about["posterior"], arrays),
            from_labels_bytes(arrays["vocabulary"]),
            arrays["sizes"],
            tokeniser=None if cut is None else Tokeniser.from_dict(cut),
            values=about["values"],
            **{name: about[name] for name in _PLAIN},
        )
        fault = _find_fault(trained)
    except ParameterError as error:
        raise _cut_error(path, error) from error
    except DAMAGE as error:
        raise damage_error(path) from error
    if fault is not None:
        raise damage_error(path, fault)
    return trained


def _cut_error(path: Path, error: ParameterError) -> StoreError:
    return StoreError(f"{path}: its texts were cut in a way that this version does not know: {error}")


def _has_different_words(vocabulary: Iterable[Any]) -> bool:
    words = list(vocabulary)
    return all(isinstance(word, str) for word in words) and len(set(words)) == len(words)


def _find_fault(trained: TrainedTopics) -> str | None:
    """Return what is wrong with the arrays, if anything: kernels would follow wrong sizes out of them."""
    words, alpha, n_words = trained.posterior["words"], trained.posterior["alpha"], len(trained.vocabulary)
    beta = trained.posterior.hyper["beta"]
    if not _has_different_words(trained.vocabulary):
        return "its vocabulary is not a list of different words"
    if alpha.ndim != 1 or not len(alpha) or words.shape != (n_words, len(alpha)):
        return f"{n_words} words, but counts of the shape {words.shape} and {alpha.size} concentrations"
    shapes = {"gains": alpha.shape, "steps": (n_words,), "sizes": (n_words,), "course": (3,)}
    arrays = {**trained.posterior.arrays, "sizes": trained.sizes}
    if any(name in arrays and arrays[name].shape != shape for name, shape in shapes.items()):
        return "what training continues with is not of the topics' size"
    if any(array.dtype.kind not in "fiu" or not np.isfinite(array).all() for array in arrays.values()):
        return "it holds something else than numbers"
    if not (alpha > 0).all() or not beta > 0 or not trained.documents >= 0:
        return "a concentration is not above 0"
    return None


def load_topics(folder: Path) -> FixedTopics:
    """Return the topics of a run that `write_run` wrote, or of a file that `save_model` wrote.

    Raises StoreError: the folder is not there or holds no run, the run is of a model without topics, a file is
      damaged, or texts were cut in a way that this version does not know.
    """
    if folder.is_file():
        return load_model(folder).fixed_topics
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a folder. {_WANTED_RUN}")
    for name in (_RUN, _ARRAYS):
        if not (folder / name).is_file():
            raise StoreError(f"{folder} holds no run: there is no {name} in it. {_WANTED_RUN}")
    name, tokeniser = _read_about(folder / _RUN)
    path = folder / _ARRAYS
    arrays = read_npz(path, ("phi", "alpha", "vocabulary"))
    try:
        vocabulary = from_labels_bytes(arrays["vocabulary"])
        topics = FixedTopics(arrays["phi"], arrays["alpha"], vocabulary, tokeniser, name)
        fault = _find_fault_of_run(topics)
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
        raise _cut_error(path, error) from error
    except DAMAGE as error:
        raise damage_error(path) from error
    raise StoreError(f"{path.parent} holds a run of model {str(model)!r}, which has no topics. {_WANTED_RUN}")


def _find_fault_of_run(topics: FixedTopics) -> str | None:
    """Return what is wrong with the arrays, if anything."""
    phi, alpha, vocabulary = topics.word_probability, topics.alpha, topics.vocabulary
    if not _has_different_words(vocabulary):
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
