"""`acvb read`: a corpus on disk, made of a file that may be larger than the memory."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from acvb_core.cli.corpus_folders import describe_origin, holds_corpus, read_once
from acvb_core.cli.documents import read_file
from acvb_core.cli.reading import reader_options
from acvb_core.core.errors import ParameterError
from acvb_core.core.printable import printable
from acvb_core.store.export import to_plain


def read(arguments: argparse.Namespace) -> int:
    """Read FILE to a folder; return the exit code."""
    folder = Path(arguments.folder)
    if holds_corpus(arguments.file):
        raise ParameterError(f"{arguments.file} is a corpus on disk already.")
    options = reader_options(arguments, "corpus")
    options["broken"] = arguments.broken or "refuse"
    origin = describe_origin(arguments.file, options)
    corpus, lines = read_once(folder, origin, lambda where: read_file(arguments, where, options))
    size = corpus.bytes_on_disk
    if arguments.json:
        summary = {"data": corpus.identity(), "folder": str(folder), "bytes": size, "report": lines}
        sys.stdout.write(json.dumps(to_plain(summary), allow_nan=False) + "\n")
    else:
        sys.stdout.write(f"{printable(corpus.name)}: {corpus.size_text}\n")
        sys.stdout.write("".join(f"  {printable(line)}\n" for line in lines))
        sys.stdout.write(f"  {size / 1e6:,.1f} MB in {folder}\n")
    return 0
