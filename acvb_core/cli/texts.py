"""The commands for texts: read a corpus to disk, and apply topics to new documents."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from acvb_core.cli.arguments import MODEL_FOR, reader_options, typed_options
from acvb_core.cli.output import as_json, data_text, format_facts
from acvb_core.cli.source import Source, holds_corpus, keep_file, load
from acvb_core.core.errors import ParameterError, printable
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.evaluate.heldout import Completion
from acvb_core.models.lda.transform import FixedTopics, as_corpus, no_known_word_error, require_tokeniser
from acvb_core.registry import model_row
from acvb_core.store.export import csv_text
from acvb_core.store.topics import load_topics

_MODEL = model_row(MODEL_FOR["corpus"])


def transform(arguments: argparse.Namespace) -> int:
    """Write the topic shares of documents; return the exit code."""
    topics = load_topics(Path(arguments.folder))
    source = _documents(arguments, topics)
    corpus: Corpus = source.data
    table = topics.transform(corpus)
    if not table["tokens"].any():
        raise no_known_word_error(corpus.name)
    score = topics.completion(corpus) if arguments.completion else None
    out = None if arguments.out is None else Path(arguments.out)
    if out is not None:
        out.write_text(csv_text(table), encoding="utf-8", newline="")
    if arguments.json:
        sys.stdout.write(_json(topics, source, table, score, out))
        return 0
    if out is None:
        sys.stdout.write(csv_text(table))
    # Where the table goes to standard output, nothing else does.
    (sys.stderr if out is None else sys.stdout).write(_text(topics, source, table, score, out))
    return 0


def _documents(arguments: argparse.Namespace, topics: FixedTopics) -> Source:
    """Load FILE; its texts, and those of a sample, are cut as the topics' own were."""
    source = load(arguments, [_MODEL], cutter=lambda: require_tokeniser(topics.tokeniser, topics.name))
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


def _json(
    topics: FixedTopics, source: Source, table: pd.DataFrame, score: Completion | None, out: Path | None
) -> str:
    """Return one JSON object on one line; the table is in it unless it was written to a file."""
    return as_json(
        {
            "topics": topics.name,
            "data": source.data.identity(),
            "tokens": table["tokens"].sum(),
            "unknown": table["unknown"].sum(),
            "completion": score and score._asdict(),
            "table": None if out else table.to_dict("records"),
            "report": source.lines,
            "out": out and str(out),
        }
    )


def _text(
    topics: FixedTopics, source: Source, table: pd.DataFrame, score: Completion | None, out: Path | None
) -> str:
    known, unknown = int(table["tokens"].sum()), int(table["unknown"].sum())
    facts = [("words", f"{known:,} that the topics know, {unknown:,} that they do not")]
    if score is not None:
        text = f"{score.log_likelihood:.4f} nats a word, perplexity {score.perplexity:,.1f} ({score.tokens:,} words)"
        facts.append(("completion", text))
    if out is not None:
        facts.append(("written to", str(out)))
    return f"{data_text(source.data, source.lines)}topics of {topics.name}\n{format_facts(facts)}"


def read(arguments: argparse.Namespace) -> int:
    """Read FILE to a folder; return the exit code."""
    folder = Path(arguments.folder)
    if holds_corpus(arguments.file):
        raise ParameterError(f"{arguments.file} is a corpus on disk already.")
    options = reader_options(arguments, "corpus") | typed_options(arguments, ["broken"])
    corpus, lines = keep_file(arguments, folder, options)
    size = corpus.bytes_on_disk
    if arguments.json:
        summary = {"data": corpus.identity(), "folder": str(folder), "bytes": size, "report": lines}
        sys.stdout.write(as_json(summary))
    else:
        sys.stdout.write(f"{printable(corpus.name)}: {corpus.size_text}\n")
        sys.stdout.write("".join(f"  {printable(line)}\n" for line in lines))
        sys.stdout.write(f"  {size / 1e6:,.1f} MB in {folder}\n")
    return 0
