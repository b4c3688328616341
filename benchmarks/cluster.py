"""The cost of watching many runs on a cluster.

    python -m benchmarks.cluster
    python -m benchmarks.cluster --runs 50 --seconds 10

Prints for each number of runs that run at once: processor time a second of the process that watches them; seconds
between two snapshots of a run; and how long it takes to stop all of them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from acvb_core.cluster.backend import DaskExecutor
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import prepare_run
from acvb_core.samples.catalogue import load_sample
from benchmarks.harness import make_parser


def main() -> None:
    parser = make_parser(__doc__, seconds=30.0)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 20])
    given = parser.parse_args()
    port = "18786"
    command = [sys.executable, "-m", "acvb_core", "cluster", "--workers", "2", "--port", port]
    command += ["--threads", str(max(given.runs)), "--dashboard-port", "18787"]
    # The workers have the same processor as who watches: they leave it to that.
    with subprocess.Popen(["nice", "-n", "19", *command], stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        cluster.stdout.readline()
        executor = DaskExecutor.connect(f"tcp://127.0.0.1:{port}")
        try:
            for runs in given.runs:
                print(measure(executor, runs, given.seconds))
        finally:
            executor.client.close()
            cluster.terminate()


def measure(executor: DaskExecutor, runs: int, seconds: float) -> str:
    relation = load_sample("southern_women").relation
    values = {"k_rows": 4, "k_cols": 4, "max_sweeps": 1_000_000}
    jobs = [Job(prepare_run(relation, "gibbs", values, seed=seed), executor).start() for seed in range(runs)]
    while any(job.inspect().snapshot is None for job in jobs):
        time.sleep(0.1)
    newest = {job: (job.inspect().snapshot, time.monotonic()) for job in jobs}
    cpu, clock, ages = time.process_time(), time.monotonic(), []
    while time.monotonic() < clock + seconds:
        time.sleep(0.05)
        for job, (seen, since) in newest.items():
            snapshot, now = job.inspect().snapshot, time.monotonic()
            if snapshot is not seen:
                ages.append(now - since)
                newest[job] = snapshot, now
    cpu, clock = time.process_time() - cpu, time.monotonic() - clock
    for job in jobs:
        job.stop()
    began = time.monotonic()
    for job in jobs:
        job.wait()
    stopped = time.monotonic() - began
    age = statistics.median(ages) if ages else float("nan")
    watched = f"{cpu / clock:.2f} CPU s a second, a snapshot every {age:.1f} s"
    return f"{runs:4} runs: {watched}, all stopped in {stopped:.1f} s"


if __name__ == "__main__":
    main()
