"""Loops in place of products of parameters: one test for all cases, whose failure names each case that failed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import wraps
from itertools import cycle, islice
from typing import Any

import pytest

Test = Callable[..., None]


def for_each(names: str, cases: Iterable[Any] | Mapping[str, Any]) -> Callable[[Test], Test]:
    """Call a test with each of some values, as `pytest.mark.parametrize` does, but within one test.

    Several names are separated by commas; a case then has a value for each. A mapping names its cases.
    Each case has a folder `tmp_path` and patches of its own; all cases share the other fixtures.
    """
    arguments = [name.strip() for name in names.split(",")]
    labels = list(cases) if isinstance(cases, Mapping) else None
    values = list(cases.values() if isinstance(cases, Mapping) else cases)

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for number, value in enumerate(values):
                case = dict(zip(arguments, value, strict=True)) if len(arguments) > 1 else {names: value}
                try:
                    with own_fixtures(fixtures, number) as own:
                        test(**own, **case)
                except (Exception, pytest.fail.Exception, BaseExceptionGroup) as error:
                    error.add_note(f"in the case {labels[number] if labels else describe(case)}")
                    failures.append(error)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(values)} cases failed", failures)

        kept = [p for name, p in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


@contextmanager
def own_fixtures(fixtures: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Give a case a folder and patches that no other case sees."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / f"case{number}"
        own["tmp_path"].mkdir()
    with own["monkeypatch"].context() if "monkeypatch" in own else nullcontext() as patch:
        yield own | {"monkeypatch": patch} if "monkeypatch" in own else own


def describe(case: dict[str, Any]) -> str:
    """Return the arguments of a case, each in one short line."""
    return ", ".join(
        f"{name}={getattr(value, '__name__', repr(value))[:150]}" for name, value in case.items()
    )


def rotate(cases: Iterable[Any], ways: Iterable[Any], each: int = 1) -> list[tuple[Any, Any]]:
    """Return each case with the next `each` ways, so that every way has some of the cases."""
    turns = cycle(list(ways))
    return [(case, way) for case in cases for way in islice(turns, each)]
