"""The report of a race of restarts: who was in it, how it stands, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from acvb_core.engine.snapshot import SweepRecord

if TYPE_CHECKING:
    import pandas as pd

#: Is said of a run that was chosen by what is held out.
TOO_GOOD = "Its held-out score chose it, and is too good on average."
#: What restarts may be ranked by, in words.
RACE_CRITERIA = {
    "lower_bound": "lower bound",
    "pseudo_loo": "pseudo leave-one-out",
    "heldout": "held-out log likelihood",
}


def n_survivors(n: int) -> int:
    """Return how many of n candidates go on after a rung: the better half, the one in the middle included."""
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
    judged_by: str = (
        "lower_bound"  #: field of the candidates that they are ranked by, a key of `RACE_CRITERIA`
    )

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
