"""Explanations for networks: the Infinite Relational Model with one clustering for both sides, and its terms."""

from __future__ import annotations

from pages.ui.irm.words_relation import HELD_OUT_NOTE, RELATION
from pages.ui.shared.words import ModelWords

_MODEL = """
You have objects of one kind, such as friends, web pages or neurons, and you know which are linked. The **Infinite
Relational Model** (IRM) of such a **network** sorts the objects, its nodes, into clusters:

- Two clusters, or one cluster with itself, make a **block**. Each block has one link probability.
- A cluster need not be a community. Its nodes only need to link alike.
- So there are clusters with many links inside, hubs that everyone points to, and groups that link to each other but
  hardly among themselves.

*Infinite* means that you do not fix the number of clusters:

- You choose only the starting number, **K**.
- Clusters that are not needed die out or are merged. Splits may add more.

What else to know:

- Unknown pairs are left out. They do not count as missing links.
- Every answer says how sure it is: each node has a probability for each cluster, each block an interval for its
  density.
- No formula gives the exact answer. The six methods approximate it in different ways, so compare their results.
"""

_ONE_OR_TWO = """
Choose **one** clustering if each object has one role: friends, web pages, proteins. Outgoing and incoming links are
then used together, so fewer data are enough.

Choose **two** clusterings in two cases:

- Rows and columns are different objects, such as people and events.
- Sending and receiving differ: an account that follows many is one thing, an account that many follow another.

The Run page offers both ways for a network. They hide the same pairs, so compare the **AUC** (area under the ROC curve)
on the Compare page to see which predicts better.
"""

_KINDS = """
- **Directed**: A to B and B to A are different links (e-mail, citations).
- **Undirected**: they are one link (friendship, being seen together), and each pair counts once.
- **Self-links** are links of a node to itself. If they do not count, these pairs are left out. If they do, they belong
  to the block of the node's own cluster.

All this is recognised when a file is read:

- A network is undirected if every link goes both ways or none does, and nothing in the file says otherwise.
- Self-links count if there is one.
- The Data page shows what was recognised and why, and lets you change it.
"""

_HELD_OUT = HELD_OUT_NOTE.replace("known entries", "known pairs").replace("same entries", "same pairs") + (
    "- A pair of an undirected network is hidden in both directions.\n"
)


def _speak_of_nodes(text: str) -> str:
    """Return what is said of relations, said of networks."""
    for ours, theirs in (
        ("Row and column clusters", "Clusters"),
        ("known entry", "known pair"),
        ("the other entries", "the other pairs"),
        ("new entries", "new pairs"),
        ("these entries", "these pairs"),
        ("predicts entries", "predicts pairs"),
        ("probability of an entry", "probability of a pair"),
        ("an object's cluster", "a node's cluster"),
        ("over objects", "over nodes"),
        ("all objects", "all nodes"),
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
    advice=RELATION.advice,
)
