"""From FILE and the reader's flags to a relation."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

from acvb_core.cli.arguments import READER
from acvb_core.data.relation import Relation
from acvb_core.errors import ParameterError


@dataclass(frozen=True)
class Source:
    """What was loaded.

    Attributes
    ----------
    data : Relation
    lines : list of str
        What reading it found.
    """

    data: Relation
    lines: list[str] = field(default_factory=list)


def load(arguments: argparse.Namespace) -> Source:
    """Load the file, or the sample, that the arguments name.

    Raises
    ------
    DataError
        It cannot be read as asked.
    ParameterError
        There is no such sample, or a reader's flag makes no sense.
    """
    options: dict[str, Any] = {
        name: getattr(arguments, name) for name in READER if getattr(arguments, name) is not None
    }
    file: str = arguments.file
    if file.startswith("sample:"):
        from acvb_core.data.samples import load_sample

        if options:
            flag = "--" + next(iter(options)).replace("_", "-")
            raise ParameterError(f"A sample is read as it is; leave {flag} out.")
        sample = load_sample(file.removeprefix("sample:"))
        return Source(sample.relation, sample.report.lines())
    from acvb_core.data.readers import load_relation

    loaded = load_relation(file, **options)
    return Source(loaded.relation, loaded.report.lines())
