"""What the tests of the pages know of networks: a small one with two groups, as files and as data."""

from __future__ import annotations

from functools import cache

from acvb_core.data.relation import Network, Relation
from acvb_core.data.report import ReadReport
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import WORKSPACE

NAMES = ["Ann", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal"]
#: Everyone in a half knows everyone else there, and Dan knows Eve.
PAIRS = [(a, b) for half in (NAMES[:4], NAMES[4:]) for i, a in enumerate(half) for b in half[i + 1 :]] + [
    ("Dan", "Eve")
]
# One of the pairs is not in the order of the alphabet: a list of undirected links may well have all of them so.
FRIENDS = ("source,target\n" + "".join(f"{a},{b}\n" for a, b in PAIRS[:-1]) + "Eve,Dan\n").encode()
SORTED_FRIENDS = ("source,target\n" + "".join(f"{a},{b}\n" for a, b in PAIRS)).encode()
HOUSES = (
    "name,house\n" + "".join(f"{name},{'west' if i < 4 else 'east'}\n" for i, name in enumerate(NAMES))
).encode()
GRAPHML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    '<key id="d0" for="node" attr.name="house" attr.type="string"/>\n<graph edgedefault="undirected">\n'
    + "".join(
        f'<node id="{name}"><data key="d0">{"west" if i < 4 else "east"}</data></node>\n'
        for i, name in enumerate(NAMES)
    )
    + "".join(f'<edge source="{a}" target="{b}"/>\n' for a, b in PAIRS)
    + "</graph>\n</graphml>\n"
).encode()


@cache
def friends(*, directed: bool = False, name: str = "friends", known: bool = False) -> Relation:
    """The network itself."""
    ones = [[int((a, b) in PAIRS) for b in NAMES] for a in NAMES]
    houses = {"house": ["west"] * 4 + ["east"] * 4} if known else {}
    return Relation.build(
        ones, row_labels=NAMES, name=name, row_kind="person", network=Network(directed), attributes=houses
    )


@cache
def fitted(relation: Relation, method: str = "acvb0", model: str | None = None, **settings: object) -> Result:
    """A finished run on it."""
    return fit(relation, method, model=model, **{"k_rows": 4, **settings})


def in_use(relation: Relation) -> None:
    """Make a network the data in use."""
    Workspace(WORKSPACE).set_dataset(Dataset.fresh(relation, ReadReport(relation.name, ()), relation.name))
