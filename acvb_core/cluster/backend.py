"""The executor whose runs are computed by the workers of a Dask cluster, and the choice between it and this machine."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from acvb_core.cluster import worker
from acvb_core.cluster.local import missing_dask
from acvb_core.cluster.wire import Reader, SentData, pack_order
from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.versions import refuse_versions
from acvb_core.engine.executor import Executor, InterruptedRun, ResultT, current_owner
from acvb_core.engine.history import History
from acvb_core.engine.run import WRITE_EVERY, WRITE_RATIO, RunState, StopRun, finish_stopped_run
from acvb_core.shards.place import count_shards, shard_workers
from acvb_core.store.datasets import dataset_key

if TYPE_CHECKING:
    import distributed

    from acvb_core.shards.dask import DaskWorker

#: The environment variable that names where the states of shards are saved; all workers must see it.
SHARED_FOLDER = "ACVB_SHARED_FOLDER"
#: Seconds until a scheduler or a worker that does not answer counts as not there.
PATIENCE = 10.0
#: Deaths of workers after which a run has failed.
MOST_DEATHS = 3
#: Data sets that stay on the workers between one run and the next.
_KEPT_DATA = 2
#: Bytes a second of the slowest connection over which data are sent; and the most seconds for the result of a run.
_SLOWEST, _LONGEST = 1e6, 600.0
#: Seconds between two looks at which workers there are.
_ROUND = 5.0
#: Seconds between two looks at whether a run is to be paused or stopped, or is over.
_LOOK = 0.05
#: Seconds from the start to the first look at what a run has done, and between two of them; at most so many looks a
#: second at all runs together; and at least so many times what a look took pass before the next one.
_FIRST_LOOK, _PAUSE, _LOOKS_A_SECOND, _LOOK_RATIO = 0.2, 1.0, 50.0, 10.0
#: Seconds after which a scheduler that did not answer is looked for again.
_RETRY = 30.0
#: Seconds between two looks at whether the process ends, while a connection is attempted.
_LOOK_AT_END = 0.2


class _WorkerDeath(Exception):  # noqa: N818 - the run continues elsewhere
    """Raised where the worker of a run is gone; with its address where it died of the run, as far as one can tell."""


class _Attempt:
    """One task of a run: handed to Dask, found on a worker, asked, and given up."""

    def __init__(self, executor: DaskExecutor, data: Any) -> None:
        self._executor, self._token = executor, uuid.uuid4().hex
        self.over = threading.Event()  #: set at the end of the task
        self.address = ""  #: of the worker of the run; "" before it has its order
        self._host: str | None = None  # the run there
        self._greeting: dict[str, Any] | None = None  # the newest event of the run
        self._future: distributed.Future | None = None
        try:
            self._future = executor.submit_run(self._token, data, partial(setattr, self, "_greeting"))
        except OSError:  # the scheduler does not take the data
            self.over.set()
        else:
            self._future.add_done_callback(lambda _: self.over.set())

    def greet(self, state: RunState) -> bool:
        """Order a run that said where it is to compute; return whether it does.

        Raises _WorkerDeath: it had its order, and now it is elsewhere; or the worker is refused.
        """
        event = self._greeting
        if event is None or event["host"] == self._host:
            return False
        if self._host is not None:
            raise _WorkerDeath(self.address)
        if refuse_versions(event["versions"]) is not None:
            self._executor.refuse(event["address"], event["versions"])
            raise _WorkerDeath
        if not self.ask("begin", pack_order(state)):
            self._greeting = None  # it will say so again
            return False
        self._host, self.address = event["host"], event["address"]
        return True

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the run (`worker.HostedRun`); None if it, or its worker, does not answer."""
        where, client = self._greeting, self._executor.client
        if where is None or client.status != "running":
            return None
        given, address = (self._token, where["host"], method, *arguments), where["address"]
        with suppress(OSError):
            answers = client.run(worker.ask_run, *given, workers=[address], callback_timeout=PATIENCE)
            return answers.get(address)
        return None

    def result(self) -> bytes | None:
        """Return what the task gives (`worker.serve_run`).

        Raises _WorkerDeath: there is nothing, and the run is to be computed again.
        Raises Exception: the fault of the run.
        """
        from distributed import CancelledError, KilledWorker

        future = self._future
        if future is None:
            raise _WorkerDeath
        if future.status == "finished":
            try:
                ending: bytes | None = future.result(_LONGEST)
            except (OSError, CancelledError):
                raise _WorkerDeath from None
            return ending
        fault = future.exception() if future.status == "error" else None
        if isinstance(fault, InterruptedRun):
            raise _WorkerDeath
        if fault is None or isinstance(fault, KilledWorker):  # its data, its worker or the scheduler are gone
            raise _WorkerDeath(self.address)
        raise fault

    def end(self) -> None:
        """Give the task up, where it is not over."""
        if not self.over.is_set():
            self.ask("stop")
        self._executor.expected.pop(self._token, None)
        if self._future is not None:
            self._future.release()


class RemoteRun:
    """A run, or a race and its winner, computed by one worker after another until it is over.

    `state`, `poll`, `compiling`: as for `Executor.compute`.
    """

    def __init__(
        self, executor: DaskExecutor, state: RunState, poll: Poll, compiling: Callable[[bool], object]
    ) -> None:
        self._executor, self._begun, self._poll, self._compiling = executor, state, poll, compiling
        self._kept = state  #: the run as it continues, should its worker die
        self._deaths: list[str] = []
        self._is_stopping = False

    def updates(self) -> Iterator[RunState]:
        """Yield the run about once a second, whenever its state has come, and at its end.

        Raises InterruptedRun: the cluster cannot be reached any more. What was yielded last has its state, if any.
        Raises AcvbError: the run has a fault, or several workers died of it.
        Raises StopRun: it was stopped before it did anything.
        """
        while self._executor.client.status == "running" and not self._is_stopping:
            attempt = _Attempt(self._executor, self._begun.prepared.data)
            try:
                yield from self._watch(attempt)
                return
            except _WorkerDeath as death:
                if address := str(death):
                    self._deaths.append(address)
                if len(self._deaths) >= MOST_DEATHS:
                    raise AcvbError(
                        f"{MOST_DEATHS} workers died while they computed this run: {', '.join(self._deaths)}. Most "
                        "often a worker has too little memory for the run. Use workers with more memory or fewer "
                        "threads, or settings that need less. The log of the workers says more."
                    ) from None
            finally:
                attempt.end()
        yield from self._end_without_worker()

    def _watch(self, attempt: _Attempt) -> Iterator[RunState]:
        """Yield the updates of one attempt."""
        reader, began, is_compiling = Reader(self._begun.prepared), time.monotonic(), False
        next_look, next_state = began + _FIRST_LOOK, began + WRITE_EVERY
        self._pass(attempt)  # the scheduler may not take the run, which can be stopped all the same
        while not attempt.over.wait(_LOOK):
            if attempt.greet(self._kept):
                self._compiling(False)
            if is_held(self._poll) and not self._is_stopping and attempt.address:
                yield from self._hold(attempt, reader)
            self._pass(attempt)
            now = time.monotonic()
            if not attempt.address or now < next_look:
                continue
            reply = attempt.ask("answer", reader.known, now >= next_state)
            if reply is not None:  # otherwise it is silent, or gone: the scheduler will say so
                if reply.is_compiling is not is_compiling:
                    is_compiling = reply.is_compiling
                    self._compiling(is_compiling)
                if reply.update is not None:
                    update = self._read(reader, reply.update)
                    yield update
                    if update.is_due:
                        next_state = _find_next(now, WRITE_EVERY, WRITE_RATIO)
            pause = max(_PAUSE, len(self._executor.expected) / _LOOKS_A_SECOND)
            next_look = _find_next(now, pause, _LOOK_RATIO)
        ending = attempt.result()
        if ending is not None:
            yield self._read(reader, ending)
        elif self._is_stopping:
            yield from self._end_without_worker()

    def _read(self, reader: Reader, message: bytes) -> RunState:
        """Return the run of an update; keep one with its state, from which it continues should the worker die."""
        known, update = reader.known, reader.read(message)
        if update.last.state is None or update.last.verdict is not None:
            return update
        history = History()  # as it is now: the reader's grows
        history.put_rows(0, *update.history.read_rows(0))
        self._kept = replace(update, history=history, last_sweep=None)
        # Its sweep may be the last one that was yielded.
        return replace(update, is_due=True, last_sweep=None if reader.known == known else update.last_sweep)

    def _hold(self, attempt: _Attempt, reader: Reader) -> Iterator[RunState]:
        """Hold the run on its worker and yield it as it is there; the next poll blocks."""
        attempt.ask("pause")
        while not attempt.over.wait(_LOOK):
            reply = attempt.ask("answer", reader.known, False)
            if reply is None:
                return
            if reply.update is not None:
                yield replace(self._read(reader, reply.update), is_due=False)  # who holds it keeps it
            if reply.is_held:
                return

    def _pass(self, attempt: _Attempt) -> None:
        """Pass the poll of the app, which may block; tell the worker what came of it."""
        if self._is_stopping:
            return
        was_held = is_held(self._poll)
        try:
            self._poll()
        except StopRun:
            self._is_stopping = True
            if not attempt.address:
                raise _WorkerDeath from None
            attempt.ask("stop")
        else:
            if was_held:
                attempt.ask("resume")

    def _end_without_worker(self) -> Iterator[RunState]:
        """Yield the run as it was last kept: stopped, or to continue when there is a cluster again."""
        kept = self._kept
        if not self._is_stopping:
            if kept.snapshot is not None:
                yield kept
            raise InterruptedRun(
                f"The connection to the scheduler {self._executor.address} was lost. Continue the run when it is back."
            )
        if kept.snapshot is None:
            raise StopRun
        snapshot = finish_stopped_run(kept.prepared, kept.snapshot)
        kept.history.append(snapshot)
        yield replace(kept, snapshot=snapshot, last_sweep=(kept.prepared, snapshot))


def is_held(poll: Poll) -> bool:
    """Return whether a poll says that its next call will block."""
    return bool(getattr(poll, "is_held", False))


def _find_next(began: float, pause: float, ratio: float) -> float:
    """Return when something is due again: after a pause, or so many times what it took that began then."""
    now = time.monotonic()
    return now + max(pause, ratio * (now - began))


class DaskExecutor(Executor):
    """Computes runs on a Dask cluster.

    A thread of this process watches each run, so that owners take turns. As many runs are computed at a time as the
    workers have cores. With the same versions and the same kind of processor (`DaskWorker.differences`), a run ends
    with the same bits. The methods can be called from any thread.

    `client`: connected to the scheduler.

    Examples
    --------
    >>> import acvb_core
    >>> from distributed import Client  # doctest: +SKIP
    >>> executor = acvb_core.DaskExecutor(Client("tcp://10.0.0.1:8786"))  # doctest: +SKIP
    >>> acvb_core.fit(relation, "acvb0", executor=executor)  # doctest: +SKIP
    """

    def __init__(self, client: distributed.Client) -> None:
        from acvb_core.shards.dask import DaskWorkers

        super().__init__(1)
        self.client, self.address = client, str(client.scheduler.address)
        #: By the token of a run: called with the events by which its task says where it is.
        self.expected: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._topic = f"acvb-{uuid.uuid4().hex}"
        self._found, self._workers = DaskWorkers(client), list["DaskWorker"]()
        self._sent = dict[str, "distributed.Future"]()  # by the key of the data, those used last at the end
        self._sending = threading.Lock()
        self.list_workers()
        threading.Thread(target=self._look_after, name="acvb-cluster", daemon=True).start()

    @classmethod
    def connect(cls, address: str) -> DaskExecutor:
        """Return the executor of the scheduler at an address such as tcp://10.0.0.1:8786, or tls://…

        Dask's own settings say with which certificates: `distributed.comm.tls`.

        Raises AcvbError: Dask is not installed, or no scheduler answers there.
        """
        try:
            from distributed import Security

            from acvb_core.shards.dask import BoundedClient
        except ImportError:
            raise missing_dask() from None
        if address.startswith("tls:") and Security().get_connection_args("client").get("ssl_context") is None:
            raise AcvbError(
                f"{address} needs certificates. Name them in Dask's settings, such as "
                "DASK_DISTRIBUTED__COMM__TLS__CA_FILE: see docs/cluster.md."
            )
        try:
            return cls(BoundedClient(address, timeout=PATIENCE))
        except (OSError, ValueError) as error:
            raise _no_answer(address, str(error)) from None

    @property
    def limit(self) -> int:
        """The runs that the workers compute at once: their cores, at least 1."""
        return max(1, sum(one.cores for one in self._workers if one.refusal is None))

    def compute(
        self,
        state: RunState,
        poll: Poll = no_poll,
        compiling: Callable[[bool], object] = bool,
    ) -> Iterator[RunState]:
        """Yield a run of the cluster about once a second, and at its end; parameters as for `Executor.compute`.

        The poll is called here, every 50 ms or so. The worker of a run that is held computes another one. A run over
        shards is computed here, with its shards on the workers: it is yielded after each sweep.

        Raises AcvbError: the run has a fault, no worker may compute it, or several workers died of it.
        Raises InterruptedRun: the scheduler cannot be reached any more.
        """
        # Elsewhere than over shards, nothing here needs the algorithm: it is not built.
        if state.prepared.row.shards and count_shards(state.prepared.algorithm) > 1:
            with shard_workers(client=self.client, folder=os.environ.get(SHARED_FOLDER) or None):
                yield from super().compute(state, poll, compiling)
        else:
            yield from RemoteRun(self, state, poll, compiling).updates()

    def compute_all(
        self, calls: Iterable[Callable[[Poll], ResultT]], poll: Poll = no_poll
    ) -> Iterator[tuple[int, ResultT]]:
        """Yield the results of calls as they end; as many calls as the workers have cores run side by side.

        Once one has raised, the others are stopped; their results are still yielded before it is raised again.
        """
        common, under_way = _CommonPoll(poll), dict[Future[ResultT], int]()
        fault: BaseException | None = None
        numbered = enumerate(calls)
        with self.release_slot():
            try:
                while True:
                    for number, call in islice(numbered, 0 if fault else max(0, self.limit - len(under_way))):
                        result = Future[ResultT]()
                        under_way[result] = number
                        self.submit(
                            partial(_fulfil, result, call, common), f"acvb-call-{number}", current_owner()
                        )
                    if not under_way:
                        break
                    for result in wait(under_way, return_when=FIRST_COMPLETED).done:
                        number = under_way.pop(result)
                        if result.exception() is None:
                            yield number, result.result()
                        elif fault is None:
                            fault = result.exception()
                            common.stop()
            finally:
                common.stop()
        if fault is not None:
            raise fault

    def list_workers(self) -> list[DaskWorker]:
        """Return the workers there are now; those of before where the scheduler does not answer."""
        with suppress(OSError):
            self._workers = self._found.find()
        return self._workers

    def refuse(self, address: str, versions: dict[str, str]) -> None:
        """Give no more runs to a worker with these versions."""
        self._found.versions[address] = versions
        self.list_workers()

    def submit_run(
        self, token: str, data: Any, greet: Callable[[dict[str, Any]], None]
    ) -> distributed.Future:
        """Hand the task of a run to Dask; `greet` is called with the event by which the task says where it is.

        Raises AcvbError: there are workers, and none of them may compute it.
        Raises OSError: the scheduler does not take the data.
        """
        workers = self._workers
        if not (able := [one.address for one in workers if one.refusal is None]):
            workers = self.list_workers()
            able = [one.address for one in workers if one.refusal is None]
        if workers and not able:
            raise AcvbError(f"No worker can compute this run. {workers[0].address}: {workers[0].refusal}")
        sent = self._send(data)
        self.expected[token] = greet
        # Each time: a restarted scheduler knows no topic.
        self.client.subscribe_topic(self._topic, self._hear)
        chosen = able if len(able) < len(workers) else None
        key = f"acvb-run-{token}"
        return self.client.submit(
            worker.serve_run, token, self._topic, sent, key=key, workers=chosen, pure=False
        )

    def _send(self, data: Any) -> distributed.Future:
        """Return the data on the cluster; they are sent once, and from worker to worker where a run needs them."""
        key = dataset_key(data)
        with self._sending:
            future = self._sent.pop(key, None)
            if future is None or future.status != "finished":
                name, packed = f"acvb-data-{key[:16]}-{uuid.uuid4().hex[:8]}", SentData.pack(data)
                send = partial(self.client.scatter, {name: packed}, asynchronous=True)
                limit = PATIENCE + packed.nbytes / _SLOWEST
                future = self.client.sync(send, callback_timeout=limit)[name]
            self._sent[key] = future
            while len(self._sent) > _KEPT_DATA:
                del self._sent[next(iter(self._sent))]
            return future

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        if (greet := self.expected.get(event[1]["run"])) is not None:
            greet(event[1])

    def _look_after(self) -> None:
        """Tell workers that their runs are still wanted, and see which workers come and go."""
        while self.client.status != "closed":
            time.sleep(_ROUND)
            if self.client.status != "running":
                continue
            self.list_workers()
            for _ in range(self.limit):  # workers may have come
                self._start_next()
            if tokens := list(self.expected):
                with suppress(OSError, ValueError):
                    self.client.run(worker.remember, tokens, on_error="ignore", callback_timeout=PATIENCE)


def _no_answer(address: str, why: str = "") -> AcvbError:
    """Return the error that says that no scheduler answers at an address; by default, it was silent."""
    return AcvbError(
        f"No Dask scheduler answers at {address} ({why or f'nothing within {PATIENCE:g} seconds'}). Start one, with "
        "`acvb cluster` on this machine for instance, or correct the address."
    )


class _CommonPoll:
    """The poll of calls that run side by side: it stops all of them once one has failed."""

    def __init__(self, poll: Poll) -> None:
        self._poll, self._stop = poll, threading.Event()

    def __call__(self) -> None:
        if self._stop.is_set():
            raise StopRun
        self._poll()

    @property
    def is_held(self) -> bool:
        """True when the next call will block."""
        return is_held(self._poll)

    def stop(self) -> None:
        """End the calls at their next polls."""
        self._stop.set()


def _fulfil(result: Future[ResultT], call: Callable[[Poll], ResultT], poll: Poll) -> None:
    try:
        result.set_result(call(poll))
    except BaseException as error:  # raised again by who waits
        result.set_exception(error)


class Places:
    """The places where the app computes runs: this machine and a cluster, and which of them each owner has chosen.

    `here`: the executor of this process.
    `scheduler`: address of the cluster's, "" for none. It is connected when it is first asked for. Owners who have
    chosen nothing compute there.
    """

    def __init__(self, here: Executor, scheduler: str = "") -> None:
        self.here, self.scheduler = here, scheduler
        self._attempt: Future[DaskExecutor] | None = None  # the latest to connect
        self._retry = 0.0
        self._chosen: dict[str, bool] = {}
        self._lock = threading.Lock()

    def is_elsewhere(self, owner: str) -> bool:
        """Return whether the runs of an owner are computed on the cluster."""
        return bool(self.scheduler) and self._chosen.get(owner, True)

    def choose(self, owner: str, elsewhere: bool) -> None:
        """Compute the runs of an owner on the cluster from now on, or here; those under way stay where they are."""
        self._chosen[owner] = elsewhere

    def find(self, owner: str) -> Executor:
        """Return the executor that an owner has chosen.

        Raises AcvbError: it is the cluster's, and no scheduler answers.
        """
        return self.connect() if self.is_elsewhere(owner) else self.here

    def connect(self) -> DaskExecutor:
        """Return the executor of the cluster, reconnected if its scheduler was gone.

        All who ask while a connection is attempted wait for the same attempt, without a lock.

        Raises AcvbError: no scheduler answers, or did some seconds ago; or Dask is not installed.
        """
        with self._lock:
            if self._attempt is None or self._is_over(self._attempt):
                self._attempt = Future()
                # A daemon: the process may end while it waits.
                threading.Thread(
                    target=self._connect, args=(self._attempt,), name="acvb-connect", daemon=True
                ).start()
            attempt = self._attempt
        end = time.monotonic() + PATIENCE
        # Python ends a thread of a page only by waiting for it, so this one gives up when the process ends.
        while not attempt.done() and time.monotonic() < end and threading.main_thread().is_alive():
            wait([attempt], _LOOK_AT_END)
        if not attempt.done():
            raise _no_answer(self.scheduler)
        return attempt.result()

    def _connect(self, attempt: Future[DaskExecutor]) -> None:
        try:
            attempt.set_result(DaskExecutor.connect(self.scheduler))
        except BaseException as error:
            self._retry = time.monotonic() + _RETRY
            attempt.set_exception(error)

    def _is_over(self, attempt: Future[DaskExecutor]) -> bool:
        """Return whether another attempt is due: this one failed some time ago, or its connection is gone."""
        if not attempt.done():
            return False
        if attempt.exception() is not None:
            return time.monotonic() >= self._retry
        return attempt.result().client.status in ("closing", "closed")

    def try_again(self) -> None:
        """Look for the scheduler at once when it is asked for next."""
        self._retry = 0.0
