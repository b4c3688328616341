"""Workers that hold shards: threads of this process, or processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol

from acvb_core.core.errors import AcvbError
from acvb_core.shards.host import Host


class WorkerLostError(AcvbError):
    """A worker is gone, and with it the states of its shards."""


class Worker(Protocol):
    """Something that holds shards and answers one request after the other."""

    #: `sent`, `received`: bytes that went to the worker and came from it; 0 where nothing is copied.
    sent: int
    received: int

    def request(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the worker's `Host`; the future raises `WorkerLostError` where the worker is gone."""
        ...

    def replace(self) -> Worker:
        """Return a worker without shards to take the place of this one."""
        ...

    def close(self) -> None:
        """End the worker."""
        ...


#: Starts a worker, given its number.
StartWorker = Callable[[int], Worker]


class ThreadWorker:
    """A thread of this process; nothing is copied. Compiled loops run beside those of other threads."""

    def __init__(self, number: int) -> None:
        self.sent = self.received = 0
        self._number, self._host = number, Host()
        self._thread = ThreadPoolExecutor(1, f"shards-{number}")

    def request(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the host in the thread."""
        return self._thread.submit(getattr(self._host, method), *arguments)

    def replace(self) -> ThreadWorker:
        """Return a thread without shards."""
        self.close()
        return ThreadWorker(self._number)

    def close(self) -> None:
        """End the thread once what is under way has ended."""
        self._thread.shutdown(wait=False)


class ProcessWorker:
    """A process of this machine, at the other end of a pipe. It ends when the pipe does."""

    def __init__(self, number: int) -> None:
        self.sent = self.received = 0
        self._number = number
        self._pipe, far = Pipe()
        paths = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "acvb_core.shards.serve", str(far.fileno())],
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=[far.fileno()],
        )
        far.close()
        self._thread = ThreadPoolExecutor(1, f"shards-{number}")

    def request(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the host in the process; what it raises there is raised here."""
        return self._thread.submit(self._exchange, method, arguments)

    def _exchange(self, method: str, arguments: tuple[Any, ...]) -> Any:
        question = ForkingPickler.dumps((method, arguments), 5)
        try:
            self._pipe.send_bytes(question)
            reply = self._pipe.recv_bytes()
        except (EOFError, OSError) as problem:
            raise WorkerLostError(f"Worker {self._number} was lost.") from problem
        self.sent += len(question)
        self.received += len(reply)
        fault, answer = ForkingPickler.loads(reply)
        if fault is not None:
            raise fault
        return answer

    def replace(self) -> ProcessWorker:
        """Return a new process without shards."""
        self.close()
        new = ProcessWorker(self._number)
        new.sent, new.received = self.sent, self.received
        return new

    def close(self) -> None:
        """Close the pipe and end the process."""
        self._thread.shutdown(wait=False)
        self._pipe.close()
        self.process.kill()
        self.process.wait()
