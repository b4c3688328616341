"""What the user asked a reader to do, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acvb_core.data.relations.sides import Domains
from acvb_core.data.sources.records import BLOCK_BYTES


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

    @property
    def wants_network(self) -> bool:
        """Whether both sides are to be the same objects, whatever the file looks like."""
        told = self.same_nodes or self.directed is not None or self.self_links is not None
        return self.domains == "one" or (self.domains == "auto" and told)
