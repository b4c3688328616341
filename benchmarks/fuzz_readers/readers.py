"""Every reader that a user's file can reach, each as a function of bytes.

How a file is to be read is drawn from its own checksum: an input that was kept gives the same answer again.
"""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.estimate import estimate
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.infer import guess_encodings, guess_kind
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_labels, load_relation
from acvb_core.data.sources.containers import inspect_choices
from acvb_core.data.table_build import load_table
from benchmarks.fuzz_readers import stored, structured
from benchmarks.fuzz_readers.seeds import memory_folder, seeds_of

_ENCODINGS = (None,) * 8 + ("utf-8", "latin-1", "utf-16", "cp1252")
_DELIMITERS = (None,) * 6 + (",", ";", "\t", " ", "|")
_COLUMNS = (None,) * 6 + (0, 1, 2, "text", "x")
_RELATION: dict[str, tuple[Any, ...]] = {
    "format": ("auto",) * 6 + ("edges", "matrix"),
    "encoding": _ENCODINGS,
    "delimiter": _DELIMITERS,
    "header": ("auto",) * 4 + (True, False),
    "threshold": (None, None, 0.0, 0.5, 2),
    "domains": ("auto",) * 4 + ("one", "two"),
    "same_nodes": (False,) * 9 + (True,),
    "unlisted": ("zero",) * 9 + ("missing",),
    "shape": (None,) * 9 + ((4, 4),),
    "value_column": (None,) * 6 + (False, 2, "weight"),
    "block_bytes": (1 << 20, 1 << 20, 64),
}
_CORPUS: dict[str, tuple[Any, ...]] = {
    "encoding": _ENCODINGS,
    "delimiter": _DELIMITERS,
    "header": ("auto",) * 4 + (True, False),
    "text_column": _COLUMNS,
    "tokeniser": (None, str.split),
}
_TABLE: dict[str, tuple[Any, ...]] = {
    "encoding": _ENCODINGS,
    "delimiter": _DELIMITERS,
    "header": (None,) * 4 + (True, False),
    "categories": ("refuse", "one-hot", "leave-out"),
    "constants": ("refuse", "leave-out"),
    "row_labels": (None,) * 4 + (0, False),
    "label_column": (None,) * 5 + (-1, 1, "club"),
    "decimal": (None,) * 4 + (",", "."),
    "missing": ((), ("-999",), ("1",)),
    "image": (None,) * 7 + ("1x2",),
    "block_bytes": (1 << 20, 1 << 20, 64),
}
_PLAIN = {"threshold": _RELATION["threshold"], "domains": _RELATION["domains"]}


@dataclass(frozen=True)
class Reader:
    """A reader, what it is given, and how often compared with the others."""

    name: str
    read: Callable[[bytes], Any]
    seeds: Callable[[], Iterable[bytes]]
    share: int
    #: A random file with the structure of the format.
    draw: Callable[[Random], bytes] | None = None


def _choices(content: bytes, options: dict[str, tuple[Any, ...]]) -> tuple[Random, dict[str, Any]]:
    """Return the options that go with an input, each left out where it would be what it is anyway."""
    rng = Random(zlib.crc32(content))
    drawn = {name: rng.choice(values) for name, values in options.items()}
    plain = rng.random() < 0.7
    return rng, {name: value for name, value in drawn.items() if value != options[name][0] and not plain}


def _read_relation(endings: tuple[str, ...], options: dict[str, tuple[Any, ...]], content: bytes) -> Any:
    rng, chosen = _choices(content, options)
    return load_relation(content, filename=f"file{rng.choice(endings)}", **chosen)


def _read_corpus(formats: tuple[str, ...], content: bytes) -> Any:
    rng, chosen = _choices(content, _CORPUS)
    format, ending = rng.choice(formats), rng.choice((".csv", ".txt", ""))
    if format in ("counts", "matrix", "docword", "ldac", "zip"):
        chosen = {name: chosen[name] for name in chosen.keys() & {"encoding", "delimiter", "header"}}
        if format not in ("counts", "matrix"):
            chosen = {name: chosen[name] for name in chosen.keys() & {"encoding"}}
    return load_corpus(content, filename=f"file{ending}", format=format, **chosen)


def _read_table(endings: tuple[str, ...], content: bytes) -> Any:
    rng, chosen = _choices(content, _TABLE)
    return load_table(content, filename=f"file{rng.choice(endings)}", **chosen)


def _read_columns(ending: str, content: bytes) -> Any:
    """Read a file of columns as data of any kind."""
    rng = Random(zlib.crc32(content) ^ 1)
    kind = rng.randrange(3)
    if kind == 0:
        return _read_relation((ending,), _PLAIN, content)
    if kind == 1:
        _, chosen = _choices(content, {name: _CORPUS[name] for name in ("text_column", "tokeniser")})
        return load_corpus(content, filename=f"file{ending}", **chosen)
    return _read_table((ending,), content)


def _read_vocabulary(content: bytes) -> Any:
    formats = {
        "docword": seeds_of("numbered")[0],
        "ldac": seeds_of("numbered")[1],
        "counts": seeds_of("numbered")[2],
    }
    rng = Random(zlib.crc32(content))
    format = rng.choice(sorted(formats))
    return load_corpus(formats[format], vocabulary=content, format=format)


def _read_names(content: bytes) -> Any:
    rng, chosen = _choices(content, {"domains": ("two", "one", "auto")})
    chosen[rng.choice(("row_nodes", "column_nodes"))] = content
    return load_relation(b"Ann,Bob\nBob,Cid\n", header=False, **chosen)


@cache
def _people() -> Relation:
    return Relation.build([[0, 1, 0], [1, 0, 1], [0, 1, 1]], row_labels=["Ann", "Bob", "Cid"])


def _read_labels(content: bytes) -> Any:
    _, chosen = _choices(
        content, {"name_column": (0, 1, "name"), "header": ("auto", True, False), "encoding": _ENCODINGS}
    )
    labels = load_labels(content, _people(), filename="labels.csv", **chosen)
    for values in labels.values():
        assert len(values) == 3, "labels of other objects"
        assert all(type(value) is str for value in values), "a label that is no text"
    return [fact.name for fact in labels.report.facts]


def _guess(content: bytes) -> Any:
    rng = Random(zlib.crc32(content))
    guess = guess_kind(content, f"file{rng.choice(('.csv', '.txt', '.json', '', '.dat'))}")
    assert guess.kind in ("relation", "network", "texts", "counts", "table"), f"no kind: {guess.kind}"
    inspect_choices(content, "file")
    guess_encodings(content[:4096])
    return ["guess", guess.kind, guess.reason]


def _read_on_disk(content: bytes) -> Any:
    """Read a corpus into a folder in memory, and check that it opens."""
    folder = Path(tempfile.mkdtemp(dir=memory_folder()))
    try:
        rng = Random(zlib.crc32(content))
        estimate(content, filename="file.csv")
        broken: Any = rng.choice(("refuse", "skip"))
        how: Any = {"filename": "file.csv", "format": rng.choice(("auto", "auto", "docword", "matrix"))}
        corpus = read_to_disk(content, folder / "corpus", broken=broken, **how).data
        assert min(corpus.shape) > 0, "a corpus on disk without documents or words"
        return ["disk"]
    finally:
        shutil.rmtree(folder)


def _all_texts() -> Iterable[bytes]:
    names = (
        "links",
        "market",
        "graphs",
        "texts",
        "numbered",
        "tables",
        "json-lines",
        "archives",
        "arrays",
        "sparse",
    )
    return (seed for name in names for seed in seeds_of(name))


_TEXT_ENDINGS = (".csv", ".txt", ".tsv", "", ".edges")
READERS = (
    Reader("links", partial(_read_relation, _TEXT_ENDINGS, _RELATION), partial(seeds_of, "links"), 14,
           structured.draw_links),
    Reader("market", partial(_read_relation, (".mtx", ""), _PLAIN), partial(seeds_of, "market"), 8),
    Reader("sparse", partial(_read_relation, (".npz",), _PLAIN), partial(seeds_of, "sparse"), 4),
    Reader("graphs", partial(_read_relation, (".graphml", ".gexf", ".gml", ".net", ".json", ""), _PLAIN),
           partial(seeds_of, "graphs"), 14, structured.draw_graph),
    Reader("texts", partial(_read_corpus, ("auto", "auto", "table", "lines")), partial(seeds_of, "texts"), 10,
           structured.draw_table),
    Reader("numbered", partial(_read_corpus, ("auto", "counts", "matrix", "docword", "ldac")),
           partial(seeds_of, "numbered"), 8),
    Reader("archives", partial(_read_corpus, ("auto", "zip")), partial(seeds_of, "archives"), 3),
    Reader("vocabulary", _read_vocabulary, partial(seeds_of, "words"), 3),
    Reader("names", _read_names, partial(seeds_of, "names"), 3),
    Reader("labels", _read_labels, partial(seeds_of, "labels"), 4, structured.draw_table),
    Reader("tables", partial(_read_table, _TEXT_ENDINGS), partial(seeds_of, "tables"), 14, structured.draw_table),
    Reader("arrays", partial(_read_table, (".npy", ".npz")), partial(seeds_of, "arrays"), 5),
    Reader("parquet", partial(_read_columns, ".parquet"), partial(seeds_of, "parquet"), 3, structured.draw_parquet),
    Reader("arrow", partial(_read_columns, ".arrow"), partial(seeds_of, "arrow"), 3, structured.draw_arrow),
    Reader("excel", partial(_read_columns, ".xlsx"), partial(seeds_of, "excel"), 2),
    Reader("json-lines", partial(_read_columns, ".jsonl"), partial(seeds_of, "json-lines"), 8),
    Reader("sqlite", partial(_read_columns, ".db"), partial(seeds_of, "sqlite"), 4),
    Reader("guess", _guess, _all_texts, 4, structured.draw_table),
    Reader("disk", _read_on_disk, lambda: (*seeds_of("texts"), *seeds_of("numbered")), 1),
    Reader("stored-data", stored.read_data, stored.data_seeds, 4),
    Reader("stored-runs", stored.read_run, stored.run_seeds, 4),
    Reader("stored-plans", stored.read_plan, stored.plan_seeds, 2),
    Reader("stored-topics", stored.read_model, stored.model_seeds, 2),
)  # fmt: skip
