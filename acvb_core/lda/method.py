"""What every method for LDA is given."""

from __future__ import annotations

from dataclasses import dataclass

from acvb_core.lda.hyper import Concentrations
from acvb_core.lda.state import Tokens
from acvb_core.protocols import Unaveraged


@dataclass(frozen=True, eq=False)
class LdaMethod(Unaveraged):
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
