"""Faults of a cluster whose scheduler and workers are in network namespaces of their own.

    python -m benchmarks.cluster.faults --times 10 [--longer 5] [--faults kill cut slow disk scheduler version]

Needs root and iproute2: it makes three namespaces with two pairs of veth, and removes them at the end. All traffic
stays in them. For each fault two runs on the cluster, a whole one and one over two shards, are disturbed once: the
worker of the whole one, which also holds a shard, is killed with -9 (kill), is cut off from the scheduler for 20 s
(cut), or is stopped for 20 s (slow); the disk for the states of shards is full, and then the worker is killed (disk);
the scheduler is started anew (scheduler); or all workers have other sources of the package (version), which must be
refused. Prints how many runs were lost, and the largest distance of a held-out score from that of the undisturbed run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from acvb_core.cluster import backend
from acvb_core.cluster.backend import SHARED_FOLDER, DaskExecutor
from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.samples.planted_mixtures import planted_topics
from acvb_core.samples.planted_relations import synth1
from benchmarks.cluster.machines import (
    ADDRESS,
    NAMES,
    ROOT,
    FaultyCluster,
    fill_disk,
    ip,
    make_network,
    small_disk,
)
from benchmarks.harness import make_parser

_CUT = 20.0
_PATIENCE = 600.0  # on a busy machine


def connect() -> DaskExecutor:
    """Return the executor of the cluster once its scheduler and both workers are there."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            executor = DaskExecutor.connect(f"tcp://{ADDRESS}:8786")
            break
        except AcvbError:  # it is still starting
            if time.monotonic() > end:
                raise
    wait_until(lambda: len(executor.list_workers()) == 2)
    return executor


def find_worker(executor: DaskExecutor) -> int:
    """Return the number of the worker that computes."""
    at_work = [address for address, tasks in executor.client.processing().items() if tasks]
    return int(at_work[0].split(".")[2])


def disturb(fault: str, cluster: FaultyCluster, executor: DaskExecutor, runs: list[Job]) -> None:
    """Have a fault happen to the worker that computes, to the disk or to the scheduler."""
    if fault == "scheduler":
        cluster.restart_scheduler()
        return
    number = find_worker(executor)
    process = cluster.workers[number]
    if fault == "cut":
        ip("-n", NAMES[0], "link", "set", f"w{number}", "down")
        time.sleep(_CUT)
        ip("-n", NAMES[0], "link", "set", f"w{number}", "up")
    elif fault == "slow":
        process.send_signal(signal.SIGSTOP)
        time.sleep(_CUT)
        process.send_signal(signal.SIGCONT)
    else:
        if fault == "disk":
            fill_disk(Path(os.environ[SHARED_FOLDER]))
            wait_until(lambda: count_unsaved(runs[1]) > 0)
        process.send_signal(signal.SIGKILL)
        process.wait()


def count_unsaved(run: Job) -> float:
    """Return how often the states of a run's shards could not be saved."""
    return float(np.nansum(run.history.column("unsaved")))


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.1)


def is_under_way(run: Job) -> bool:
    """Return whether a run has done some sweeps, and a tenth of them at least."""
    seen = run.inspect().snapshot
    return seen is not None and seen.sweep > max(1, run.prepared.max_sweeps // 10)


def score_of(run: Job) -> float:
    """Return the held-out skill, or perplexity."""
    heldout = run.result().snapshot.heldout
    assert heldout is not None
    return float(getattr(heldout, "skill", None) or heldout.perplexity)


def run_once(fault: str, cluster: FaultyCluster, prepared_runs: list[PreparedRun]) -> list[float]:
    """Return the held-out scores of runs that a fault disturbs."""
    cluster.mend()
    executor = connect()
    runs = [Job(prepared, executor).start() for prepared in prepared_runs]
    try:
        wait_until(lambda: all(map(is_under_way, runs)))
        assert all(run.inspect().status.active for run in runs), "a run was over too early"
        disturb(fault, cluster, executor, runs)
        for run in runs:
            if not run.wait(_PATIENCE):
                raise TimeoutError("a run did not end")
        if fault == "scheduler":
            assert runs[0].inspect().status is Status.INTERRUPTED, runs[0].inspect().error
            assert runs[0].can_continue
            wait_until(lambda: len(executor.list_workers()) == 2)
            runs[0].continue_run()
            runs[0].wait(_PATIENCE)
        return [score_of(run) for run in runs]
    finally:
        for run in runs:
            run.stop()
        executor.client.close()


def refuse_once(cluster: FaultyCluster, prepared_runs: list[PreparedRun]) -> list[str]:
    """Return the sentences that refuse workers with another version of the package."""
    executor = connect()
    runs = [Job(prepared, executor).start() for prepared in prepared_runs]
    for run in runs:
        run.wait(_PATIENCE)
    executor.client.close()
    for run in runs:
        assert run.inspect().status is Status.FAILED, run.inspect().status
        assert "other sources" in str(run.inspect().error), run.inspect().error
    return [str(run.inspect().error) for run in runs]


def copy_package(folder: Path) -> Path:
    """Copy the package with a change, as another version of it."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "acvb_core", folder / "acvb_core", ignore=ignored)
    with (folder / "acvb_core" / "core" / "errors.py").open("a") as file:
        file.write("\n#: Another version.\n")
    return folder


def prepare_runs(longer: int) -> list[PreparedRun]:
    """Return a whole run, and one over two shards that takes about as long; `longer`: so many times what they were."""
    values = {"k_rows": 10, "k_cols": 10, "max_sweeps": 2_000 * longer, "burn_in": 500}
    corpus = planted_topics(3_000 * longer, 2_000, 10, 60, 0.1, 0.05, 1).corpus
    spread = {"k": 10, "max_sweeps": 200, "tol": 1e-12, "shards": 2}
    return [
        prepare_run(synth1().relation, "gibbs", values, heldout=0.1),
        prepare_run(corpus, "cvb0", spread, heldout_documents=0.1),
    ]


def try_fault(
    fault: str, times: int, prepared_runs: list[PreparedRun], wanted: list[float], folder: Path
) -> None:
    """Have a fault happen some times, and print what became of the runs."""
    distances: list[float] = [0.0]
    lost: list[str] = []
    package = copy_package(folder / "other") if fault == "version" else ROOT
    begun = time.monotonic()
    with small_disk(folder / "states"), closing(FaultyCluster(folder, package)) as cluster:
        for number in range(1, times + 1):
            sys.stderr.write(f"{fault}: {number} of {times}, {len(lost)} lost\n")
            try:
                if fault == "version":
                    sentences = refuse_once(cluster, prepared_runs)
                    continue
                scores = run_once(fault, cluster, prepared_runs)
                distances += [abs(score / goal - 1.0) for score, goal in zip(scores, wanted, strict=True)]
            except Exception as problem_met:
                lost.append(f"{type(problem_met).__name__}: {problem_met}")
            (folder / "states" / "filler").unlink(missing_ok=True)
    if fault == "version" and not lost:
        print(*sentences, sep="\n")
    print(
        f"{fault:10} {times} times, {len(lost)} lost, scores within {max(distances):.2%}, "
        f"{time.monotonic() - begun:.0f} s",
        *lost,
        flush=True,
    )


def main() -> None:
    parser = make_parser(__doc__, times=10)
    faults = ("kill", "cut", "slow", "disk", "scheduler", "version")
    parser.add_argument("--faults", nargs="+", choices=faults, default=faults)
    parser.add_argument(
        "--longer", type=int, default=1, help="times the work of a run, where they end too early"
    )
    given = parser.parse_args()
    if os.geteuid() or shutil.which("ip") is None:
        sys.exit("Network namespaces need root and the program ip (Debian: iproute2). Nothing was measured.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    warnings.simplefilter("always")
    backend.WRITE_EVERY = 1.0  # type: ignore[attr-defined]
    prepared_runs = prepare_runs(given.longer)
    wanted = []
    for prepared in prepared_runs:
        alone = Job(prepared, Executor(1)).start()
        alone.wait()
        wanted.append(score_of(alone))
    try:
        make_network()
        with tempfile.TemporaryDirectory(prefix="acvb-faults-") as folder:
            os.environ[SHARED_FOLDER] = str(Path(folder) / "states")
            for fault in given.faults:
                try_fault(fault, given.times, prepared_runs, wanted, Path(folder))
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False)


if __name__ == "__main__":
    main()
