"""What every method for LDA is given."""

from __future__ import annotations

from dataclasses import dataclass

from acvb_core.core.protocols import UnaveragedMethod
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.state import Tokens

#: A run is not judged before this sweep …
BEGINNING = 20
#: … nor, up to this one, in a sweep that moves more than the one before.
RISING_UNTIL = 100


def is_beginning(age: int, change: float, before: float) -> bool:
    """Whether a run may still be leaving the even start, where nothing seems to move.

    The topics begin all but alike, and with many of them what is watched stands still for some sweeps (to a few
    millionths with 320 topics) while their differences grow, until they part.

    Parameters
    ----------
    age : int
        Sweeps done.
    change, before : float
        L1 change of the responsibilities in the last sweep and in the one before.
    """
    return age < BEGINNING or (age < RISING_UNTIL and change > before)


@dataclass(frozen=True, eq=False)
class LdaMethod(UnaveragedMethod):
    """A method bound to a corpus.

    Attributes
    ----------
    tokens : Tokens
    n_topics : int
    start : Concentrations
        Hyper-parameters to start from.
    """

    tokens: Tokens
    n_topics: int
    start: Concentrations


@dataclass(frozen=True, eq=False)
class VariationalMethod(LdaMethod):
    """A variational method.

    Attributes
    ----------
    learn : bool
        Learn the hyper-parameters.
    shrink : float
        A topic with less than this share of the tokens is dropped.
    """

    learn: bool = True
    shrink: float = 1e-5
