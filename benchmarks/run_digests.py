"""A digest of a short run of every method: the same for two versions of the code that give the same bits.

    python -m benchmarks.run_digests --out before.json

in the checkout of one version, and in that of the other

    python -m benchmarks.run_digests --compare before.json

Compare on one machine: other processors and libraries round otherwise.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import acvb_core
from benchmarks.harness import make_parser

#: By model: a sample, what it holds, and sizes. The runs are long enough for moves, merges and burn-in to happen.
RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "irm": ("southern_women", "relation", {"k_rows": 5, "k_cols": 4}),
    "network": ("karate", "relation", {"k_rows": 6}),
    "poisson": ("southern_women", "relation", {"k_rows": 5, "k_cols": 4}),
    "poisson-network": ("les_miserables", "relation", {"k_rows": 6}),
    "lda": ("bars", "corpus", {"k": 6}),
    "lfm": ("block_images", "table", {"k_max": 6}),
}
SWEEPS, BURN_IN = 12, 4
# Columns of the history that tell of time.
TIMES = ("seconds", "cpu", "time")


def digest_of(result: Any) -> str:
    """Return the SHA-256 (hex) of a result's posterior and of its diagnostics, times left out."""
    digest = hashlib.sha256()
    for name, array in sorted(result.posterior.arrays.items()):
        digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps(sorted(result.posterior.hyper.items())).encode())
    history = result.history
    for name in history.columns:
        if not any(time in name for time in TIMES):
            digest.update(name.encode() + history[name].to_csv(float_format="%.17g").encode())
    return digest.hexdigest()


def run_digests() -> dict[str, str]:
    """Return the digest of a run of every method, with and without held-out data."""
    found = {}
    for row in acvb_core.methods().itertuples():
        sample, kind, sizes = RUNS[row.model]
        data = getattr(acvb_core.load_sample(sample), kind)
        settings = {setting.partition("=")[0] for setting in row.settings.split(", ")}
        limits = {"epochs": 2.0} if "epochs" in settings else {"max_sweeps": SWEEPS}
        if "burn_in" in settings:
            limits["burn_in"] = BURN_IN
        for share in (0.0, 0.1):
            result = acvb_core.fit(
                data, row.method, model=row.model, heldout=share, seed=1, **sizes, **limits
            )
            found[f"{row.model} {row.method} {sample} heldout={share}"] = digest_of(result)
    return found


def main() -> int:
    """Write the digests as JSON, or compare them with those of another version."""
    parser = make_parser(__doc__)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the digests go, else standard output")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="digests that another version wrote")
    chosen = parser.parse_args()
    found = run_digests()
    if chosen.compare is None:
        written = json.dumps(found, indent=1) + "\n"
        chosen.out.write_text(written) if chosen.out else sys.stdout.write(written)
        return 0
    before = json.loads(chosen.compare.read_text())
    different = [run for run, digest in before.items() if digest != found.get(run)]
    new = len(found.keys() - before.keys())
    print(f"{len(before)} runs, {len(different)} differ, {new} are new", *different, sep="\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
