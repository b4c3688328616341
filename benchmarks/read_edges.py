"""Time and memory of reading a long gzipped edge list.

    python -m benchmarks.read_edges [--lines 20000000] [--rows 5000] [--columns 50000]

The file is made in a temporary folder and removed. Reading runs in a process of its own, whose peak memory is
compared with what it held before (interpreter, libraries and compiled loops warmed up on a small file).
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import make_parser, peak_bytes, run_module


def write_edges(path: Path, n_lines: int, n_rows: int, n_columns: int, seed: int = 0) -> None:
    """Write random pairs "r12,c345" with a header, gzipped, a million lines at a time."""
    rng = np.random.default_rng(seed)
    row_names = np.array([f"r{i}," for i in range(n_rows)], dtype=object)
    column_names = np.array([f"c{i}\n" for i in range(n_columns)], dtype=object)
    with gzip.open(path, "wt", compresslevel=1) as out:
        out.write("row,col\n")
        for start in range(0, n_lines, 1_000_000):
            n = min(1_000_000, n_lines - start)
            pairs = row_names[rng.integers(n_rows, size=n)] + column_names[rng.integers(n_columns, size=n)]
            out.write("".join(pairs.tolist()))


def measure(path: Path) -> dict[str, float]:
    """Read `path` in this process and return seconds, megabytes above the baseline and their ratio to the CSR."""
    from acvb_core.data.relation_readers import load_relation

    load_relation(b"row,col\na,x\nb,y\n")
    before = peak_bytes()
    start = time.perf_counter()
    relation = load_relation(path).data
    seconds = time.perf_counter() - start
    above = peak_bytes() - before
    csr = relation.ones.data.nbytes + relation.ones.indices.nbytes + relation.ones.indptr.nbytes
    return {
        "seconds": round(seconds, 2),
        "links": relation.n_ones,
        "peak_mb_above_baseline": round(above / 1e6, 1),
        "csr_mb": round(csr / 1e6, 1),
        "ratio": round(above / csr, 2),
    }


def main() -> None:
    """Make the file, read it in a fresh process, print one JSON line."""
    parser = make_parser(__doc__, lines=20000000, rows=5000, columns=50000)
    parser.add_argument("--read", type=Path, help="only read this file (what the fresh process does)")
    chosen = parser.parse_args()
    if chosen.read is not None:
        print(json.dumps(measure(chosen.read)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.csv.gz"
        write_edges(path, chosen.lines, chosen.rows, chosen.columns)
        print(json.dumps(run_module(["benchmarks.read_edges", "--read", str(path)])))


if __name__ == "__main__":
    main()
