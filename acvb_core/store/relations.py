"""Relations on disk: each is stored once, under a key of everything it holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relations.patterns import as_pattern
from acvb_core.store.files import (
    DAMAGE,
    Arrays,
    damage_error,
    from_labels_bytes,
    from_text_bytes,
    labels_bytes,
    read_arrays,
    text_bytes,
    texts_key,
    write_arrays,
)

#: Version 2 may say what kind of network a relation is, and what is known of its objects.
VERSION = 2


def relation_key(relation: Relation) -> str:
    """Return a SHA-256 (hex) of the links, the missing entries, the labels, the names and all else of a relation.

    The fingerprint alone is not enough: two relations may have the same links and other objects.
    """
    return texts_key(relation.fingerprint, _texts(relation))


def _texts(relation: Relation) -> dict[str, NDArray[np.uint8]]:
    texts = {
        "names": text_bytes([relation.name, relation.row_kind, relation.column_kind]),
        "row_labels": labels_bytes(relation.row_labels),
        "column_labels": labels_bytes(relation.column_labels),
    }
    # Left out where there is nothing to say: such relations have the key and the file they always had.
    if relation.network is not None or relation.attributes:
        texts["about"] = text_bytes(_about(relation))
    return texts


def _about(relation: Relation) -> dict[str, Any]:
    network = relation.network
    return {
        "network": None if network is None else asdict(network),
        "attributes": {name: list(values) for name, values in relation.attributes.items()},
    }


def write_relation(path: Path, relation: Relation) -> None:
    """Write a relation to an npz file; of an undirected network one triangle, from which the other follows.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    arrays: dict[str, Any] = {"shape": np.array(relation.shape, dtype=np.int64), **_texts(relation)}
    undirected = relation.network is not None and not relation.network.directed
    for name, pattern in (("ones", relation.ones), ("missing", relation.missing)):
        stored = as_pattern(sparse.triu(pattern)) if undirected else pattern
        arrays[f"{name}_indptr"], arrays[f"{name}_indices"] = stored.indptr, stored.indices
    # Earlier programs go on reading what they have always understood, and say of the rest that it is newer.
    write_arrays(path, arrays, version=VERSION if "about" in arrays else 1)


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
        network, attributes = _from_about(arrays)
        return Relation.build(
            _pattern(arrays["ones_indptr"], arrays["ones_indices"], shape),
            _pattern(arrays["missing_indptr"], arrays["missing_indices"], shape),
            row_labels=from_labels_bytes(arrays["row_labels"]),
            column_labels=from_labels_bytes(arrays["column_labels"]),
            name=name,
            row_kind=row_kind,
            column_kind=column_kind,
            network=network,
            attributes=attributes,
        )
    except (*DAMAGE, DataError) as error:
        raise damage_error(path) from error


def _from_about(arrays: Arrays) -> tuple[Network | None, dict[str, NDArray[Any]]]:
    """Return the kind of network, and what is known of the objects.

    Raises
    ------
    ValueError, KeyError, TypeError
        This is not what `_about` gave.
    """
    if "about" not in arrays:
        return None, {}
    about = from_text_bytes(arrays["about"])
    kind, network, attributes = about["network"], None, {}
    if kind is not None:
        network = Network(**kind)
        if asdict(network) != kind or not all(isinstance(value, bool) for value in kind.values()):
            raise ValueError(f"no kind of network: {kind}")
    for name, values in dict(about["attributes"]).items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(f"no labels: {name}")
        attributes[name] = np.array(values, dtype=object)
    return network, attributes


def _pattern(pointers: NDArray[Any], indices: NDArray[Any], shape: tuple[int, ...]) -> sparse.csr_array:
    pattern = sparse.csr_array((np.ones(len(indices), dtype=np.bool_), indices, pointers), shape=shape)
    pattern.check_format(full_check=True)
    return pattern
