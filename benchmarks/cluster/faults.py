"""Faults of a cluster whose scheduler and workers are in network namespaces of their own.

    python -m benchmarks.cluster.faults --times 10 [--faults kill cut slow scheduler version]

Needs root and iproute2: it makes three namespaces with two pairs of veth, and removes them at the end. All traffic
stays in them. For each fault a run on the cluster is disturbed once: its worker is killed with -9 (kill), is cut off
from the scheduler for 20 s (cut), is stopped for 20 s (slow), its scheduler is started anew (scheduler), or all workers
have other sources of the package (version), which must be refused. Prints how many runs were lost, and the largest
distance of a held-out score from that of the undisturbed run.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from acvb_core.cluster import remote_run
from acvb_core.cluster.executor import DaskExecutor
from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Executor
from acvb_core.engine.handle import Status
from acvb_core.engine.job import Job
from acvb_core.engine.problem import Problem, build_problem
from acvb_core.samples.planted_relations import synth1

_ROOT = Path(__file__).resolve().parents[2]
_NAMES = [f"acvb-{os.getpid()}-{who}" for who in ("scheduler", "left", "right")]
_ADDRESS = "10.213.1.1"
_CUT = 20.0
_PATIENCE = 240.0
_NEW_NETWORK = 0x40000000


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def make_network() -> None:
    """Make the namespaces, the scheduler's linked with each worker's, and enter the scheduler's."""
    for name in _NAMES:
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    for number, name in enumerate(_NAMES[1:], 1):
        ip("-n", _NAMES[0], "link", "add", f"w{number}", "type", "veth", "peer", "name", "up0", "netns", name)
        ip("-n", _NAMES[0], "addr", "add", f"10.213.{number}.1/24", "dev", f"w{number}")
        ip("-n", name, "addr", "add", f"10.213.{number}.2/24", "dev", "up0")
        ip("-n", _NAMES[0], "link", "set", f"w{number}", "up")
        ip("-n", name, "link", "set", "up0", "up")
        ip("-n", name, "route", "add", "default", "via", f"10.213.{number}.1")
    with open(f"/run/netns/{_NAMES[0]}") as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "cannot enter the namespace")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


class FaultyCluster:
    """A scheduler and two workers, each a process in its namespace."""

    def __init__(self, folder: Path, package: Path = _ROOT) -> None:
        self.folder, self.package = folder, package
        self.scheduler = self._start(0, "scheduler", "--host", _ADDRESS, "--port", "8786", "--no-dashboard")
        self.workers = {number: self._start_worker(number) for number in (1, 2)}

    def _start(self, number: int, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + what, *words]
        if number:
            command = ["ip", "netns", "exec", _NAMES[number], *command]
        with (self.folder / f"{what}-{number}.log").open("ab") as log:
            environment = {**os.environ, "PYTHONPATH": str(self.package), "PYTHONSAFEPATH": "1"}
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        own = f"10.213.{number}.2"
        words = ["--host", own, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory"]
        return self._start(number, "worker", f"tcp://{_ADDRESS}:8786", *words, str(self.folder))

    def restart_scheduler(self) -> None:
        """Kill the scheduler and start another at the same address, with workers."""
        self.close()
        self.__init__(self.folder, self.package)  # type: ignore[misc]

    def close(self) -> None:
        """End all processes."""
        for process in [*self.workers.values(), self.scheduler]:
            process.kill()
            process.wait()


def connect() -> DaskExecutor:
    """Return the executor of the cluster once its scheduler and both workers are there."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            executor = DaskExecutor.connect(f"tcp://{_ADDRESS}:8786")
            break
        except AcvbError:  # it is still starting
            if time.monotonic() > end:
                raise
    wait_until(lambda: len(executor.list_workers()) == 2)
    return executor


def find_worker(executor: DaskExecutor) -> int:
    """Return the number of the worker that computes."""
    at_work = [address for address, tasks in executor.find_client().processing().items() if tasks]
    return int(at_work[0].split(".")[2])


def disturb(fault: str, cluster: FaultyCluster, executor: DaskExecutor) -> None:
    """Have a fault happen to the worker that computes, or to the scheduler."""
    if fault == "scheduler":
        cluster.restart_scheduler()
        return
    number = find_worker(executor)
    process = cluster.workers[number]
    if fault == "kill":
        process.send_signal(signal.SIGKILL)
    elif fault == "cut":
        ip("-n", _NAMES[0], "link", "set", f"w{number}", "down")
        time.sleep(_CUT)
        ip("-n", _NAMES[0], "link", "set", f"w{number}", "up")
    else:
        process.send_signal(signal.SIGSTOP)
        time.sleep(_CUT)
        process.send_signal(signal.SIGCONT)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.1)


def run_once(fault: str, problem: Problem, folder: Path) -> float:
    """Return the held-out skill of a run that a fault disturbs."""
    cluster = FaultyCluster(folder)
    try:
        executor = connect()
        job = Job(problem, executor).start()
        wait_until(lambda: (seen := job.inspect().snapshot) is not None and seen.sweep > 1)
        time.sleep(2.0)
        disturb(fault, cluster, executor)
        if not job.wait(_PATIENCE):
            raise TimeoutError("the run did not end")
        if fault == "scheduler":
            assert job.inspect().status is Status.INTERRUPTED, job.inspect().error
            assert job.can_continue
            executor.client.close()
            executor = job._executor = connect()
            job.continue_run()
            job.wait(_PATIENCE)
        executor.client.close()
        heldout = job.result().snapshot.heldout
        assert heldout is not None
        return float(heldout.skill)
    finally:
        cluster.close()


def refuse_once(problem: Problem, folder: Path) -> str:
    """Return the sentence that refuses workers with another version of the package."""
    other = folder / "other"
    if not other.exists():
        shutil.copytree(
            _ROOT / "acvb_core", other / "acvb_core", ignore=shutil.ignore_patterns("__pycache__")
        )
        with (other / "acvb_core" / "core" / "errors.py").open("a") as file:
            file.write("\n#: Another version.\n")
    cluster = FaultyCluster(folder, other)
    try:
        executor = connect()
        job = Job(problem, executor).start()
        job.wait(_PATIENCE)
        executor.client.close()
        assert job.inspect().status is Status.FAILED, job.inspect().status
        return str(job.inspect().error)
    finally:
        cluster.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    faults = ("kill", "cut", "slow", "scheduler", "version")
    parser.add_argument("--faults", nargs="+", choices=faults, default=faults)
    given = parser.parse_args()
    if os.geteuid() or shutil.which("ip") is None:
        sys.exit("Network namespaces need root and the program ip (Debian: iproute2). Nothing was measured.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    remote_run.KEEP_EVERY = 1.0
    values = {"k_rows": 10, "k_cols": 10, "max_sweeps": 1_000, "burn_in": 300}
    problem = build_problem(synth1().relation, "gibbs", values, heldout=0.1)
    alone = Job(problem, Executor(1)).start()
    alone.wait()
    heldout = alone.result().snapshot.heldout
    assert heldout is not None
    wanted = float(heldout.skill)
    try:
        make_network()
        with tempfile.TemporaryDirectory(prefix="acvb-faults-") as folder:
            for fault in given.faults:
                distances, lost = [0.0], []
                for _ in range(given.times):
                    try:
                        if fault == "version":
                            print(refuse_once(problem, Path(folder)))
                        else:
                            skill = run_once(fault, problem, Path(folder))
                            distances.append(abs(skill / wanted - 1.0))
                    except Exception as problem_met:
                        lost.append(f"{type(problem_met).__name__}: {problem_met}")
                print(
                    f"{fault:10} {given.times} times, {len(lost)} lost, score within {max(distances):.2%}",
                    *lost,
                    flush=True,
                )
    finally:
        for name in _NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False)


if __name__ == "__main__":
    main()
