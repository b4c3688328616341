"""The command that writes a run to one file to send to others."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from acvb_core.cli.output import as_json
from acvb_core.core.errors import ParameterError
from acvb_core.report.files import write_report
from acvb_core.store.archives import load_result
from acvb_core.store.export import RESULT_FILE


def report(arguments: argparse.Namespace) -> int:
    """Write a report, a workbook or a graph of a run; return the exit code."""
    source = _find_result(Path(arguments.run_path))
    out = source.with_name("report.html") if arguments.out is None else Path(arguments.out)
    result = load_result(source)
    texts = {name: getattr(arguments, name) or "" for name in ("title", "question", "note")}
    # The Python in the report reads the data from the run's own file, which is there and complete.
    data = os.path.relpath(source, out.parent) if source.drive == out.drive else str(source)
    write_report(result, out, source=Path(data).as_posix(), **texts)
    if arguments.json:
        sys.stdout.write(as_json({"run": str(source), "out": str(out), "bytes": out.stat().st_size}))
    else:
        sys.stdout.write(f"{result.label}: written to {out} ({out.stat().st_size / 1e6:,.1f} MB)\n")
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
