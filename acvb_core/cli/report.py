"""The command that writes a run to one file to send to others."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from acvb_core.cli.output import as_json
from acvb_core.core.errors import ParameterError
from acvb_core.engine.result import Result
from acvb_core.report.files import write_report
from acvb_core.report.original import add_results
from acvb_core.store.archives import load_result
from acvb_core.store.export import RESULT_FILE, csv_text


def report(arguments: argparse.Namespace) -> int:
    """Write a report, a workbook or a graph of a run; return the exit code."""
    source = _find_result(Path(arguments.run_path))
    out = source.with_name("report.html") if arguments.out is None else Path(arguments.out)
    result = load_result(source)
    if arguments.among is not None:
        column, _, group = arguments.among.partition("=")
        result = result.among(column.strip(), group.strip())
    if arguments.links_file is not None:
        return _write_links(result, Path(arguments.links_file), out, arguments)
    texts = {name: getattr(arguments, name) or "" for name in ("title", "question", "note")}
    # The Python in the report reads the data from the run's own file, which is there and complete.
    data = os.path.relpath(source, out.parent) if source.drive == out.drive else str(source)
    write_report(result, out, source=Path(data).as_posix(), **texts)
    return _tell(result, out, arguments)


def _write_links(result: Result, links: Path, out: Path, arguments: argparse.Namespace) -> int:
    """Write a list of links with the clusters of both ends; return the exit code."""
    if arguments.out is None or out.suffix.lower() != ".csv":
        raise ParameterError(f"--links-file writes a table. Name it with --out FILE.csv, not {out.name!r}.")
    text = csv_text(add_results(result, links))
    out.write_text(text, encoding="utf-8", newline="")
    return _tell(result, out, arguments)


def _tell(result: Result, out: Path, arguments: argparse.Namespace) -> int:
    """Say what was written; return the exit code."""
    size = out.stat().st_size
    if arguments.json:
        sys.stdout.write(as_json({"run": arguments.run_path, "out": str(out), "bytes": size}))
    else:
        sys.stdout.write(f"{result.label}: written to {out} ({size / 1e6:,.1f} MB)\n")
    return 0


def _find_result(path: Path) -> Path:
    """Return the file of a run: the one in a folder of results, or the path itself."""
    if not path.is_dir():
        return path
    if not (path / RESULT_FILE).is_file():
        raise ParameterError(
            f"{path} has no {RESULT_FILE}. Give a folder that `acvb fit FILE --out` wrote, or a file of Result.save; "
            "runs on a corpus that is kept on disk have none."
        )
    return path / RESULT_FILE
