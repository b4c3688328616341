"""State of the collapsed methods: counts that never change once published, and responsibilities handed on."""

from __future__ import annotations

from dataclasses import dataclass

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import Counts, Singles, add_counts
from acvb_core.models.lda.state import Tokens, copy_counts, zero_counts


@dataclass(frozen=True, eq=False)
class CollapsedState:
    """After a whole sweep.

    Attributes
    ----------
    buffers : SweepBuffers
        The responsibilities, shared by all states of a run: they are those of the newest.
    counts : Counts
    variances : Counts or None
        Variances of the counts, second order only.
    hyper : Concentrations
    age : int
        Sweeps done.
    learning : bool
        The hyper-parameters are still being learned.
    change : float
        Mean over tokens of the L1 change of the responsibilities in the last sweep.
    """

    buffers: SweepBuffers
    counts: Counts
    variances: Counts | None
    hyper: Concentrations
    age: int = 0
    learning: bool = False
    change: float = 0.0


class SweepBuffers:
    """The responsibilities of all pairs, and a sweep under way.

    A run holds one copy of the responsibilities, by far its largest array; each sweep writes over it. The next call
    continues a sweep that was cut short, and gives the same bits.

    Attributes
    ----------
    q : ndarray of float32, shape (n_pairs, K)
    age : int
        Sweeps done.
    at : int
        Document that the sweep under way comes to next; 0 between sweeps.
    counts, variances
        Of the sweep under way.
    moved, loo : float
        What the sweep under way has summed up.
    """

    def __init__(self, q: Singles) -> None:
        self.q = q
        self.age = 0
        self.at = 0
        self.moved = 0.0
        self.loo = 0.0
        self.counts: Counts | None = None
        self.variances: Counts | None = None

    def belongs_to(self, state: CollapsedState) -> bool:
        """Return whether the responsibilities are still those of this state: no sweep of it has begun."""
        return self.age == state.age and self.at == 0

    def begin(self, state: CollapsedState) -> tuple[Counts, Counts | None]:
        """Begin a sweep of a state, or go on with it; return the counts to be written to.

        Raises
        ------
        ValueError
            The state was swept before.
        """
        if self.age != state.age:
            raise ValueError(
                f"the state after sweep {state.age} was swept already: its responsibilities were handed on; "
                "start a run of its own to go another way"
            )
        if self.at == 0 or self.counts is None:
            self.counts = copy_counts(state.counts)
            self.variances = None if state.variances is None else copy_counts(state.variances)
            self.moved = self.loo = 0.0
        return self.counts, self.variances

    def end(self) -> None:
        """End the sweep under way."""
        self.age += 1
        self.at = 0
        self.counts = self.variances = None


def sum_counts(
    tokens: Tokens, q: Singles, checkpoint: Checkpoint = no_checkpoint, *, spread: bool = False
) -> Counts:
    """Return the expected counts of responsibilities, sums of c q; with `spread` their variances, of c q (1 - q)."""
    counts = zero_counts(tokens, q.shape[1])
    for begin, end in tokens.chunks(q.shape[1]):
        checkpoint()
        add_counts(begin, end, tokens.documents, q, counts, spread)
    return counts
