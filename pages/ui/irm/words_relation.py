"""Explanations for relations: the Infinite Relational Model, its curves and its methods."""

from __future__ import annotations

from acvb_core.models.irm.moves.moves import MOVES_EVERY, MOVES_FROM, MOVES_UNTIL
from pages.ui.shared.words import Curve, ModelWords

_CURVES = (
    Curve(
        "Lower bound",
        "Bound",
        ":material/trending_up:",
        "A lower bound on the log probability of the data under the model, in nats. For the averaged methods it is "
        "the bound of the average.",
        "Higher is better, between runs on the same data. VB climbs it in every sweep.",
        "The collapsed methods do not climb it: theirs may dip without anything being wrong. It does not show how "
        "well new entries are predicted.",
    ),
    Curve(
        "Pseudo leave-one-out",
        "Leave-one-out",
        ":material/filter_1:",
        "Each known entry is predicted from all the others, and the logs of those probabilities are added up (nats). "
        "CVB and CVB0 get it from their sweeps at no cost.",
        "Higher is better. CVB and CVB0 have converged when it stands still.",
        "The other entries are taken as if they knew nothing of the one left out, so it flatters a little. Held-out "
        "scores do not.",
    ),
    Curve(
        "Change of q, and of its mean",
        "Change",
        ":material/waves:",
        "How far an object's cluster probabilities moved in a sweep, on average over objects (0: not at all, "
        "2: to other clusters altogether).",
        "Thin: q of the sweeps, thick: its mean. The change of q may go on for ever: CVB0 can circle. The change of "
        "its running mean cannot; ACVB0 and ACVB "
        "have converged when it falls below the tolerance.",
        "A running mean over s sweeps moves by at most 2/s whatever it is fed (the dotted line), so a small change "
        "alone proves little. That is what the next number is for.",
    ),
    Curve(
        "s × change",
        "s × change",
        ":material/straighten:",
        "Shown when you point at the change of a mean: that change times the number s of sweeps in it. It is how far "
        "a sweep's q is from the mean, without the shrinking that comes from averaging alone.",
        "Falling to 0: the sweeps agree with the mean. Level: they keep moving around it, and the mean is an "
        "average over that movement.",
        "Level is not failure. It is the case averaging was made for.",
    ),
    Curve(
        "Effective clusters",
        "Clusters",
        ":material/workspaces:",
        "Row and column clusters that are still in use. A run begins with K; those not needed die out or are merged, "
        "and splits may add some.",
        "When it stays the same and is well below K, K was large enough.",
        "If it ends at K or above, try a larger K.",
    ),
    Curve(
        "Held-out scores",
        "Held-out",
        ":material/quiz:",
        "Entries set aside before the run, zeros as well as ones, are predicted. *Log likelihood*: mean log "
        "probability of an entry in nats, higher is better. *Skill*: how much of the log likelihood of a single "
        "block is saved; 0 is no better than guessing the density, 1 is perfect. *AUC*: the chance that a link is "
        "ranked above a non-link. *AP*: average precision of that ranking, to be compared with the density.",
        "The fair way to compare methods: none has seen these entries.",
        "Small differences are noise. Look at several seeds, or hold out more.",
    ),
)

_MODEL = """
You have two kinds of objects, people and events, say, and you know who is linked to what. The **Infinite Relational
Model** (IRM) explains this table by sorting the rows into clusters and the columns into clusters. All pairs of one row
cluster and one column cluster make a **block**, and a block has one probability of a link. Sort the rows and columns by
cluster, and the table falls into blocks that are nearly full or nearly empty.

*Infinite* means that the number of clusters is not fixed: the model prefers few, and uses more where the data ask for
them. You give only how many a run begins with, **K**; those that are not needed die out or are merged, and more come
from splits. Unknown entries are left out rather than taken for zeros, and every answer comes with its uncertainty: an
object has a probability for each cluster, a block an interval for its density.

No formula gives this answer exactly. The six methods approximate it in different ways, which is why it is worth
watching how they converge and comparing what they end with.
"""

_METHODS = {
    "vb": "Row and column assignments are taken as independent of each other and of the block probabilities. Each "
    "sweep raises the lower bound until it stands still, at an answer that is often too sure of itself.",
    "cvb": "The block probabilities are integrated out (*collapsed*) before approximating, so less is assumed. The "
    "uncertain counts that remain are handled to second order, by mean and variance.",
    "cvb0": "As CVB, with only the means of the counts: faster, and in practice often as good or better. Nothing "
    "guarantees that it settles; it may circle between answers.",
    "acvb": "CVB, and beside it the running mean of its cluster probabilities after burn-in. The mean is the answer, "
    "and it is certain to converge.",
    "acvb0": "CVB0, and beside it the running mean of its cluster probabilities after burn-in. Fast, accurate, and "
    "certain to converge: the one to start with.",
    "gibbs": "Draws assignments at random in proportion to their probability. Right in the end, and slow; nobody can "
    "tell for certain when the end has come. Here it is the yardstick.",
}

_CONVERGENCE = """
- **VB** has converged when the lower bound changes, relative to its size, by less than the tolerance in a sweep.
- **CVB** and **CVB0** have no bound that must rise. They are judged by the relative change of the pseudo leave-one-out
  log likelihood.
- **ACVB** and **ACVB0** have converged when the averaged cluster probabilities change by less than the tolerance. This
  is certain to happen: the mean over *s* sweeps moves by at most 2/*s* in a sweep, so 2 / tolerance averaged sweeps are
  always enough. The sweep limit may end a run before that; it then says so.
- A mean of many sweeps may stand still while the sweeps circle around it. So a converged averaged run also says which
  it is. **Settled**: the last sweep is less than 0.01 away from the mean (mean over the objects, L1). **Still moving
  around its mean**: it is farther away.
- **Gibbs** sampling runs for the chosen number of sweeps.
"""

_BURN_IN = """
The first sweeps depend on where a run started, so the averaged methods leave them out of the mean. By itself, burn-in
ends when the cluster probabilities have settled (moving by less than 0.001 in a sweep), after 100 sweeps at the latest.
If a cluster dies out later, averaging begins anew: a mean over different numbers of clusters would mean nothing.
"""

_MOVES = f"""
Runs may get stuck with one true cluster in two parts, or with two in one. After {MOVES_FROM} sweeps, and every
{MOVES_EVERY} until nothing more is found (or sweep {MOVES_UNTIL} is reached), clusters are **merged** or **split**
between sweeps if that raises the lower bound. The curves mark such sweeps: ▽ merged, △ split, ◇ both. Convergence is
not judged, and averaging does not begin by itself, before that is over. Either can be switched off among the advanced
settings.
"""

HELD_OUT_NOTE = """
Before a run, a share of the known entries (10 % unless you say otherwise) is hidden from it, drawn at random with a
seed of its own, so that all runs are judged on the same entries. Set the share and the seed on the Data page.
"""

RELATION = ModelWords(
    model=_MODEL,
    asides=(("Held-out entries", HELD_OUT_NOTE),),
    methods=_METHODS,
    curves=_CURVES,
    convergence=_CONVERGENCE,
    notes=(("Burn-in", _BURN_IN), ("Merges and splits", _MOVES)),
)
