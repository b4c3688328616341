"""Records of a run: a snapshot of each sweep, the history of all sweeps, and the report of a race."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array, Posterior

if TYPE_CHECKING:
    import pandas as pd


class Verdict(StrEnum):
    """The end of a run. Reaching the cap is not convergence."""

    CONVERGED = "CONVERGED"
    MAX_SWEEPS = "MAX_SWEEPS"
    STOPPED = "STOPPED"
    DIVERGED = "DIVERGED"


#: Distance below which a sweep agrees with the mean (`scaled_change`, L1, mean over objects): half a percent of an
#: object's probability is in another cluster.
SETTLED = 0.01
#: The sweeps of a converged run in words.
MOTION = {True: "settled", False: "fluctuations remain"}
#: Said of converged runs that start at random: they end near their start.
ELSEWHERE = "another seed may end elsewhere"
#: Kinds of moves, as columns of a history: clusters merged or split; features dropped, recoded, or turned to their
#: complement; and, which changes nothing else, workers that were lost and replaced, and states of shards that could not
#: be saved.
MOVES = ("merged", "split", "dropped", "recoded", "turned", "lost", "unsaved")


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """The run after a sweep."""

    sweep: int  #: sweeps done
    cpu_seconds: float = 0.0  #: processor time of the method itself (start and sweeps), summed over the run
    wall_seconds: float = 0.0  #: clock time of the run, pauses left out
    diagnostics_seconds: float = 0.0  #: processor time spent on diagnostics, which the method does not need
    #: `lower_bound`, `pseudo_loo`: nats; None where not evaluated in this sweep. The bound is that of the answer (of
    #: the mean, where averaged), the pseudo leave-one-out that of the sweep.
    lower_bound: float | None = None
    pseudo_loo: float | None = None
    change: float | None = None  #: mean over objects of the L1 change of the responsibilities in this sweep
    #: `mean_change`, `scaled_change`: the same for their running mean, and that times the number of sweeps in it: the
    #: distance of the sweep from the mean before it.
    mean_change: float | None = None
    scaled_change: float | None = None
    samples: int = 0  #: sweeps in the running mean; 0 during burn-in and where nothing is averaged
    burn_in: bool
    effective_k: Mapping[str, int]  #: clusters left in each domain
    hyper: Mapping[str, float]
    #: The model's own diagnostics; empty where not evaluated in this sweep.
    extras: Mapping[str, float] = field(default_factory=dict)
    #: The model's scores (`ModelSpec.score_type`); None if nothing is held out or it was not scored in this sweep.
    heldout: Any = None
    verdict: Verdict | None = None  #: None while the run continues
    posterior: Posterior = field(repr=False)  #: the answer so far
    state: Any = field(repr=False)  #: what the run continues from
    memory: Any = field(repr=False, default=None)  #: what the engine itself keeps between sweeps
    #: Clusters merged and split, or features dropped, at the end of this sweep (`MOVES`); None if there were none.
    moves: Mapping[str, int] | None = None
    #: The part of the answer that is kept of this sweep, the last one or one that `is_excerpted`; None if none is.
    excerpt: Mapping[str, Array] | None = field(repr=False, default=None)
    #: How often all the data were gone through: the number of sweeps, or less where a sweep is a part of the data.
    passes: float = 0.0

    @property
    def has_settled(self) -> bool | None:
        """True when the last sweep of a converged run lies close to the mean, which is the answer; None without a mean.

        A mean over many sweeps may hardly move while the sweeps circle around it.
        """
        if self.verdict is not Verdict.CONVERGED or self.scaled_change is None:
            return None
        return self.scaled_change < SETTLED

    def release_state(self) -> SweepRecord:
        """Return the snapshot without the state, by far the largest part, when the run cannot be extended."""
        return replace(self, state=None) if self.verdict in (Verdict.CONVERGED, Verdict.DIVERGED) else self

    def release_posterior(self, read: Callable[[str], Array], *, is_new: bool = False) -> SweepRecord:
        """Return the snapshot without the arrays of the answer; `read` gives them back, by their names in the store.

        `is_new`: they were just read, and will be shown.
        """
        known = self.posterior.arrays if is_new else None
        arrays = StoredArrays(tuple(self.posterior.arrays), lambda name: read(f"posterior_{name}"), known)
        return replace(self, posterior=replace(self.posterior, arrays=arrays))

    def hold_posterior(self) -> None:
        """Hold the arrays of the answer again."""
        if isinstance(self.posterior.arrays, StoredArrays):
            self.posterior.arrays.hold()

    def row(self) -> dict[str, float]:
        """Return the diagnostics as one flat row; NaN, or no entry, where there is none."""
        row = {name: getattr(self, name) for name in _DIAGNOSTICS}
        row |= {f"effective_k_{domain}": k for domain, k in self.effective_k.items()}
        row |= {**self.hyper, **self.extras}
        row |= {kind: count for kind, count in (self.moves or {}).items() if count}
        if self.heldout is not None:
            row |= {f"heldout_{name}": value for name, value in self.heldout._asdict().items()}
        return {name: np.nan if value is None else float(value) for name, value in row.items()}


#: Fields of a record that are columns of a history, in this order.
_DIAGNOSTICS = (
    "sweep", "cpu_seconds", "wall_seconds", "diagnostics_seconds", "lower_bound", "pseudo_loo", "change",
    "mean_change", "scaled_change", "samples", "burn_in", "passes",
)  # fmt: skip
_ROWS = "history"
#: The arrays that were read last, of all runs: a page asks for the same ones several times.
_recent: deque[Array] = deque(maxlen=16)


class StoredArrays(Mapping[str, Array]):
    """Arrays by name, each in memory only while it is used.

    `known`: those that were just read, and may be asked for at once.
    `read`: returns the array of a name; it may raise what reading a file raises.
    """

    def __init__(
        self, names: Sequence[str], read: Callable[[str], Array], known: Mapping[str, Array] | None = None
    ) -> None:
        self._names, self._read = tuple(names), read
        self._held: dict[str, Array] = {}
        self._used = WeakValueDictionary(known or {})
        _recent.extend((known or {}).values())

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        array = self._held.get(name, self._used.get(name))
        if array is None:
            array = self._used[name] = self._read(name)
            _recent.append(array)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes a plain dictionary of the arrays: who gets it does not have the store."""
        return dict, (dict(self),)

    def hold(self) -> None:
        """Hold all arrays from now on: their file is to be replaced."""
        self._held = {name: self[name] for name in self._names}


#: Excerpts that a history has at most, and the bytes that they take at most.
MOST_EXCERPTS, MOST_EXCERPT_BYTES = 32, 8_000_000
#: An excerpt is taken when a run has done so many times the sweeps of the one before.
_EXCERPT_RATIO = 1.3


def excerpt_name(sweep: int, name: str) -> str:
    """Return the name in the store of an array of the excerpt of a sweep."""
    return f"excerpt_{sweep}_{name}"


def is_excerpted(sweep: int) -> bool:
    """Return whether an excerpt of a sweep is kept: of the first ones each, then of ever fewer, 16 of the first 100."""
    if sweep < 2:
        return sweep == 1
    now, before = (math.floor(math.log(number, _EXCERPT_RATIO)) for number in (sweep, sweep - 1))
    return now != before


class History:
    """A growing table with one row a sweep, and excerpts of the answer after some of the sweeps.

    One thread appends; others read without a lock: a row is complete before the length that shows it is
    published, written rows do not change, and growing makes a new buffer.
    """

    def __init__(self) -> None:
        self._published: tuple[tuple[str, ...], NDArray[np.float64] | StoredArrays, int] = (
            (),
            np.empty((0, 0)),
            0,
        )
        self._last: dict[str, float] = {}  #: of rows that are not held: the last number in each column
        self._excerpts: dict[int, Mapping[str, Array]] = {}

    def append(self, snapshot: SweepRecord) -> None:
        """Add a row; a snapshot of the last sweep replaces its row."""
        row = snapshot.row()
        columns, buffer, length = self._read()
        if not length:
            columns, buffer = tuple(row), np.empty((256, len(row)))
        if not row.keys() <= set(columns):
            # What is evaluated now and then begins to be known: earlier rows do not have it.
            added = [name for name in row if name not in columns]
            columns = (*columns, *added)
            buffer = np.hstack([buffer, np.full((len(buffer), len(added)), np.nan)])
        same_sweep = length > 0 and buffer[length - 1, 0] == row["sweep"]
        if same_sweep:
            buffer, length = buffer.copy(), length - 1
        elif length == len(buffer):
            buffer = np.concatenate([buffer, np.empty_like(buffer)])
        buffer[length] = [row.get(name, np.nan) for name in columns]
        self._published = (columns, buffer, length + 1)
        if snapshot.excerpt:
            self.add_excerpts({snapshot.sweep: snapshot.excerpt})

    @property
    def excerpts(self) -> Mapping[int, Mapping[str, Array]]:
        """The excerpts of the answer that are kept, by the number of the sweep, the first sweep first."""
        return self._excerpts

    def add_excerpts(self, more: Mapping[int, Mapping[str, Array]]) -> None:
        """Keep excerpts of later sweeps; once there are too many, every other one before the last goes.

        An extended run gives up that of its former end.
        """
        before = self._excerpts.items()
        kept = {sweep: one for sweep, one in before if not more or is_excerpted(sweep)} | dict(more)
        while len(kept) > MOST_EXCERPTS or _count_bytes(kept) > MOST_EXCERPT_BYTES:
            still = list(kept)[::-2] if len(kept) > 1 else []  # one alone may be too large
            kept = {sweep: kept[sweep] for sweep in reversed(still)}
        self._excerpts = kept

    def read_rows(
        self, first: int
    ) -> tuple[tuple[str, ...], NDArray[np.float64], dict[int, Mapping[str, Array]]]:
        """Return the columns, a copy of the rows from `first` on, shape (n, columns), and their excerpts."""
        columns, buffer, length = self._read()
        rows = buffer[first:length].copy()
        later = {sweep: one for sweep, one in self._excerpts.items() if len(rows) and sweep >= rows[0, 0]}
        return columns, rows, later

    def put_rows(
        self,
        first: int,
        columns: tuple[str, ...],
        rows: NDArray[np.float64],
        excerpts: Mapping[int, Mapping[str, Array]],
    ) -> None:
        """Put rows from `first` on, in place of those that are there; `columns` begins with those there are."""
        self.add_excerpts(excerpts)
        before, buffer, _ = self._read()
        values = np.full((first + len(rows), len(columns)), np.nan)
        values[:first, : len(before)] = buffer[:first]
        values[first:] = rows
        self._published = (columns, values, len(values))

    def _read(self) -> tuple[tuple[str, ...], NDArray[np.float64], int]:
        columns, rows, length = self._published
        return columns, rows[_ROWS] if isinstance(rows, StoredArrays) else rows, length

    def release(self, read: Callable[[str], Array]) -> None:
        """Let go of the rows and excerpts; `read` gives them back by name: "history" is the rows."""
        columns, rows, length = self._published
        if not isinstance(rows, StoredArrays):
            self._last = {name: self.last_value(name) for name in columns}
        self._published = (columns, StoredArrays((_ROWS,), read), length)

        def read_excerpt(sweep: int, name: str) -> Array:
            return read(excerpt_name(sweep, name))

        self._excerpts = {
            sweep: StoredArrays(tuple(one), partial(read_excerpt, sweep))
            for sweep, one in self._excerpts.items()
        }

    def hold(self) -> None:
        """Hold the rows and excerpts again, to add others."""
        self._published, self._last = self._read(), {}
        self._excerpts = {sweep: dict(one) for sweep, one in self._excerpts.items()}

    def __len__(self) -> int:
        return self._published[2]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, "sweep" first; empty before the first row."""
        return self._published[0]

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one column so far, shape (n,); all NaN for an unknown name."""
        if name not in self.columns:
            return np.full(len(self), np.nan)
        columns, buffer, length = self._read()
        return buffer[:length, columns.index(name)]

    def last_value(self, name: str) -> float:
        """Return the last finite number in a column; NaN without any. Rows that are not held are not read for it."""
        if name in self._last or name not in self.columns:
            return self._last.get(name, np.nan)
        values = self.column(name)
        finite = values[np.isfinite(values)]
        return float(finite[-1]) if len(finite) else np.nan

    def frame(self) -> pd.DataFrame:
        """Return a copy as a frame; sweep, samples, burn_in and effective_k_* as whole numbers."""
        import pandas as pd

        columns, buffer, length = self._read()
        frame = pd.DataFrame(buffer[:length].copy(), columns=list(columns))
        whole = [
            name for name in columns if name in ("sweep", "samples", "burn_in") or "effective_k_" in name
        ]
        return frame.astype(dict.fromkeys(whole, "int64"))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> History:
        """Return the history that `frame` gave."""
        history = cls()
        values = np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
        history._published = (tuple(frame.columns), values, len(frame))
        return history


def _count_bytes(excerpts: Mapping[int, Mapping[str, Array]]) -> int:
    return sum(array.nbytes for excerpt in excerpts.values() for array in excerpt.values())


#: Is said of a run that was chosen by what is held out.
TOO_GOOD = "Its held-out score chose it, and is too good on average."
#: What restarts may be ranked by, in words.
RACE_CRITERIA = {
    "lower_bound": "lower bound",
    "pseudo_loo": "pseudo leave-one-out",
    "heldout": "held-out log likelihood",
}


def n_survivors(n: int) -> int:
    """Return how many of n candidates continue after a rung: the better half, the one in the middle included."""
    return (n + 1) // 2


def states_at_once(restarts: int) -> int:
    """Return how many runs' states a race holds at most: the survivors of a rung, and the run that is under way."""
    return 1 if restarts == 1 else n_survivors(restarts) + 1


@dataclass(frozen=True)
class Candidate:
    """One of the runs in a race."""

    seed: int
    sweeps: int = 0  #: sweeps it did
    cpu_seconds: float = 0.0  #: processor time of its start and sweeps
    #: `lower_bound`, `pseudo_loo`, `heldout`: nats, when last evaluated; `heldout` is the mean log likelihood of what
    #: is held out. None before, and where its model or method has none.
    lower_bound: float | None = None
    pseudo_loo: float | None = None
    heldout: float | None = None
    #: Sweep at which it was beaten; None for the winner, and for all that were in when a race was stopped.
    out_after: int | None = None

    def after(self, snapshot: SweepRecord) -> Candidate:
        """Return the candidate after a sweep."""
        values = {name: criterion_value(snapshot, name) for name in RACE_CRITERIA}
        measured: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        return replace(self, sweeps=snapshot.sweep, cpu_seconds=snapshot.cpu_seconds, **measured)


def criterion_value(snapshot: SweepRecord, criterion: str) -> float | None:
    """Return what a run is ranked by, as a snapshot has it; of the held-out scores, the first."""
    if criterion == "heldout":
        return None if snapshot.heldout is None else float(snapshot.heldout[0])
    value: float | None = getattr(snapshot, criterion)
    return value


@dataclass(frozen=True)
class RaceReport:
    """A race, under way or over."""

    candidates: tuple[Candidate, ...]  #: all of them, by seed
    leader: int  #: seed of the run that is ahead, and in the end of the winner
    sizes: tuple[int, ...]  #: how many were in from the start, after the first rung, after the second …
    rung: int | None = None  #: sweep that all who are in are being brought to; None when the race is over
    running: int | None = None  #: seed of the run under way
    #: Sweeps to come at most, those of the winner after the race included; 0 when it is over.
    sweeps_left: int = 0
    #: Field of the candidates that they are ranked by, a key of `RACE_CRITERIA`.
    judged_by: str = "lower_bound"

    @property
    def first_seed(self) -> int:
        """Seed of the first candidate; the others count up from it."""
        return self.candidates[0].seed

    @property
    def restarts(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    @property
    def is_decided(self) -> bool:
        """True when all but one were beaten."""
        return sum(candidate.out_after is None for candidate in self.candidates) == 1

    @property
    def caution(self) -> str:
        """A warning about the held-out score of the winner; empty if it did not choose the winner."""
        return TOO_GOOD if self.judged_by == "heldout" else ""

    @property
    def sweeps(self) -> int:
        """Sweeps of all candidates together."""
        return sum(candidate.sweeps for candidate in self.candidates)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all candidates together."""
        return sum(candidate.cpu_seconds for candidate in self.candidates)

    def with_leader(self, snapshot: SweepRecord) -> RaceReport:
        """Return the same race with its leader after a later sweep."""
        candidates = (one.after(snapshot) if one.seed == self.leader else one for one in self.candidates)
        return replace(self, candidates=tuple(candidates))

    def table(self) -> pd.DataFrame:
        """Return one row a candidate, by seed, with the columns of `Candidate`; missing where there is no value."""
        import pandas as pd

        frame = pd.DataFrame([asdict(candidate) for candidate in self.candidates])
        return frame.astype(
            dict.fromkeys(("cpu_seconds", *RACE_CRITERIA), "float64") | {"out_after": "Int64"}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the race in plain values, the totals among them."""
        return {
            "restarts": self.restarts,
            "first_seed": self.first_seed,
            "winner": self.leader if self.is_decided else None,
            "leader": self.leader,
            "sizes": list(self.sizes),
            "judged_by": self.judged_by,
            "sweeps": self.sweeps,
            "cpu_seconds": self.cpu_seconds,
            "entrants": [asdict(candidate) for candidate in self.candidates],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> RaceReport:
        """Return the race, which is over, that `to_dict` gave."""
        candidates = tuple(Candidate(**candidate) for candidate in plain["entrants"])
        return cls(candidates, plain["leader"], tuple(plain["sizes"]), judged_by=plain["judged_by"])
