"""A large table with planted features, run to its stop; and how the time of a sweep grows.

    python -m benchmarks.feature_scale run [--objects 110000 --columns 256 --features 60 --share 0.3 --missing 0]
    python -m benchmarks.feature_scale growth [--columns 256]

`run` prints a line every few sweeps (features, lower bound and seconds), and in the end verdict, sweeps, features,
processor and clock time, peak memory, and how many of the planted features were found (correlation of an activation
with the planted one above 0.9). `growth` prints the processor seconds of a sweep for 5,000 to 40,000 objects and for 32
to 256 features, and the slopes of their logarithms (1 is linear; medians of 5 sweeps).
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from acvb_core import fit
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run as sweeps
from acvb_core.samples.planted_mixtures import planted_features
from benchmarks.harness import make_parser, peak_bytes, print_load


def recovered(found: np.ndarray, planted: np.ndarray) -> int:
    """Return how many planted activations some found one goes with, in whatever direction."""
    if not found.shape[1]:
        return 0
    one = (planted - planted.mean(0)) / planted.std(0)
    other = (found - found.mean(0)) / np.maximum(found.std(0), 1e-12)
    return int((np.abs(one.T @ other).max(axis=1) / len(one) > 0.9).sum())


def whole(options: argparse.Namespace) -> None:
    """Run to the stop."""
    planted = planted_features(
        options.objects, options.columns, options.features, share=options.share, seed=0
    )
    table = planted.table
    if options.missing:
        values = table.values.copy()
        values[np.random.default_rng(1).random(values.shape) < options.missing] = np.nan
        table = table.with_values(values)
    before = time.monotonic()

    def tell(prepared: object, snapshot: SweepRecord) -> None:
        if snapshot.sweep % 5 == 0 or snapshot.verdict is not None:
            bound = (snapshot.lower_bound or float("nan")) / options.objects
            found = f"{snapshot.effective_k['features']} features, {bound:.4f} nats per object"
            print(f"sweep {snapshot.sweep}: {found}, {snapshot.cpu_seconds:.0f} s", flush=True)

    result = fit(table, options.method, watch=tell)
    last = result.snapshot
    print(
        f"{last.verdict} after {last.sweep} sweeps: {last.effective_k['features']} features, "
        f"{recovered(result.posterior['objects'], planted.activations)} of {options.features} planted ones found; "
        f"{last.cpu_seconds:.0f} s of processor time, {time.monotonic() - before:.0f} s in all; peak memory "
        f"{peak_bytes() / 2**30:.1f} GB, of which the table is {table.values.nbytes / 2**30:.2f}"
    )
    print_load()


def seconds(objects: int, columns: int, features: int) -> float:
    """Return the median time of a plain sweep from random features, before any dies."""
    table = planted_features(objects, columns, features, share=0.3, seed=0).table
    prepared = prepare_run(table, "fab", {"k_max": features, "init": "random", "warmup": 10, "max_sweeps": 6})
    times = [0.0]
    times += [snapshot.cpu_seconds for snapshot in sweeps(prepared)]
    return statistics.median(np.diff(times)[1:])


def slope(sizes: tuple[int, ...], times: list[float]) -> float:
    """Return by which power of the size the time grows."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def growth(options: argparse.Namespace) -> None:
    """Print the time of a sweep over objects and over features."""
    objects, features = (5_000, 10_000, 20_000, 40_000), (32, 64, 128, 256)
    by_objects = [seconds(n, options.columns, 64) for n in objects]
    by_features = [seconds(20_000, options.columns, k) for k in features]
    for what, sizes, times in (("objects", objects, by_objects), ("features", features, by_features)):
        shown = ", ".join(f"{size:,}: {took:.3f} s" for size, took in zip(sizes, times, strict=True))
        print(f"{what} {shown}; slope {slope(sizes, times):.2f}")
    print_load()


def main() -> None:
    parser = make_parser(
        __doc__, method="fab", objects=110000, columns=256, features=60, share=0.3, missing=0.0
    )
    parser.add_argument("what", choices=("run", "growth"))
    options = parser.parse_args()
    (whole if options.what == "run" else growth)(options)


if __name__ == "__main__":
    main()
