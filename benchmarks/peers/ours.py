"""The methods of acvb_core."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from acvb_core.core.protocols import predict_averaged
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.run import run
from benchmarks.peers.answers import Answer, mean_of_later_half
from benchmarks.peers.trials import Trial

#: Sweeps between two predictions.
EVERY = 5


def fit_topics(
    trial: Trial, seed: int, *, method: str, k: int, alpha: float, beta: float, passes: int
) -> Iterator[Answer]:
    """Run a method for so many sweeps, concentrations fixed; Gibbs predicts by the mean of its later samples."""
    values: dict[str, Any] = {"k": k, "alpha": alpha, "beta": beta, "hyper": "fixed", "max_sweeps": passes}
    # Every run does all its sweeps; a sampler does so anyway.
    values |= {"burn_in": passes - 1} if method == "gibbs" else {"tol": 1e-12}
    prepared = prepare_run(trial.train, method, values, model="lda", seed=seed)
    samples = []
    for snapshot in run(prepared):
        if snapshot.sweep % EVERY:
            continue
        if method == "gibbs":
            current = prepared.algorithm.current(snapshot.state)
            samples.append(prepared.model.predict(current, trial.heldout))
            predicted = mean_of_later_half(samples)
        else:
            predicted = prepared.model.predict(snapshot.posterior, trial.heldout)
        yield Answer(predicted, snapshot.cpu_seconds, f"{snapshot.sweep} passes")


def fit_clusters(trial: Trial, seed: int, *, model: str, method: str, predict_by: str) -> Iterator[Answer]:
    """Run a method as it is by default, until it stops; predict by its clusters or by the mean of its samples."""
    prepared = prepare_run(trial.train, method, model=model, seed=seed)
    last = _run_to_end(prepared)
    if predict_by == "samples":
        predicted = predict_averaged(prepared.model, last.posterior, trial.heldout)
        if predicted is None:
            raise ValueError("the run kept no samples")
    else:
        predicted = prepared.model.predict(last.posterior, trial.heldout)
    if predicted.ndim == 2:  # a model of counts: of a link, and of its count
        predicted = predicted[:, 0]
    yield Answer(
        predicted, last.cpu_seconds, _describe(last), last.posterior.labels(next(iter(last.effective_k)))
    )


def fit_features(trial: Trial, seed: int, *, method: str) -> Iterator[Answer]:
    """Run a method as it is by default, until it stops."""
    prepared = prepare_run(trial.train, method, model="lfm", seed=seed)
    last = _run_to_end(prepared)
    yield Answer(prepared.model.predict(last.posterior, trial.heldout), last.cpu_seconds, _describe(last))


def _run_to_end(prepared: PreparedRun) -> SweepRecord:
    return deque(run(prepared), maxlen=1)[0]


def _describe(last: SweepRecord) -> str:
    sizes = " x ".join(str(number) for number in last.effective_k.values())
    what = "features" if "features" in last.effective_k else "clusters"
    return f"{sizes} {what}, {last.verdict} after {last.sweep} sweeps"
