"""What the user asked a reader to do, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acvb_core.data.relations.sides import DOMAINS, Domains
from acvb_core.data.sources.objects import MAX_SIDE
from acvb_core.data.sources.records import BLOCK_BYTES
from acvb_core.errors import ParameterError


@dataclass(frozen=True)
class ReadOptions:
    """Settings of one read that are not part of the file's layout.

    Attributes
    ----------
    name : str
        Name of the relation.
    threshold : float or None
        A number above it is a link (None: 0).
    shape : (int, int) or None
    row_nodes, column_nodes : list of str or None
    same_nodes : bool
        Both sides are the same objects.
    unlisted_missing : bool
        Edge lists: a pair that is not listed is missing, not 0.
    domains : "auto", "one" or "two"
        Whether both sides are taken as the same objects.
    directed, self_links : bool or None
        Of a network: what its links are (None: as it looks).
    weight : str, False or None
        Graph files: which value of an edge is its weight, False if none is (None: guessed).
    encoding : str or None
    block_bytes : int
        Bytes read at a time.
    """

    name: str
    threshold: float | None = None
    shape: tuple[int, int] | None = None
    row_nodes: list[str] | None = None
    column_nodes: list[str] | None = None
    same_nodes: bool = False
    unlisted_missing: bool = False
    domains: Domains = "auto"
    directed: bool | None = None
    self_links: bool | None = None
    weight: str | Literal[False] | None = None
    encoding: str | None = None
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        if self.domains not in DOMAINS:
            raise ParameterError(f"domains is one of {', '.join(DOMAINS)}, not {self.domains!r}.")
        if self.domains == "two" and not (self.directed is None and self.self_links is None):
            raise ParameterError(
                "directed and self_links are for networks: leave them out, or give domains='one'."
            )
        shape = self.shape
        if shape is not None and not (
            len(shape) == 2 and all(isinstance(n, int) and 0 < n <= MAX_SIDE for n in shape)
        ):
            raise ParameterError(
                f"The shape must be two whole numbers from 1 to {MAX_SIDE:,}, not {shape!r}."
            )

    @property
    def tells_network(self) -> bool:
        """Whether something is asked for that only a network has."""
        return self.same_nodes or self.directed is not None or self.self_links is not None

    @property
    def wants_network(self) -> bool:
        """Whether both sides are to be the same objects, whatever the file looks like."""
        return self.domains == "one" or (self.domains == "auto" and self.tells_network)
