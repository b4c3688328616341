"""`acvb read`: a corpus on disk, made of a file that may be larger than the memory."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from acvb_core.cli.corpus_folders import holds_corpus
from acvb_core.cli.documents import keep_file
from acvb_core.cli.output import as_json
from acvb_core.cli.reading import reader_options, typed_options
from acvb_core.core.errors import ParameterError, printable


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
