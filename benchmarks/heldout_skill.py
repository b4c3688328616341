"""Held-out skill of a method on a relation of yours, over several splits.

    python benchmarks/heldout_skill.py FILE [--shape 1892x1892] [--method acvb0] [--splits 5] [--no-merge]

Skill = 1 - LL / LL of one block, where LL is the mean log likelihood of a held-out entry and the one block predicts
the training density for every entry. One line a split, then the mean and the worst.
"""

from __future__ import annotations

import argparse
import os

import pandas as pd

from acvb_core import fit, load_relation


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--shape")
    parser.add_argument("--method", default="acvb0")
    parser.add_argument("--init", default="spectral")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--heldout", type=float, default=0.1)
    parser.add_argument("--no-merge", dest="merge", action="store_false")
    options = parser.parse_args()
    shape = tuple(int(part) for part in options.shape.split("x")) if options.shape else None
    relation = load_relation(options.file, shape=shape).relation
    rows = []
    for split in range(options.splits):
        result = fit(
            relation,
            options.method,
            heldout=options.heldout,
            heldout_seed=split,
            k_rows=options.clusters,
            k_cols=options.clusters,
            init=options.init,
            **({} if options.merge else {"merge": False}),
        )
        last = result.snapshot
        assert last.heldout is not None
        rows.append(
            {
                "split": split,
                "verdict": str(result.verdict),
                "sweeps": last.sweep,
                "cpu_seconds": last.cpu_seconds,
                "clusters": "{rows}x{cols}".format(**last.effective_k),
                **last.heldout._asdict(),
            }
        )
    frame = pd.DataFrame(rows)
    print(frame.to_string(index=False, float_format=lambda value: f"{value:.4f}"))
    print(f"mean skill {frame.skill.mean():.4f}, worst {frame.skill.min():.4f}")
    print(f"load average {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
