"""The table of reading options names every option of the readers, once for each kind of data, in words for people."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any, get_args

from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.schema import CorpusOptions
from acvb_core.data.corpora.tokenise import TOKENISER_PARAMETERS, Tokeniser
from acvb_core.data.options import (
    CUTTING,
    KINDS,
    OPTIONS,
    list_choices,
    options_of,
    rename_arguments,
)
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.relation_schema import ReadOptions
from acvb_core.data.table_columns import CategoryPolicy, ConstantPolicy, TableOptions
from tests.loops import for_each

#: What a caller gives who holds the file, or its size in mind, and no user is asked for.
OF_CALLERS = {"filename", "block_bytes", "data", "source", "folder", "progress", "keep_texts", "shard_pairs"}


def keywords(function: Any) -> set[str]:
    return {
        name for name, one in inspect.signature(function).parameters.items() if one.kind != one.VAR_KEYWORD
    }


TYPED = {
    "relation": {one.name for one in fields(ReadOptions)} | keywords(load_relation),
    "corpus": set(CorpusOptions.__annotations__) | keywords(load_corpus) | keywords(read_to_disk),
    "table": {one.name for one in fields(TableOptions)},
}


@for_each("kind", KINDS)
def test_every_option_of_a_reader_has_a_row_and_no_row_is_of_no_reader(kind: Any) -> None:
    rows = options_of(kind)
    other_names = {flag[2:] for row in rows.values() for flag in row.flags}
    assert rows.keys() <= TYPED[kind]
    assert TYPED[kind] - rows.keys() - OF_CALLERS - other_names <= {"tokeniser"}


def test_a_row_is_complete() -> None:
    for row in (*OPTIONS, *CUTTING):
        assert row.help.endswith(".")
        assert row.ask not in ("choice",) or row.choices or row.name == "format"
    policies = {"categories": CategoryPolicy, "constants": ConstantPolicy}
    for name, values in policies.items():
        assert set(next(row.choices for row in OPTIONS if row.name == name)) == set(get_args(values))
    cutting = {row.name for row in CUTTING} | {row.name for row in TOKENISER_PARAMETERS}
    assert cutting == {one.name for one in fields(Tokeniser)} - {"function"}


def test_arguments_in_a_remedy_get_other_names() -> None:
    remedy = "Say (directed=True) or (directed=False), sheet=..., (row_labels), k=3, threshold=0.5."
    told = rename_arguments(remedy, lambda name, value: None if name == "k" else f"<{name} {value}>")
    assert told == (
        "Say (<directed True>) or (<directed False>), <sheet Ellipsis>, (<row_labels None>), k=3, <threshold 0.5>."
    )
    assert list(list_choices(remedy)) == [
        ("directed", True), ("directed", False), ("k", 3), ("threshold", 0.5),
    ]  # fmt: skip
