"""Explanations for relations and networks: the Infinite Relational Model, its curves and its methods."""

from __future__ import annotations

from acvb_core.models.irm.spec import MOVES_EVERY, MOVES_FROM, MOVES_UNTIL, MOVES_UNTIL_AFTER_CHAIN
from pages.ui.shared.words import Curve, ModelWords

_CURVES = (
    Curve(
        "Lower bound",
        "Bound",
        ":material/trending_up:",
        "How well the clusters explain the data, after a charge for complexity: a lower bound on the log probability "
        "of the data under the model, in nats (natural logarithms). For averaged methods it is the bound of the "
        "average.",
        "Higher is better, between runs on the same data. VB raises it in every sweep.",
        "The bounds of CVB, CVB0 and their averaged forms may dip; nothing is wrong then. The bound does not show how "
        "well new entries are predicted.",
    ),
    Curve(
        "Leave-one-out score",
        "Leave-one-out",
        ":material/filter_1:",
        "Each known entry is predicted from all the others. The score is the sum of the logarithms of these "
        "probabilities, in nats (the *pseudo leave-one-out* log likelihood). CVB and CVB0 compute it at no extra cost.",
        "Higher is better. CVB and CVB0 have converged when it stops changing.",
        "It is somewhat too optimistic, because the other entries have already adapted to the one left out. Held-out "
        "scores are not.",
    ),
    Curve(
        "Change in assignments",
        "Change",
        ":material/waves:",
        "How much an object's cluster probabilities (written *q*) changed in a sweep, averaged over objects. 0: not at "
        "all. 2: all objects moved to other clusters.",
        "Thin line: the sweeps themselves. Thick line: their average. The sweeps may keep changing for ever, as CVB0 "
        "can circle. The average cannot: ACVB0 and ACVB have converged when its change falls below the tolerance.",
        "An average over s sweeps changes by at most 2/s, whatever the sweeps do (dotted line). So a small change "
        "alone proves little; the next number says more.",
    ),
    Curve(
        "s × change",
        "s × change",
        ":material/straighten:",
        "Shown when you hover over the change of the average: that change times the number s of averaged sweeps. It "
        "measures how far the latest sweep is from the average.",
        "Falling to 0: the sweeps agree with the average. Level: they keep moving around it.",
        "Level is not failure: averaging was made for this case.",
    ),
    Curve(
        "Effective clusters",
        "Clusters",
        ":material/workspaces:",
        "Row and column clusters in use. A run starts with K. Clusters it does not need die out or are merged; splits "
        "may add some.",
        "If it stays the same and well below K, K was large enough.",
        "If it ends at K or above, try a larger K.",
    ),
    Curve(
        "Held-out scores",
        "Held-out",
        ":material/quiz:",
        "How well the run predicts entries that were hidden from it, zeros as well as ones:\n"
        "- *Log likelihood*: mean log probability of an entry, in nats.\n"
        "- *Skill*: 0 % is no better than guessing the density, 100 % is perfect.\n"
        "- *AUC* (area under the ROC curve): how often a link is ranked above a non-link.\n"
        "- *AP* (average precision): quality of that ranking, to be compared with the density.",
        "Higher is better. This is the fair way to compare methods, because no run has seen these entries.",
        "Small differences are noise. Try several seeds, or hold out more.",
    ),
)

_MODEL = """
You have two kinds of objects, such as people and events, and you know who is linked to what. The **Infinite Relational
Model** (IRM) sorts this table of links:

- The rows are sorted into clusters, and so are the columns.
- A row cluster and a column cluster together make a **block**. Each block has one link probability.
- Sorted by cluster, the table falls into blocks that are nearly full or nearly empty.

*Infinite* means that you choose only the starting number of clusters, **K**. Clusters that are not needed die out or
are merged. Splits may add more.

- Unknown entries are left out. They do not count as zeros.
- Every answer says how sure it is: each object has a probability for each cluster, each block an interval for its
  density.
- No formula gives the exact answer. The six methods approximate it in different ways, so compare their results.
"""

_METHODS = {
    "vb": "Variational Bayes. It treats cluster assignments and block probabilities as independent. Every sweep raises "
    "the lower bound until it stops rising, often at an answer that is too certain.",
    "cvb": "Collapsed variational Bayes. It sums over all block probabilities first (*collapsing*), so it assumes less "
    "than VB. It follows the mean and the variance of the uncertain counts.",
    "cvb0": "Like CVB, but it follows only the means of the counts: faster, and often as good or better. It may circle "
    "between answers and never come to rest.",
    "acvb": "Averaged CVB. Runs CVB and averages its cluster probabilities once the first sweeps (*burn-in*) are over. "
    "The average is the answer, and it always converges.",
    "acvb0": "Averaged CVB0. Runs CVB0 and averages its cluster probabilities once the first sweeps (*burn-in*) are "
    "over. Fast, accurate and certain to converge: start with this one.",
    "gibbs": "Gibbs sampling. Draws assignments at random by their probability. Exact in the long run, but "
    "nobody knows for certain when it is done. The mean of its samples predicts well, because it takes many "
    "clusterings into account.",
}

_PREDICTION = """
- **To read clusters, take ACVB0.** It ends at one clustering with a high lower bound, and says when it has converged.
- **To predict links, take an average over many clusterings.** One clustering, however good, is too sure of itself.

One run of any method gives you both:

- It begins with a short chain of Gibbs sampling. The best sample of the chain is the start of the run.
- The mean of all samples predicts links. On the Compare page, *Skill* is the score of the clusters, *Skill, averaged*
  that of the samples. Link prediction on the Blocks page uses the samples; you can switch.
- The samples also say how sure the answer is: intervals of blocks, and how often objects share a cluster.

| Skill, mean of ten splits | ACVB0, clusters | Gibbs samples of the start | Gibbs |
|---|---|---|---|
| karate | 0.358 | **0.422** | 0.413 |
| southern women | 0.195 | 0.190 | **0.197** |
| zoo | 0.652 | **0.653** | 0.651 |
| UK faculty | 0.365 | **0.385** | 0.383 |
| Enron, June 2001 | 0.223 | **0.319** | 0.310 |
| Debian's games | 0.633 | **0.653** | **0.653** |

- No difference between the samples of the start and Gibbs was found; that does not show that there is none. The
  southern women are too few to distinguish the three.
- Measured by `python -m benchmarks.default_predictions FILE … --splits 10`, with `:one` behind the three networks.
"""

_CONVERGENCE = """
- **VB** has converged when a sweep changes the lower bound, relative to its size, by less than the tolerance.
- **CVB** and **CVB0** have no bound that must rise. They have converged when the relative change of the leave-one-out
  score is below the tolerance.
- **ACVB** and **ACVB0** have converged when the averaged cluster probabilities change by less than the tolerance. This
  always happens: an average over *s* sweeps changes by at most 2/*s* in a sweep, so 2 / tolerance averaged sweeps are
  enough. If the sweep limit ends a run before that, the run says so.
- A converged average is **settled** if the last sweep is within 0.01 of it (mean L1 distance over the objects).
  Otherwise **fluctuations remain**: the sweeps still move around it.
- **Gibbs** sampling runs for the number of sweeps you choose.

The Run page names the rule of the selected run. Only ACVB and ACVB0 are judged by the change that is drawn.

Convergence means that more sweeps would change little. Another seed may find other clusters: *Run 3 more seeds* on the
Blocks page shows how far the answers agree.

The samples at the start of a run come from one Gibbs chain. *140 samples, 35 independent* means that they say as much
as 35 independent ones. If the chain **has not mixed**, intervals may be too narrow: look at more seeds.
"""

_BURN_IN = """
The first sweeps depend on where the run started, so averaged methods leave them out (*burn-in*). By default, burn-in
ends when the cluster probabilities change by less than 0.001 in a sweep, and after 100 sweeps at the latest. If a
cluster dies out later, averaging starts again: averages over different numbers of clusters mean nothing.
"""

_MOVES = f"""
A run can get stuck with one true cluster in two parts, or two in one. So it tries to **merge** and **split** clusters:

- It tries from sweep {MOVES_FROM} on, every {MOVES_EVERY} sweeps. A move is made if it raises the lower bound.
- It stops when no move helps any more, or at sweep {MOVES_UNTIL} ({MOVES_UNTIL_AFTER_CHAIN} after a Gibbs chain).
- The curves mark these sweeps: ▽ merged, △ split, ◇ both.
- Convergence is judged, and automatic averaging begins, only afterwards.
- Splits end at twice the starting number of clusters; if sweeps are short, at a larger one.
- You can switch off either move in the advanced settings.
"""

HELD_OUT_NOTE = """
- Before a run, a share of the known entries is hidden from it: 10 % by default.
- They are drawn at random, with a seed of its own. So all runs are judged on the same entries.
- Set the share and the seed on the Data page.
"""

RELATION = ModelWords(
    model=_MODEL,
    asides=(("Held-out entries", HELD_OUT_NOTE),),
    methods=_METHODS,
    curves=_CURVES,
    convergence=_CONVERGENCE,
    notes=(("Burn-in", _BURN_IN), ("Merges and splits", _MOVES)),
    advice=(("Which method reads best, and which predicts best", _PREDICTION),),
)


_NETWORK_MODEL = """
You have objects of one kind, such as friends, web pages or neurons, and you know which are linked. The **Infinite
Relational Model** (IRM) of such a **network** sorts the objects, its nodes, into clusters:

- Two clusters, or one cluster with itself, make a **block**. Each block has one link probability.
- A cluster need not be a community. Its nodes only need to link alike.
- So there are clusters with many links inside, hubs that everyone points to, and groups that link to each other but
  hardly among themselves.

*Infinite* means that you choose only the starting number of clusters, **K**. Clusters that are not needed die out or
are merged. Splits may add more.

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
- **Undirected**: they are one link (friendship, being seen together), and each pair counts once. A network is
  undirected if every link goes both ways or none does, and nothing in the file says otherwise.
- **Self-links** are links of a node to itself. They count if there is one, and belong to the block of the node's own
  cluster. Otherwise these pairs are left out.

The Data page shows what was recognised and why, and lets you change it.
"""

_NETWORK_HELD_OUT = HELD_OUT_NOTE.replace("known entries", "known pairs").replace(
    "same entries", "same pairs"
) + ("- A pair of an undirected network is hidden in both directions.\n")


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
    model=_NETWORK_MODEL,
    asides=(
        ("One clustering, or two?", _ONE_OR_TWO),
        ("Directed, undirected, self-links", _KINDS),
        ("Held-out pairs", _NETWORK_HELD_OUT),
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
