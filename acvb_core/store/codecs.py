"""Relations, corpora, tables and posteriors as arrays; a data set is one npz file under a key of all that it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.names import kind_of, string_values, typed_values
from acvb_core.data.network import with_attributes
from acvb_core.data.relation import Network, Relation, canonical
from acvb_core.data.table import Image, Table
from acvb_core.store.files import (
    DAMAGE,
    Arrays,
    StoreError,
    damage_error,
    file_bytes,
    from_labels_bytes,
    from_text_bytes,
    labels_bytes,
    read_arrays,
    remove_file,
    text_bytes,
    texts_key,
    write_arrays,
)

#: Arrays that the keys of data are made of.
_IN_RELATION = ("names", "row_labels", "column_labels", "about")
_IN_CORPUS = ("about", "vocabulary", "documents", "texts", "labels", "metadata")
_IN_TABLE = ("about", "rows", "columns", "labels", "image_pixels", "image_background", "metadata")


@dataclass(frozen=True)
class DataKind:
    """One kind of data, and the way from such data to the arrays of a file, and back."""

    name: str  #: in the database, and in errors
    data_type: type
    folder: str  #: where files of this kind lie, below the store's folder
    #: The newest format that `decode` understands. A file that older programs understand says so in its arrays.
    version: int
    #: Arrays that the key is made of, with the fingerprint of the data; a file need not have all.
    keyed: tuple[str, ...]
    encode: Callable[[Any], dict[str, Any]]  #: data -> arrays
    #: Arrays -> data; raises one of DAMAGE, DataError or ParameterError where they are not what `encode` gave.
    decode: Callable[[Arrays], Any]
    #: The file only says where the data lie, and is written as often as they are kept.
    elsewhere: ClassVar[bool] = False

    @property
    def loader(self) -> str:
        """The public function that reads such data from a user's file."""
        return f"load_{self.called}"

    @property
    def called(self) -> str:
        """The attribute of the loader's answer that holds the data."""
        return self.name

    def file(self, folder: Path, key: str) -> Path:
        """Return the file of data of this kind in a store's folder."""
        return folder / self.folder / f"{key}.npz"

    def key(self, data: Any) -> str:
        """Return a SHA-256 (hex) of everything in the data; a fingerprint alone leaves out what things are called."""
        arrays = self.encode(data)
        parts = {name: np.ascontiguousarray(arrays[name]) for name in self.keyed if name in arrays}
        return texts_key(
            data.fingerprint, {name: part.reshape(-1).view(np.uint8) for name, part in parts.items()}
        )

    def write(self, path: Path, data: Any) -> None:
        """Write data to a file; a StoreError is raised where that cannot be done."""
        arrays = self.encode(data)
        write_arrays(path, arrays, version=arrays.pop("version", self.version))

    def read(self, path: Path) -> Any:
        """Return the data of a file.

        Raises StoreError: the file is gone, damaged, newer than this program, or cut into words in a way that it does
          not know.
        """
        arrays = read_arrays(path, version=self.version)
        try:
            return self.decode(arrays)
        except ParameterError as error:
            raise StoreError(
                f"{path} holds a corpus that this version cannot cut into words: {error}"
            ) from error
        except (*DAMAGE, DataError) as error:
            raise damage_error(path) from error

    def size(self, path: Path) -> int:
        """Return the bytes of what lies at a path that `write` was given."""
        return file_bytes(path)

    def remove(self, path: Path) -> None:
        """Remove what lies at a path that `write` was given."""
        remove_file(path)


def _encode_relation(relation: Relation) -> dict[str, Any]:
    """Return a relation as arrays; of an undirected network one triangle, from which the other follows."""
    network = relation.network
    arrays: dict[str, Any] = {
        "shape": np.array(relation.shape, dtype=np.int64),
        "names": text_bytes([relation.name, relation.row_kind, relation.column_kind]),
        "row_labels": labels_bytes(relation.row_labels),
        "column_labels": labels_bytes(relation.column_labels),
    }
    # Left out where there is nothing to say: such relations have the key and the file they always had.
    known = relation.attributes or relation.column_attributes
    bare = network is None and not (known or any(relation.numbered) or relation.negative)
    arrays["version"] = 3 if relation.weights is not None else 1 if bare else 2
    if not bare:
        rows, columns = (
            {name: list(values) for name, values in own.items()}
            for own in (relation.attributes, relation.column_attributes)
        )
        about: dict[str, Any] = {"network": None if network is None else asdict(network), "attributes": rows}
        about |= {"column_attributes": columns} if columns else {}
        about |= {"numbered": list(relation.numbered)} if any(relation.numbered) else {}
        about |= {"negative": relation.negative} if relation.negative else {}
        about |= {"id_names": list(relation.id_names)} if any(relation.id_names) else {}
        arrays["about"] = text_bytes(about)
    for name, entries in (("ones", relation.links), ("missing", relation.missing)):
        undirected = network is not None and not network.directed
        stored = canonical(sparse.triu(entries)) if undirected else entries
        arrays |= {f"{name}_indptr": stored.indptr, f"{name}_indices": stored.indices}
        if stored.dtype != np.bool_:
            arrays["weights"] = stored.data
    return arrays


def _decode_relation(arrays: Arrays) -> Relation:
    name, row_kind, column_kind = from_text_bytes(arrays["names"])
    about = from_text_bytes(arrays["about"]) if "about" in arrays else {"network": None, "attributes": {}}
    links = _decode_pattern("ones", arrays)
    if "weights" in arrays:
        weights = arrays["weights"]
        known = weights.dtype == np.float64 and weights.shape == links.data.shape
        if not (known and (weights > 0).all() and np.isfinite(weights).all()):
            raise ValueError(f"no weights: {weights.dtype} of {weights.shape}")
        links.data = weights
    relation = Relation.build(
        links,
        _decode_pattern("missing", arrays),
        threshold=0.0,
        row_labels=from_labels_bytes(arrays["row_labels"]),
        column_labels=from_labels_bytes(arrays["column_labels"]),
        name=name,
        row_kind=row_kind,
        column_kind=column_kind,
        network=_decode_network(about["network"]),
        attributes=_decode_labels(about["attributes"]),
    )
    if about.get("column_attributes"):
        if relation.network is not None:
            raise ValueError("columns of a network have labels of their own")
        relation = with_attributes(relation, _decode_labels(about["column_attributes"]), "cols")
    rows, columns = (bool(whole) for whole in about.get("numbered", (False, False)))
    negative = about.get("negative", 0)
    if type(negative) is not int or negative < 0:
        raise ValueError(f"no number of values: {negative!r}")
    ids = tuple(about.get("id_names", ("", "")))
    known = {"": None, **relation.attributes, **relation.column_attributes}
    if len(ids) != 2 or any(name not in known for name in ids):
        raise ValueError(f"no attributes with ids: {ids}")
    relation = replace(relation, numbered=(rows, columns), negative=negative, id_names=ids)
    _ = relation.ids  # a ValueError if they are no numbers
    return relation


def _decode_network(kind: Any) -> Network | None:
    if kind is None:
        return None
    network = Network(**kind)
    if asdict(network) != kind or not all(isinstance(value, bool) for value in kind.values()):
        raise ValueError(f"no kind of network: {kind}")
    return network


def _decode_labels(given: Any) -> dict[str, NDArray[Any]]:
    attributes = {}
    for name, values in dict(given).items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(f"no labels: {name}")
        attributes[name] = np.array(values, dtype=object)
    return attributes


def _decode_shape(arrays: Arrays) -> tuple[int, int]:
    shape = arrays["shape"]
    if shape.shape != (2,) or shape.dtype != np.int64:
        raise ValueError(f"no shape: {shape.dtype} of {shape.shape}")
    return int(shape[0]), int(shape[1])


def _check_positions(*positions: NDArray[Any]) -> None:
    for array in positions:
        if array.ndim != 1 or array.dtype.kind != "i":
            raise ValueError(f"no positions: {array.dtype} of {array.shape}")


def _decode_pattern(name: str, arrays: Arrays) -> sparse.csr_array:
    indices, shape = arrays[f"{name}_indices"], _decode_shape(arrays)
    stored = (np.ones(len(indices), dtype=np.bool_), indices, arrays[f"{name}_indptr"])
    _check_positions(indices, arrays[f"{name}_indptr"])
    pattern = sparse.csr_array(stored, shape=shape)
    pattern.check_format(full_check=True)
    return pattern


def _encode_metadata(metadata: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return typed columns as an array; none where there are none: then the key is that of earlier versions."""
    columns = {name: [kind_of(column), string_values(column)] for name, column in metadata.items()}
    return {"metadata": text_bytes(columns)} if columns else {}


def _decode_metadata(arrays: Arrays) -> dict[str, NDArray[Any]]:
    columns = from_text_bytes(arrays["metadata"]) if "metadata" in arrays else {}
    return {name: typed_values(values, kind) for name, (kind, values) in dict(columns).items()}


def _encode_corpus(corpus: Corpus) -> dict[str, Any]:
    tokeniser = None if corpus.tokeniser is None else corpus.tokeniser.to_dict()
    label = (
        {"label_name": corpus.label_name} if corpus.label_name else {}
    )  # else the key is that of earlier versions
    return {
        "shape": np.array(corpus.shape, dtype=np.int64),
        "about": text_bytes({"name": corpus.name, "tokeniser": tokeniser, **label}),
        "vocabulary": labels_bytes(corpus.vocabulary),
        "documents": labels_bytes(corpus.documents),
        # What is not known is null, not left out: texts alone must not have the key of labels alone.
        "texts": text_bytes(corpus.texts),
        "labels": text_bytes(None) if corpus.labels is None else labels_bytes(corpus.labels),
        **_encode_metadata(corpus.metadata),
        "indptr": corpus.counts.indptr,
        "indices": corpus.counts.indices,
        "counts": corpus.counts.data,
    }


def _decode_corpus(arrays: Arrays) -> Corpus:
    about = from_text_bytes(arrays["about"])
    shape = _decode_shape(arrays)
    _check_positions(arrays["indices"], arrays["indptr"])
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
        metadata=_decode_metadata(arrays),
        label_name=str(about.get("label_name", "")),
    )


def _encode_table(table: Table) -> dict[str, Any]:
    image = table.image
    about = {
        "name": table.name,
        "standardise": bool(table.standardise),
        "image": None if image is None else [int(image.height), int(image.width)],
    }
    arrays: dict[str, Any] = {
        "values": table.values,
        "about": text_bytes(about),
        "rows": labels_bytes(table.rows),
        "columns": labels_bytes(table.columns),
        # What is not known is null, not left out: a table without groups must not have the key of one with others.
        "labels": text_bytes(None) if table.labels is None else labels_bytes(table.labels),
        **_encode_metadata(table.metadata),
    }
    if image is not None:
        arrays["image_pixels"] = np.asarray(image.pixels, dtype=np.int64)
        arrays["image_background"] = np.asarray(image.background, dtype=np.float64)
    return arrays


def _decode_table(arrays: Arrays) -> Table:
    about, values = from_text_bytes(arrays["about"]), arrays["values"]
    size, standardise, image = about["image"], about["standardise"], None
    if values.dtype != np.float64 or not isinstance(standardise, bool):
        raise ValueError(f"no cells, or no scale: {values.dtype}, {standardise!r}")
    if size is not None:
        height, width = (int(side) for side in size)
        pixels, background = arrays["image_pixels"], arrays["image_background"]
        if pixels.dtype != np.int64 or background.dtype != np.float64:
            raise ValueError(f"no picture: {pixels.dtype}, {background.dtype}")
        image = Image(height, width, pixels, background)
    return Table.build(
        values,
        rows=from_labels_bytes(arrays["rows"]),
        columns=from_labels_bytes(arrays["columns"]),
        name=str(about["name"]),
        standardise=standardise,
        labels=from_text_bytes(arrays["labels"]),
        image=image,
        metadata=_decode_metadata(arrays),
    )


#: Version 2 may say what kind of network a relation is, and what is known of its objects; version 3 has weights.
RELATIONS = DataKind("relation", Relation, "relations", 3, _IN_RELATION, _encode_relation, _decode_relation)
CORPORA = DataKind("corpus", Corpus, "corpora", 1, _IN_CORPUS, _encode_corpus, _decode_corpus)
TABLES = DataKind("table", Table, "tables", 1, _IN_TABLE, _encode_table, _decode_table)


#: The most seconds that a run can take, the most that it can count, and the year 2100 as a moment. Beyond them a number
#: was not measured.
MOST_SECONDS, MOST_COUNT, _LATEST = 1e10, 10**12, 4_102_444_800.0


def is_number(value: Any, most: float = math.inf) -> bool:
    """Return whether a value is a finite number; with `most`, from 0 to it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e308 < value < 1e308:
        return False
    return most == math.inf or 0 <= value <= most


def is_moment(value: Any) -> bool:
    """Return whether a value can be when something was made, in seconds since the epoch."""
    return is_number(value, _LATEST)


def to_numbers(value: Any) -> Any:
    """Return NumPy scalars and mappings as what JSON knows (NaN and infinity included, as Python writes them)."""
    if hasattr(value, "items"):
        return {str(key): to_numbers(item) for key, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def encode_posterior(posterior: Posterior) -> tuple[dict[str, Any], Arrays]:
    """Return a posterior as plain values and arrays."""
    about = {
        "axes": {name: list(axes) for name, axes in posterior.axes.items()},
        "averaged": list(posterior.averaged),
        "derived": list(posterior.derived),
        "hyper": to_numbers(posterior.hyper),
        "normalised": posterior.normalised,
    }
    return about, {f"posterior_{name}": array for name, array in posterior.arrays.items()}


def decode_posterior(about: dict[str, Any], arrays: Arrays) -> Posterior:
    """Return the posterior that `encode_posterior` gave; otherwise one of DAMAGE is raised."""
    axes = {name: tuple(domains) for name, domains in about["axes"].items()}
    return Posterior(
        {name: arrays[f"posterior_{name}"] for name in axes},
        axes,
        averaged=tuple(about["averaged"]),
        derived=tuple(about["derived"]),
        hyper=about["hyper"],
        normalised=about.get("normalised", True),
    )
