"""Relations on disk: each is stored once, under a key of everything it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.errors import DataError
from acvb_core.store.files import (
    DAMAGE,
    damaged,
    from_labels_bytes,
    from_text_bytes,
    labels_bytes,
    read_arrays,
    text_bytes,
    texts_key,
    write_arrays,
)

VERSION = 1


def relation_key(relation: Relation) -> str:
    """Return a SHA-256 (hex) of the links, the missing entries, the labels and the names of a relation.

    The fingerprint alone is not enough: two relations may have the same links and other objects.
    """
    return texts_key(relation.fingerprint, _texts(relation))


def _texts(relation: Relation) -> dict[str, NDArray[np.uint8]]:
    return {
        "names": text_bytes([relation.name, relation.row_kind, relation.column_kind]),
        "row_labels": labels_bytes(relation.row_labels),
        "column_labels": labels_bytes(relation.column_labels),
    }


def write_relation(path: Path, relation: Relation) -> None:
    """Write a relation to an npz file.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    arrays: dict[str, Any] = {"shape": np.array(relation.shape, dtype=np.int64), **_texts(relation)}
    for name, pattern in (("ones", relation.ones), ("missing", relation.missing)):
        arrays[f"{name}_indptr"], arrays[f"{name}_indices"] = pattern.indptr, pattern.indices
    write_arrays(path, arrays, version=VERSION)


def read_relation(path: Path) -> Relation:
    """Return the relation that `write_relation` wrote.

    Raises
    ------
    StoreError
        The file is gone, damaged, or newer than this program.
    """
    arrays = read_arrays(path, version=VERSION)
    try:
        shape = tuple(int(n) for n in arrays["shape"])
        name, row_kind, column_kind = from_text_bytes(arrays["names"])
        return Relation.build(
            _pattern(arrays["ones_indptr"], arrays["ones_indices"], shape),
            _pattern(arrays["missing_indptr"], arrays["missing_indices"], shape),
            row_labels=from_labels_bytes(arrays["row_labels"]),
            column_labels=from_labels_bytes(arrays["column_labels"]),
            name=name,
            row_kind=row_kind,
            column_kind=column_kind,
        )
    except (*DAMAGE, DataError) as error:
        raise damaged(path) from error


def _pattern(pointers: NDArray[Any], indices: NDArray[Any], shape: tuple[int, ...]) -> sparse.csr_array:
    pattern = sparse.csr_array((np.ones(len(indices), dtype=np.bool_), indices, pointers), shape=shape)
    pattern.check_format(full_check=True)
    return pattern
