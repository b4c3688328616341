"""Machines for the faults of a cluster: network namespaces, a scheduler and two workers in them, and a small disk."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = [f"acvb-{os.getpid()}-{who}" for who in ("scheduler", "left", "right")]
ADDRESS = "10.213.1.1"
_NEW_NETWORK = 0x40000000


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def make_network() -> None:
    """Make the namespaces, the scheduler's linked with each worker's, and enter the scheduler's."""
    for name in NAMES:
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    for number, name in enumerate(NAMES[1:], 1):
        ip("-n", NAMES[0], "link", "add", f"w{number}", "type", "veth", "peer", "name", "up0", "netns", name)
        ip("-n", NAMES[0], "addr", "add", f"10.213.{number}.1/24", "dev", f"w{number}")
        ip("-n", name, "addr", "add", f"10.213.{number}.2/24", "dev", "up0")
        ip("-n", NAMES[0], "link", "set", f"w{number}", "up")
        ip("-n", name, "link", "set", "up0", "up")
        ip("-n", name, "route", "add", "default", "via", f"10.213.{number}.1")
    with open(f"/run/netns/{NAMES[0]}") as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "cannot enter the namespace")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


class FaultyCluster:
    """A scheduler and two workers, each a process in its namespace."""

    def __init__(self, folder: Path, package: Path = ROOT) -> None:
        self.folder, self.package = folder, package
        self.scheduler, self.workers = self._start_scheduler(), dict[int, subprocess.Popen[bytes]]()
        self.mend()

    def _start(self, number: int, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + what, *words]
        if number:
            command = ["ip", "netns", "exec", NAMES[number], *command]
        with (self.folder / f"{what}-{number}.log").open("ab") as log:
            environment = {**os.environ, "PYTHONPATH": str(self.package), "PYTHONSAFEPATH": "1"}
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start(0, "scheduler", "--host", ADDRESS, "--port", "8786", "--no-dashboard")

    def mend(self) -> None:
        """Start workers in the place of those that are gone."""
        for number in (1, 2):
            if number not in self.workers or self.workers[number].poll() is not None:
                words = ["--host", f"10.213.{number}.2", "--nthreads", "2", "--no-nanny", "--no-dashboard"]
                words += ["--local-directory", str(self.folder)]
                self.workers[number] = self._start(number, "worker", f"tcp://{ADDRESS}:8786", *words)

    def restart_scheduler(self) -> None:
        """Kill the scheduler and start another at the same address, with workers."""
        self.close()
        self.scheduler = self._start_scheduler()
        self.mend()

    def close(self) -> None:
        """End all processes."""
        for process in [*self.workers.values(), self.scheduler]:
            process.kill()
            process.wait()


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a disk of 64 MB for the states of shards."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill_disk(folder: Path) -> None:
    """Write to a disk until it is full."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
