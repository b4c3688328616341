"""Networks and what is known of their objects come back from disk as they were; older files stay what they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.names import mend_text
from acvb_core.data.relation import Network, Relation
from acvb_core.store import files
from acvb_core.store.codecs import RELATIONS
from acvb_core.store.datasets import dataset_key
from acvb_core.store.files import StoreError, from_text_bytes, text_bytes
from acvb_core.store.runs import RunStore
from tests.store.support import ODD_LABELS, WOMEN, assert_same_relation, network, odd_relation

KINDS = [(directed, self_links) for directed in (True, False) for self_links in (True, False)]


@pytest.mark.parametrize(("directed", "self_links"), KINDS)
def test_a_network_comes_back(store: RunStore, directed: bool, self_links: bool) -> None:
    relation = network(directed, self_links)
    store.save_dataset("mine", relation, ["Read."], {})
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert_same_relation(relation, loaded[0])
    assert loaded[0].network == Network(directed, self_links)


@pytest.mark.parametrize("relation", [WOMEN, network(True, False)], ids=["two sides", "network"])
def test_labels_of_objects_come_back_whatever_they_hold(store: RunStore, relation: Relation) -> None:
    values = [mend_text(ODD_LABELS[i % len(ODD_LABELS)]) for i in range(relation.shape[0])]
    known = replace(
        relation,
        attributes={"日 =a": np.array(values, dtype=object), "": np.array(values[::-1], dtype=object)},
    )
    store.save_dataset("mine", known, [], {})
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert_same_relation(known, loaded[0])


def test_an_undirected_network_takes_half_the_room(tmp_path: Path) -> None:
    n = 400
    relation = Relation.build(np.ones((n, n)) - np.eye(n), network=Network(directed=False))
    RELATIONS.write(tmp_path / "net.npz", relation)
    both = sum(pattern.nnz * 4 for pattern in (relation.ones, relation.missing))
    assert (tmp_path / "net.npz").stat().st_size < 0.52 * both + 8 * n + 10_000
    assert_same_relation(relation, RELATIONS.read(tmp_path / "net.npz"))


def test_each_kind_and_each_label_has_a_key_of_its_own() -> None:
    links = np.zeros((4, 4), dtype=bool)
    links[[0, 1, 2, 3], [1, 0, 3, 2]] = True  # either way round, so that all kinds have the same ones
    plain = Relation.build(links)
    found = [plain, *(Relation.build(links, network=Network(*kind)) for kind in KINDS)]
    for attributes in ({"a": "wxyz"}, {"b": "wxyz"}, {"a": "wxy "}, {"a": "wxyz", "b": "wxyz"}):
        given = {name: np.array(list(values), dtype=object) for name, values in attributes.items()}
        found += [replace(plain, attributes=given), replace(found[1], attributes=given)]
    keys = [dataset_key(relation) for relation in found]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("relation", "version"), [(WOMEN, 1), (odd_relation(), 1), (network(False, False), RELATIONS.version)]
)
def test_earlier_programs_read_what_they_understand(tmp_path: Path, relation: Relation, version: int) -> None:
    RELATIONS.write(tmp_path / "data.npz", relation)
    arrays = files.read_npz(tmp_path / "data.npz")
    assert int(arrays["version"]) == version
    assert ("about" in arrays) == (version > 1)


def changed(about: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {name: values.get(name, value) for name, value in about.items() if values.get(name) is not ...}


@pytest.mark.parametrize(
    "change",
    [
        {"network": ...},
        {"network": {"directed": "yes", "self_links": False}},
        {"network": {"directed": True}},
        {"network": {"directed": True, "self_links": False, "weighted": True}},
        {"network": [True, False]},
        {"network": "directed"},
        {"attributes": ...},
        {"attributes": None},
        {"attributes": {"group": ["too", "few"]}},
        {"attributes": {"group": list(range(24))}},
        {"attributes": {"group": "n" * 24}},
        {"attributes": [["group"] * 24]},
    ],
    ids=str,
)
def test_damaged_values_are_named(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "net.npz"
    RELATIONS.write(path, network(True, False))
    arrays = files.read_arrays(path, version=RELATIONS.version)
    about = changed(from_text_bytes(arrays["about"]), **change)
    files.write_arrays(path, arrays | {"about": text_bytes(about)}, version=RELATIONS.version)
    with pytest.raises(StoreError, match=r"net\.npz is damaged"):
        RELATIONS.read(path)


def test_another_kind_than_was_stored_is_noticed(store: RunStore) -> None:
    store.save_dataset("mine", network(True, False), [], {})
    (path,) = (store.folder / "relations").iterdir()
    RELATIONS.write(path, replace(network(True, False), attributes={}))
    with pytest.raises(StoreError, match="not the relation it was stored as"):
        RunStore(store.folder).load_dataset("mine")
