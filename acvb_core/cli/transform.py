"""`acvb transform`: the topics of documents that were not fitted."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from acvb_core.cli.output import Transformed, transform_json, transform_text
from acvb_core.cli.source import Source, load
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.models.lda.transform import FixedTopics, as_corpus, no_known_word_error, require_tokeniser
from acvb_core.registry import model_row
from acvb_core.store.csv_text import csv_text
from acvb_core.store.topic_model import load_topics


def transform(arguments: argparse.Namespace) -> int:
    """Write the topic shares of documents; return the exit code."""
    topics = load_topics(Path(arguments.folder))
    with ExitStack() as kept:
        source = _documents(arguments, topics, kept)
    corpus: Corpus = source.data
    table = topics.transform(corpus)
    if not table["tokens"].any():
        raise no_known_word_error(corpus.name)
    score = topics.completion(corpus) if arguments.completion else None
    found = Transformed(topics.name, corpus, table, score)
    out = None if arguments.out is None else Path(arguments.out)
    if out is not None:
        out.write_text(csv_text(table), encoding="utf-8", newline="")
    if arguments.json:
        sys.stdout.write(transform_json(found, source.lines, out))
        return 0
    if out is None:
        sys.stdout.write(csv_text(table))
    # Where the table goes to standard output, nothing else does.
    (sys.stderr if out is None else sys.stdout).write(transform_text(found, source.lines, out))
    return 0


def _documents(arguments: argparse.Namespace, topics: FixedTopics, kept: ExitStack) -> Source:
    """Load FILE; its texts, and those of a sample, are cut as the topics' own were."""
    source = load(
        arguments, [model_row("lda")], kept, cutter=lambda: require_tokeniser(topics.tokeniser, topics.name)
    )
    if isinstance(source.data, DiskCorpus):
        return replace(source, data=source.data.in_memory())
    if not isinstance(source.data, Corpus):
        kind = type(source.data).__name__.lower()
        raise ParameterError(f"{arguments.file} is a {kind}; topics are of documents. Give a corpus.")
    sample = source.data
    if sample.texts is None or not arguments.file.startswith("sample:"):
        return source
    cut = as_corpus(sample.texts, topics.tokeniser, topics.name)
    return Source(replace(cut, documents=sample.documents, name=sample.name), source.model)
