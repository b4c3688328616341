"""Explanations for networks: the Infinite Relational Model with one clustering for both sides, and its terms."""

from __future__ import annotations

from pages.ui.irm.words_relation import HELD_OUT_NOTE, RELATION
from pages.ui.shared.words import ModelWords

_MODEL = """
You have objects of one kind, friends or web pages or neurons, and you know which are linked to which. The **Infinite
Relational Model** (IRM) of such a **network** sorts the objects, its nodes, into clusters once, and the same clusters
stand at both sides of the table. All pairs of two clusters, or of one cluster with itself, make a **block**, and a
block has one probability of a link. So a cluster need not be a community: its nodes need only be linked alike. There
are clusters with many links inside, hubs that everyone points to, and groups that are linked to each other and hardly
among themselves.

*Infinite* means that the number of clusters is not fixed: the model prefers few, and uses more where the data ask for
them. You give only how many a run begins with, **K**; those that are not needed die out or are merged, and more come
from splits. Pairs that are unknown are left out rather than taken for no links, and every answer comes with its
uncertainty: a node has a probability for each cluster, a block an interval for its density.

No formula gives this answer exactly. The six methods approximate it in different ways, which is why it is worth
watching how they converge and comparing what they end with.
"""

_ONE_OR_TWO = """
**One** is right where the two sides are the same objects, and an object is to have one role: friends, web pages,
proteins. What a node's links out tell and what its links in tell are put together, so fewer data do.

**Two** are right where the sides are different objects (people and events), and worth a try in a directed network
where who sends alike need not receive alike: an account that follows many is one thing, an account that many follow
another. On the Run page a network can be run either way. The held-out pairs are the same, so the **AUC** on the
Compare page tells which predicts better.
"""

_KINDS = """
- **Directed**: A to B and B to A are different links (e-mail, citations). **Undirected**: it is
  one link (friendship, being seen together), and each pair counts once.
- **Self-links** are links of a node to itself. Where they do not count, nothing is said of these pairs and they are
  left out; where they do, they belong to the block of the node's own cluster.

Both are recognised when a file is read: undirected, if every link goes both ways or none does and nothing says that
links have a direction; self-links count, if there is one. The Data page says what was recognised and why, and lets you
say otherwise.
"""

_HELD_OUT = HELD_OUT_NOTE.replace("known entries", "known pairs").replace("same entries", "same pairs") + (
    "A pair of an undirected network is hidden in both directions.\n"
)


def _speak_of_nodes(text: str) -> str:
    """Return what is said of relations, said of networks."""
    for ours, theirs in (
        ("Row and column clusters that are", "Clusters that are"),
        (
            "Row and column assignments are taken as independent",
            "Assignments of the nodes are taken as independent",
        ),
        ("known entry", "known pair"),
        ("The other entries", "The other pairs"),
        ("new entries", "new pairs"),
        ("Entries set aside", "Pairs set aside"),
        ("log probability of an entry", "log probability of a pair"),
        ("seen these entries", "seen these pairs"),
        ("an object's cluster", "a node's cluster"),
        ("average over objects", "average over nodes"),
    ):
        text = text.replace(ours, theirs)
    return text


NETWORK = ModelWords(
    model=_MODEL,
    asides=(
        ("One clustering, or two?", _ONE_OR_TWO),
        ("Directed, undirected, self-links", _KINDS),
        ("Held-out pairs", _HELD_OUT),
    ),
    methods={name: _speak_of_nodes(text) for name, text in RELATION.methods.items()},
    curves=tuple(
        curve._replace(**{part: _speak_of_nodes(getattr(curve, part)) for part in ("what", "read", "beware")})
        for curve in RELATION.curves
    ),
    convergence=RELATION.convergence,
    notes=RELATION.notes,
)
