"""Kill a process at random moments of its runs, start again, continue them, and compare with runs without a break.

    python -m benchmarks.kill_runs --kills 50

Each kill is a SIGKILL of a process with ten runs: methods of all models, one of them a race. No run that was over may
be lost; every other must be found, and end with the same bits as one that was never interrupted.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Network, Relation
from acvb_core.data.table import Table
from acvb_core.engine import run as observer
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from benchmarks.harness import make_parser

_ROOT = Path(__file__).resolve().parents[1]
_SECONDS = 300


class Kill(NamedTuple):
    """What was found after a kill."""

    finished: int  #: runs that were over before it, and were found
    interrupted: int  #: runs that were not over, were found, and could be continued
    lost: list[str]  #: names of runs that were not found
    different: list[str]  #: names of runs whose end was not that of one that was never interrupted


def prepared_runs() -> Iterator[PreparedRun]:
    """Give runs of some methods of each model, short and long, one of them a race."""
    rng = np.random.default_rng(5)
    relation = Relation.build(rng.random((40, 30)) < 0.3)
    links = np.triu(rng.random((40, 40)) < 0.2, 1)
    network = Relation.build(links | links.T, network=Network(False, False))
    corpus = Corpus.build(rng.poisson(0.4, (60, 50)))
    table = Table.build(rng.standard_normal((40, 3)) @ rng.standard_normal((3, 12)))
    small = {"k_rows": 5, "k_cols": 5}
    yield prepare_run(relation, "acvb0", {**small, "max_sweeps": 400, "tol": 1e-9}, heldout=0.1)
    yield prepare_run(relation, "gibbs", {**small, "max_sweeps": 300}, heldout=0.1, seed=1)
    yield prepare_run(relation, "cvb0", {**small, "max_sweeps": 4})
    long = {**small, "max_sweeps": 200, "tol": 1e-12, "init": "random"}
    yield prepare_run(relation, "vb", long, restarts=3)
    own = {"k_rows": 5, "max_sweeps": 200, "tol": 1e-9}
    yield prepare_run(network, "acvb", own, model="network", heldout=0.1)
    yield prepare_run(corpus, "acvb0", {"k": 5, "max_sweeps": 400, "tol": 1e-9}, heldout=0.1)
    yield prepare_run(corpus, "gibbs", {"k": 5, "max_sweeps": 300}, heldout=0.1)
    yield prepare_run(corpus, "sdm", {"k": 5, "epochs": 30.0}, heldout_documents=0.1)
    yield prepare_run(table, "ibp", {"max_sweeps": 150}, heldout=0.1)
    yield prepare_run(table, "fab", {"max_sweeps": 100, "tol": 1e-12}, heldout=0.1)


def run_until_killed(folder: Path) -> None:
    """Start the runs, and keep them every few milliseconds."""
    observer.WRITE_EVERY, observer.WRITE_RATIO = 0.02, 2.0
    book = JobManager(Executor(2), RunStore(folder))
    for prepared in prepared_runs():
        book.add("mine", prepared)
    print("started", flush=True)
    time.sleep(_SECONDS)


def kill_and_continue(folder: Path, after: float, wanted: dict[str, Any]) -> Kill:
    """Kill the process so many seconds after it has started its runs, and continue what was interrupted.

    `wanted`: the ends of the runs that were never interrupted, by their names.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.kill_runs", "--runs", str(folder)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    book = JobManager(Executor(2), RunStore(folder))
    jobs = {name_of(job): job for job in book.jobs("mine")}
    interrupted = [job for job in jobs.values() if job.inspect().status is Status.INTERRUPTED]
    for job in interrupted:
        job.continue_run()
    assert all(job.wait(_SECONDS) for job in interrupted)
    different = [name for name, job in jobs.items() if end_of(job) != wanted[name]]
    lost = sorted(wanted.keys() - jobs.keys())
    assert book.close(_SECONDS)
    return Kill(len(jobs) - len(interrupted), len(interrupted), lost, different)


def uninterrupted() -> dict[str, Any]:
    """Return the ends of the runs, each by its name, made without a break."""
    jobs = [Job(prepared, Executor(1)).start() for prepared in prepared_runs()]
    assert all(job.wait(_SECONDS) for job in jobs)
    return {name_of(job): end_of(job) for job in jobs}


def name_of(job: Job) -> str:
    """Return what tells the run from the others: a race has the seed of its winner once it is decided."""
    settings = job.prepared.spec
    return f"{settings.model} {settings.method}"


def end_of(job: Job) -> Any:
    """Return the end of a run in a form that == compares bit by bit; its times are left out."""
    result = job.result()
    history = result.history.drop(columns=["cpu_seconds", "wall_seconds", "diagnostics_seconds"])
    posterior = result.snapshot.posterior
    arrays = {name: (array.shape, array.tobytes()) for name, array in posterior.arrays.items()}
    columns = {name: history[name].to_numpy().tobytes() for name in sorted(history.columns)}
    return result.verdict, result.prepared.spec, result.max_sweeps, arrays, columns


def main() -> None:
    parser = make_parser(__doc__, kills=50, seed=0)
    parser.add_argument("--runs", type=Path, help="start the runs in this folder, and continue until killed")
    given = parser.parse_args()
    if given.runs is not None:
        run_until_killed(given.runs)
        return
    wanted, rng = uninterrupted(), np.random.default_rng(given.seed)
    found = []
    for number, after in enumerate(rng.uniform(0.0, 2.5, given.kills)):
        with tempfile.TemporaryDirectory() as folder:
            found.append(kill_and_continue(Path(folder), after, wanted))
        print(f"kill {number + 1} after {after:.2f} s: {found[-1]}", flush=True)
    faults = sum(bool(kill.lost or kill.different) for kill in found)
    over, broken = sum(kill.finished for kill in found), sum(kill.interrupted for kill in found)
    print(
        f"{given.kills} kills: {over} runs were over, {broken} were interrupted and continued; "
        f"{sum(len(kill.lost) for kill in found)} lost, {sum(len(kill.different) for kill in found)} different"
    )
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
