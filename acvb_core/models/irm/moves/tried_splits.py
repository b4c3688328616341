"""Splits that were tried on a state, for those that look for them again."""

from __future__ import annotations

from typing import NamedTuple

from acvb_core.models.irm.state import IrmState


class SplitTrial(NamedTuple):
    """A state after a split, and what the lower bound gains."""

    gain: float
    state: IrmState


class TriedSplits:
    """The clusters of a state that were tried to split; of the splits the `most` best, as each holds a whole state."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._trials: dict[tuple[str, int], SplitTrial | None] = {}

    def add(self, domain: str, k: int, trial: SplitTrial | None) -> None:
        """Add the best split of a cluster; None where there is none that may be wanted."""
        self._trials[domain, k] = trial
        gains = {key: kept.gain for key, kept in self._trials.items() if kept is not None}
        if len(gains) > self._most:
            self._trials[min(reversed(gains), key=gains.__getitem__)] = None

    def has_tried(self, domain: str, k: int) -> bool:
        """Return whether a cluster was tried."""
        return (domain, k) in self._trials

    def find(self, domain: str, k: int) -> SplitTrial | None:
        """Return the split of a cluster that was tried; None where it is not among the best."""
        return self._trials[domain, k]
