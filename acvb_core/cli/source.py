"""From FILE, the model and the reader's flags to data."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from acvb_core.cli.reading import first_flag, reader_options, reading_of
from acvb_core.data.tokeniser import Tokeniser
from acvb_core.errors import ParameterError
from acvb_core.registry import MODELS, model_row
from acvb_core.rows import ModelRow

_SAMPLE = "sample:"


@dataclass(frozen=True)
class Source:
    """What was loaded.

    Attributes
    ----------
    data : Relation or Corpus
    lines : list of str
        What reading it found.
    """

    data: Any
    lines: list[str] = field(default_factory=list)


def chosen_model(arguments: argparse.Namespace) -> ModelRow:
    """Return the model that was asked for; without one, a sample's own, else the first there is.

    Raises
    ------
    ParameterError
        There is no such model or sample.
    """
    if arguments.model is not None:
        return model_row(arguments.model)
    if arguments.file.startswith(_SAMPLE):
        from acvb_core.data.samples import SAMPLES

        name = arguments.file.removeprefix(_SAMPLE)
        if name in SAMPLES:
            return model_row(SAMPLES[name].model)
    return MODELS[0]


def load(
    arguments: argparse.Namespace, model: ModelRow, cutter: Callable[[], Tokeniser] | None = None
) -> Source:
    """Load the file, or the sample, that the arguments name, as the data of a model.

    Parameters
    ----------
    arguments : Namespace
    model : ModelRow
    cutter : callable, optional
        Gives the tokeniser of a file of texts; asked only where there are texts. Without it: what was typed.

    Raises
    ------
    DataError
        It cannot be read as asked.
    ParameterError
        There is no such sample, or a reader's flag makes no sense.
    """
    file: str = arguments.file
    if file.startswith(_SAMPLE):
        from acvb_core.data.samples import load_sample

        flag = first_flag(arguments)
        if flag is not None:
            raise ParameterError(f"A sample is read as it is; leave {flag} out.")
        sample = load_sample(file.removeprefix(_SAMPLE))
        return Source(sample.data, sample.report.lines())
    reading = reading_of(model.data_type)
    options = reader_options(arguments, reading)
    if reading.kind == "corpus":
        from acvb_core.data.corpus_readers import inspect_corpus, load_corpus

        if cutter is not None:
            seen = {
                name: options[name]
                for name in ("format", "encoding", "delimiter", "header")
                if name in options
            }
            if inspect_corpus(file, **seen).has_texts:
                options["tokeniser"] = cutter()
        documents = load_corpus(file, **options)
        return Source(documents.corpus, documents.report.lines())
    from acvb_core.data.readers import load_relation

    loaded = load_relation(file, **options)
    return Source(loaded.relation, loaded.report.lines())
