"""Corpora on disk: each is stored once, with its texts where they are known, under a key of everything it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.metadata import kind_of, string_values, typed_values
from acvb_core.store.files import (
    DAMAGE,
    StoreError,
    damage_error,
    from_labels_bytes,
    from_text_bytes,
    labels_bytes,
    read_arrays,
    text_bytes,
    texts_key,
    write_arrays,
)

VERSION = 1


def corpus_key(corpus: Corpus) -> str:
    """Return a SHA-256 (hex) of the counts, the vocabulary, and all that is known of the documents."""
    return texts_key(corpus.fingerprint, _texts(corpus))


def _texts(corpus: Corpus) -> dict[str, NDArray[np.uint8]]:
    tokeniser = None if corpus.tokeniser is None else corpus.tokeniser.to_dict()
    return {
        "about": text_bytes({"name": corpus.name, "tokeniser": tokeniser}),
        "vocabulary": labels_bytes(corpus.vocabulary),
        "documents": labels_bytes(corpus.documents),
        # What is not known is null, not left out: texts alone must not have the key of labels alone.
        "texts": text_bytes(corpus.texts),
        "labels": text_bytes(None) if corpus.labels is None else labels_bytes(corpus.labels),
        **_metadata(corpus),
    }


def _metadata(corpus: Corpus) -> dict[str, NDArray[np.uint8]]:
    """Return the further columns as text; nothing where there are none: then the key is that of earlier versions."""
    columns = {name: [kind_of(column), string_values(column)] for name, column in corpus.metadata.items()}
    return {"metadata": text_bytes(columns)} if columns else {}


def write_corpus(path: Path, corpus: Corpus) -> None:
    """Write a corpus to an npz file.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    counts = corpus.counts
    arrays: dict[str, Any] = {"shape": np.array(corpus.shape, dtype=np.int64), **_texts(corpus)}
    arrays |= {"indptr": counts.indptr, "indices": counts.indices, "counts": counts.data}
    write_arrays(path, arrays, version=VERSION)


def read_corpus(path: Path) -> Corpus:
    """Return the corpus that `write_corpus` wrote.

    Raises
    ------
    StoreError
        The file is gone, damaged, newer than this program, or cut into words in a way that it does not know.
    """
    arrays = read_arrays(path, version=VERSION)
    try:
        about = from_text_bytes(arrays["about"])
        columns = from_text_bytes(arrays["metadata"]) if "metadata" in arrays else {}
        shape = tuple(int(n) for n in arrays["shape"])
        counts = sparse.csr_array((arrays["counts"], arrays["indices"], arrays["indptr"]), shape=shape)
        counts.check_format(full_check=True)
        return Corpus.build(
            counts,
            vocabulary=from_labels_bytes(arrays["vocabulary"]),
            documents=from_labels_bytes(arrays["documents"]),
            name=about["name"],
            texts=from_text_bytes(arrays["texts"]),
            labels=from_text_bytes(arrays["labels"]),
            tokeniser=None if about["tokeniser"] is None else Tokeniser.from_dict(about["tokeniser"]),
            metadata={name: typed_values(values, kind) for name, (kind, values) in dict(columns).items()},
        )
    except ParameterError as error:
        raise StoreError(f"{path} holds a corpus that this version cannot cut into words: {error}") from error
    except (*DAMAGE, DataError) as error:
        raise damage_error(path) from error
