"""References to functions and classes that are imported when they are first used."""

from __future__ import annotations

from functools import partial
from typing import Any

from acvb_core.core.spec import MethodSpec, ModelSpec, Reference
from acvb_core.data.relation import Relation
from acvb_core.registry import METHODS, MODELS
from tests.loops import for_each


def references_of(row: MethodSpec | ModelSpec) -> list[Reference]:
    """Return all references of a row."""
    values: list[Any] = [value.func if isinstance(value, partial) else value for value in vars(row).values()]
    return [value for value in values if isinstance(value, Reference)]


@for_each("row", [*MODELS, *METHODS])
def test_what_the_tables_refer_to_is_there(row: MethodSpec | ModelSpec) -> None:
    references = references_of(row)
    assert references
    assert all(callable(reference.load()) for reference in references)


def test_nothing_is_of_a_class_that_was_not_imported() -> None:
    relation = Relation.build([[1, 0], [0, 1]])
    assert Reference("acvb_core.data.relation", "Relation").is_instance(relation)
    assert not Reference("acvb_core.data.table", "Table").is_instance(relation)
    assert not Reference("a_module_that_nobody_imports", "Table").is_instance(relation)
