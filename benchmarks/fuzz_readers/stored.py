"""Readers of what the app stores, as functions of bytes: data, runs with their states, trained models, and plans."""

from __future__ import annotations

import atexit
import io
import shutil
import tempfile
import zlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.table import Table
from acvb_core.data.table_build import load_table
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.fitting import fit
from acvb_core.engine.study import make_runs
from acvb_core.engine.tuning import Tuning, plan_search
from acvb_core.store.codecs import CORPORA, RELATIONS, TABLES, DataKind
from acvb_core.store.results import RunIdentity, read_identity, read_result, read_state, write_result
from acvb_core.store.studies import ExperimentFolder, SearchFolder, StudyFolder
from acvb_core.store.topics import load_model, save_model
from benchmarks.fuzz_readers.seeds import memory_folder, seeds_of

_CODECS = (RELATIONS, CORPORA, TABLES)


@cache
def _data() -> tuple[Any, ...]:
    """Small data of each kind."""
    people = Relation.build(
        [[0, 1, 0], [1, 0, 1], [0, 1, 1]],
        row_labels=["Ann", "Bob", "Cid"],
        network=Network(directed=False, self_links=True),
        attributes={"club": ["x", "", "y"]},
    )
    links = load_relation(seeds_of("links")[0]).data
    corpus = load_corpus(seeds_of("texts")[0], filename="texts.csv", tokeniser=str.split).data
    counts = load_corpus(seeds_of("numbered")[2]).data
    table = load_table(seeds_of("tables")[0]).data
    pictures = load_table(seeds_of("arrays")[1], constants="leave-out").data
    return links, people, corpus, counts, table, pictures


def _codec_of(data: Any) -> DataKind:
    return _CODECS[0] if isinstance(data, Relation) else _CODECS[2] if isinstance(data, Table) else _CODECS[1]


def _written(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.npz"
        write(path)
        return path.read_bytes()


def _read(content: bytes, read: Callable[[Path], Any]) -> Any:
    """Read bytes as a file in memory."""
    path = _folder() / "file.npz"
    path.write_bytes(content)
    return read(path)


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(dir=memory_folder())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def data_seeds() -> tuple[bytes, ...]:
    """Return a stored file of each of the small data."""
    return tuple(_written(partial(_codec_of(data).write, data=data)) for data in _data())


def read_data(content: bytes) -> Any:
    """Read stored data of the kind that the file has."""
    kinds = ((b"image", 2), (b"values.npy", 2), (b"vocabulary.npy", 1))
    at = next((at for sign, at in kinds if sign in content), 0)
    if zlib.crc32(content) % 16 == 0:
        at = zlib.crc32(content) // 16 % 3
    return _read(content, _CODECS[at].read)


@cache
def _runs() -> tuple[tuple[Any, bytes], ...]:
    """Return runs of a few methods of each model as the data and the stored file of each."""
    links, _, _, counts, table, _ = _data()
    runs = []
    small = {"k_rows": 2, "k_cols": 2}
    few: tuple[tuple[Any, str, dict[str, Any]], ...] = (
        (links, "acvb0", small),
        (links, "gibbs", small),
        (counts, "cvb0", {"k": 2}),
        (table, "fab", {"k_max": 2}),
    )
    for data, method, values in few:
        result = fit(data, method, seed=1, max_sweeps=3, heldout=0.2, **values)
        about = RunIdentity("run", "mine", 1.0, "relation", "key", {}, result.prepared.spec.to_dict())
        runs.append((data, _written(partial(write_result, result=result, run=about))))
    return tuple(runs)


def run_seeds() -> tuple[bytes, ...]:
    """Return stored files of runs."""
    return tuple(content for _, content in _runs())


def read_run(content: bytes) -> Any:
    """Read a stored run: its answer on the data of one of the runs, its state, or which it is."""
    action = zlib.crc32(content) % 4
    if action == 0:
        return _read(content, read_state)
    if action == 1:
        return _read(content, read_identity)
    kinds = ((b"posterior_cols", 0), (b"posterior_words", 2))
    at = next((at for sign, at in kinds if sign in content), 3)
    return _read(content, lambda path: read_result(path, _runs()[at][0]))


@cache
def model_seeds() -> tuple[bytes, ...]:
    """Return a stored file of trained topics."""
    result = fit(_data()[3], "cvb0", k=2, seed=1, max_sweeps=3)
    packed = io.BytesIO()
    save_model(result, packed)
    return (packed.getvalue(),)


def read_model(content: bytes) -> Any:
    """Read trained topics from bytes."""
    trained = load_model(io.BytesIO(content), "model.npz")
    assert np.isfinite(trained.posterior["words"]).all(), "topics that are no numbers"
    return trained


#: Between the plan and the lines of runs.
_BREAK = b"\n---\n"


def _plan_data(kind: type[StudyFolder[Any, Any]]) -> Any:
    return _data()[0] if kind is ExperimentFolder else _data()[3]


@cache
def plan_seeds() -> tuple[bytes, ...]:
    """Return an experiment and a search with their first runs, the files of each one after the other."""
    with tempfile.TemporaryDirectory() as place:
        plan = plan_experiment(_plan_data(ExperimentFolder), ["cvb0", "vb"], k=[2, 3], splits=2, max_sweeps=2)
        experiment = ExperimentFolder(Path(place) / "experiment", plan, "1.0")
        for made in make_runs(plan, Experiment(plan)):
            experiment.append(made.rows[-1])
        planned = plan_search(_plan_data(SearchFolder), "scvb0", 3, k=2, heldout=0.3)
        search = SearchFolder(Path(place) / "search", planned, "1.0")
        for tuned in make_runs(planned, Tuning(planned.space.names)):
            search.append(tuned.trials[-1])
        folders: tuple[StudyFolder[Any, Any], ...] = (experiment, search)
        return tuple(
            _BREAK.join((kept.folder / name).read_bytes() for name in (kept.plan_file, kept.lines_file))
            for kept in folders
        )


def read_plan(content: bytes) -> Any:
    """Read an experiment or a search, and what pages show of it."""
    kind: type[StudyFolder[Any, Any]] = SearchFolder if b'"ranges"' in content else ExperimentFolder
    place = _folder() / "plan"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    plan, _, lines = content.partition(_BREAK)
    (place / kind.plan_file).write_bytes(plan)
    (place / kind.lines_file).write_bytes(lines)
    kept = kind.reopen(place, _plan_data(kind)).read()
    if isinstance(kept, Experiment):
        return ["experiment", *(kept.conclusion(score) for score in kept.scores[:1])]
    return ["search", *kept.table().columns]
