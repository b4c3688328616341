"""Data sets of every kind come back from disk with everything that they contain, and damage is named."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.names import mend_text
from acvb_core.data.relation import Network, Relation
from acvb_core.data.table import Image, Table
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store import datasets, files
from acvb_core.store.codecs import CORPORA, RELATIONS, TABLES
from acvb_core.store.datasets import Original, dataset_key
from acvb_core.store.files import StoreError, labels_bytes, text_bytes
from acvb_core.store.runs import RunStore
from tests.loops import for_each
from tests.store.support import (
    ODD_LABELS,
    WOMEN,
    assert_same_data,
    network,
    odd_corpus,
    odd_relation,
    odd_table,
)

NETWORKS = [(directed, self_links) for directed in (True, False) for self_links in (True, False)]
SETTINGS = {"source": "öl.zip", "tokeniser": Tokeniser().to_dict(), "image": [2, 2]}


def plain_corpus() -> Corpus:
    """Counts, and nothing that a reader of texts would know."""
    return Corpus.build(np.array([[1, 2], [0, 0], [3, 0]]))


def plain_table() -> Table:
    return Table.build([[1.0, 2.0], [0.0, 5.0], [np.nan, 2.5]])


def weighted(directed: bool, self_links: bool) -> Relation:
    """A network whose links have weights, the same both ways if it is undirected."""
    plain = network(directed, self_links)
    places = plain.ones.tocoo()
    return replace(plain, weights=1.5 + places.row + places.col + directed * places.row, negative=3)


def with_odd_labels(relation: Relation) -> Relation:
    values = [mend_text(ODD_LABELS[i % len(ODD_LABELS)]) for i in range(relation.shape[0])]
    labels = {"日 =a": np.array(values, dtype=object), "": np.array(values[::-1], dtype=object)}
    columns = {} if relation.network else {"日": np.array(["a"] * relation.shape[1], dtype=object)}
    return replace(
        relation, attributes=labels, column_attributes=columns, id_names=("日 =a", "日" if columns else "")
    )


def assert_same(one: Any, other: Any) -> None:
    compare = {Relation: assert_same_data, Corpus: assert_same_data, Table: assert_same_data}
    compare[type(one)](one, other)


def assert_comes_back(store: RunStore, workspace: str, data: Any) -> None:
    loaded = store.load_dataset(workspace)
    assert loaded is not None
    assert_same(data, loaded[0])


@for_each(
    "data",
    {
        "odd relation": odd_relation(),
        **{f"network {kind}": network(*kind) for kind in NETWORKS},
        **{f"weights {kind}": weighted(*kind) for kind in NETWORKS},
        "weights of a relation": Relation.build([[2.0, -1.0], [0.5, 1.0]], threshold=0),
        "labels of a relation": with_odd_labels(WOMEN),
        "labels of a network": with_odd_labels(network(True, False)),
        "odd corpus": odd_corpus(),
        "plain corpus": plain_corpus(),
        "odd table": odd_table(),
        "plain table": plain_table(),
        "pictures": block_images(60, noise=0.3, seed=0).table,
    },
)
def test_a_data_set_comes_back(tmp_path: Path, data: Any) -> None:
    store = RunStore(tmp_path)
    assert store.load_dataset("mine") is None
    store.save_dataset("mine", data, ["Read 3 lines.", "日本"], SETTINGS)
    loaded = RunStore(tmp_path).load_dataset("mine")
    assert loaded is not None
    assert_same(data, loaded[0])
    assert loaded[1:] == (["Read 3 lines.", "日本"], SETTINGS)


TABLE = odd_table()
assert TABLE.image is not None
assert TABLE.labels is not None
CHANGES: list[tuple[Any, dict[str, Any]]] = [
    (odd_relation(), {"row_labels": odd_relation("other").row_labels}),
    (odd_relation(), {"weights": np.full(odd_relation().n_ones, 2.0)}),
    (odd_relation(), {"negative": 1}),
    *((odd_corpus(), change) for change in (
        {"counts": Corpus.build(np.eye(15, 4, dtype=int)).counts},
        {"vocabulary": np.array(["", "=a", "日本", "other"], dtype=object)},
        {"documents": odd_corpus("other").documents},
        {"name": "other"},
        {"texts": None},
        {"texts": (*(odd_corpus().texts or ())[:-1], "other")},
        {"labels": np.array(["same"] * 14 + ["other"], dtype=object)},
        {"tokeniser": Tokeniser()},
    )),
    *((TABLE, change) for change in (
        {"values": np.where(np.isnan(TABLE.values), 0.5, TABLE.values)},
        {"rows": odd_table("other").rows},
        {"columns": np.array(["", "=a", "other"], dtype=object)},
        {"standardise": True},
        {"labels": np.array([*TABLE.labels[:-1], "other"], dtype=object)},
        {"image": None},
        {"image": replace(TABLE.image, pixels=np.array([0, 3, 1]))},
        {"image": Image(1, 4, TABLE.image.pixels, TABLE.image.background)},
        {"image": replace(TABLE.image, background=np.array([np.nan, np.nan, 8.0, np.nan]))},
    )),
]  # fmt: skip


@for_each("one, change", CHANGES)
def test_data_that_differ_are_kept_apart(tmp_path: Path, one: Any, change: dict[str, Any]) -> None:
    other, store = replace(one, **change), RunStore(tmp_path)
    assert dataset_key(one) == dataset_key(replace(one)) != dataset_key(other)
    for workspace, data in (("a", one), ("b", other)):
        store.save_dataset(workspace, data, [], {})
    for workspace, data in (("a", one), ("b", other)):
        assert_comes_back(store, workspace, data)


def test_each_kind_of_network_and_each_label_has_its_own_key() -> None:
    links = np.zeros((4, 4), dtype=bool)
    links[[0, 1, 2, 3], [1, 0, 3, 2]] = True  # either way round, so that all kinds have the same ones
    plain = Relation.build(links)
    found = [plain, *(Relation.build(links, network=Network(*kind)) for kind in NETWORKS)]
    for attributes in ({"a": "wxyz"}, {"b": "wxyz"}, {"a": "wxy "}, {"a": "wxyz", "b": "wxyz"}):
        given = {name: np.array(list(values), dtype=object) for name, values in attributes.items()}
        found += [replace(plain, attributes=given), replace(found[1], attributes=given)]
        found.append(replace(plain, column_attributes=given))
    keys = [dataset_key(relation) for relation in found]
    assert len(set(keys)) == len(keys)


def test_other_objects_and_unknown_kinds_are_refused(store: RunStore) -> None:
    with pytest.raises(StoreError, match="a dict cannot be stored; relations, corpora and tables can"):
        store.save_dataset("mine", {}, [], {})
    with pytest.raises(StoreError, match="kind 'graph' cannot be read by this version"):
        datasets.find_kind("graph")


def about_table(**changes: Any) -> dict[str, Any]:
    return {"about": text_bytes({"name": "odd", "standardise": True, "image": [2, 2], **changes})}


def about_network(**changes: Any) -> dict[str, Any]:
    about = {"network": {"directed": True, "self_links": False}, "attributes": {}} | changes
    return {"about": text_bytes({name: value for name, value in about.items() if value is not ...})}


#: A codec, data, and arrays in the file that contradict the rest of it.
FAULTS: list[tuple[Any, Any, dict[str, Any]]] = [
    *((RELATIONS, WOMEN, {"shape": np.array(shape)}) for shape in ([3 + 1j, 2], [3.0, 2], [3, 2, 1])),
    (RELATIONS, WOMEN, {"names": text_bytes([{}, "row", "column"])}),
    *((RELATIONS, Relation.build([[2, 3]], threshold=0), {"weights": np.array(value)}) for value in (
        [2, 3], [2.0], [2.0, 0.0], [2.0, np.nan], [2.0, np.inf], [[2.0, 3.0]],
    )),
    *((RELATIONS, network(True, False), about_network(negative=value)) for value in (-1, 0.5, True, "3")),
    *((RELATIONS, network(True, False), about_network(network=value)) for value in (
        ..., {"directed": "yes", "self_links": False}, {"directed": True}, "directed",
        {"directed": True, "self_links": False, "weighted": True},
    )),
    *((RELATIONS, network(True, False), about_network(attributes=value)) for value in (
        ..., {"group": ["too", "few"]}, {"group": list(range(24))}, {"group": "n" * 24}, [["group"] * 24],
    )),
    (RELATIONS, network(True, False), about_network(column_attributes={"group": ["g"] * 24})),
    (RELATIONS, WOMEN, about_network(network=None, column_attributes={"group": ["g"] * 18})),
    *((RELATIONS, network(True, False), about_network(id_names=value)) for value in (["group", ""], [""])),
    *((CORPORA, plain_corpus(), change) for change in (
        {"counts": np.array([-1, 1, 1], dtype=np.int32)},
        {"counts": np.array([0.5, 1, 1])},
        {"vocabulary": labels_bytes(["a", "a"])},
        {"about": np.frombuffer(b"{", dtype=np.uint8)},
        {"about": text_bytes([])},
        {"about": text_bytes({"name": {}, "tokeniser": None})},
        {"metadata": text_bytes({"day": ["integer", [1, 2]]})},
    )),
    *((TABLES, TABLE, change) for change in (
        {"values": np.ones((15, 3))},
        {"values": np.arange(45).reshape(15, 3)},
        {"labels": labels_bytes(["a"] * 16)},
        {"image_pixels": np.array([0, 0, 1])},
        about_table(image="2x2"),
        about_table(standardise="yes"),
        {"about": text_bytes([])},
    )),
]  # fmt: skip


@for_each("codec, data, change", FAULTS)
def test_contents_that_contradict_each_other_are_damage(
    tmp_path: Path, codec: Any, data: Any, change: dict[str, Any]
) -> None:
    path = tmp_path / "data.npz"
    codec.write(path, data)
    arrays = files.read_arrays(path, version=codec.version)
    files.write_arrays(path, arrays | change, version=int(files.read_npz(path)["version"]))
    with pytest.raises(StoreError, match=r"data\.npz is damaged"):
        codec.read(path)


@for_each(
    "codec, data, other, noun",
    [
        (RELATIONS, network(True, False), replace(network(True, False), attributes={}), "relation"),
        (CORPORA, odd_corpus(), plain_corpus(), "corpus"),
        (TABLES, odd_table(), plain_table(), "table"),
    ],
)
def test_a_file_in_the_place_of_another_is_noticed(
    tmp_path: Path, codec: Any, data: Any, other: Any, noun: str
) -> None:
    RunStore(tmp_path).save_dataset("mine", data, [], {})
    (path,) = tmp_path.glob("*/*.npz")
    codec.write(path, other)
    with pytest.raises(StoreError, match=f"not the {noun} it was stored as"):
        RunStore(tmp_path).load_dataset("mine")
    path.unlink()
    with pytest.raises(StoreError, match=path.name):
        RunStore(tmp_path).load_dataset("mine")


def test_long_texts_cost_their_length_and_no_more(tmp_path: Path) -> None:
    texts = ["word " * 400_000, *("short" for _ in range(3000))]
    corpus = Corpus.build(np.ones((len(texts), 1), dtype=int), texts=texts)
    CORPORA.write(tmp_path / "c.npz", corpus)
    assert (tmp_path / "c.npz").stat().st_size < 2_300_000
    assert_same_data(CORPORA.read(tmp_path / "c.npz"), corpus)


def test_the_file_of_data_is_kept_and_removed_with_them(tmp_path: Path) -> None:
    store, content = RunStore(tmp_path), b"from,to\n" + b"a,b\n" * 9
    alone = store.used_bytes("mine")
    store.save_dataset("mine", WOMEN, [], {"name": "women"})
    without = store.used_bytes("mine")
    old, new, lone = (store.keep_original(name, content) for name in ("old.csv", "new.csv", "lone.csv"))
    store.save_dataset("mine", WOMEN, [], old.to_settings())
    store.save_dataset("yours", WOMEN, [], old.to_settings())
    places = {one: tmp_path / "originals" / f"{one.id}.gz" for one in (old, new, lone)}
    assert store.used_bytes("mine") == without + places[old].stat().st_size
    store.save_dataset("mine", WOMEN, [], lone.to_settings())
    assert store.read_original(old) == content, "other data have it"
    store.save_dataset("mine", WOMEN, [], new.to_settings())
    assert not store.has_original(lone), "a newer one is in its place"
    places[lone].write_bytes(b"")
    store.forget_dataset("yours")
    assert not store.has_original(old)
    os.utime(places[lone], (0, 0))
    again = RunStore(tmp_path)
    assert not places[lone].exists(), "of a reading that was broken off"
    loaded = again.load_dataset("mine")
    assert loaded is not None
    assert Original.of_settings(loaded[2]) == new
    assert again.read_original(new) == content
    places[new].write_bytes(places[new].read_bytes()[:-9])
    with pytest.raises(StoreError, match="is damaged"):
        again.read_original(new)
    again.forget_dataset("mine")
    assert not list((tmp_path / "originals").iterdir())
    assert again.used_bytes("mine") == alone
    for settings in (
        {},
        {"original": "x"},
        {"original": {"id": "../" + 29 * "a"}},
        {"original": {"name": "a"}},
    ):
        assert Original.of_settings(settings) is None
