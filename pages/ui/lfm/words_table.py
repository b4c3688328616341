"""Explanations for tables of numbers: latent features, their curves and their methods."""

from __future__ import annotations

from pages.ui.shared.words import Curve, ModelWords

_CURVES = (
    Curve(
        "Lower bound per object",
        "Bound",
        ":material/trending_up:",
        "What the method climbs, in nats, divided by the number of objects: the factorised information criterion of "
        "FAB, the likelihood of EM, the evidence of VB and MEIBP. Each bounds something else.",
        "Follow one run: FAB and EM have converged when it rises by less than the tolerance in a sweep that left the "
        "number of features as it was. A triangle marks a sweep in which features were dropped or merged.",
        "Never choose between runs by it: bounds of different methods, or at different numbers of features, are not "
        "comparable. It may fall where a feature is dropped, and it may be positive, for densities are no "
        "probabilities.",
    ),
    Curve(
        "Change of E[z]",
        "Change",
        ":material/waves:",
        "How far the probabilities that an object has a feature moved in a sweep, on average over all objects and "
        "features.",
        "Thin: E[z] of the sweeps, which falls as a run settles; thick: the mean of a sampler after burn-in. Samples "
        "themselves never settle: every sweep draws anew.",
        "Features that die, merge or stand for their contrary make it jump.",
    ),
    Curve(
        "Held-out log likelihood",
        "Held-out",
        ":material/quiz:",
        "Some cells of the table are hidden before the run and predicted from the rest of their row: the mean log "
        "density of a cell, in nats, on the standardised scale. Knowing nothing but the column's mean and standard "
        "deviation gives about -1.42.",
        "Higher is better. The fair way to compare methods, settings and numbers of features: no run has seen these "
        "cells.",
        "Small differences are noise: look at several seeds. Where it falls while the training curve rises, the run "
        "learns the noise by heart.",
    ),
    Curve(
        "Training log likelihood",
        "Training",
        ":material/school:",
        "The same of the cells that the run has seen.",
        "The gap to the held-out curve is what was learned of these cells alone. EM's grows wide: nothing stops it "
        "from using every feature.",
        "It always rises with more features, so it is no judge of their number.",
    ),
    Curve(
        "Features alive",
        "Features",
        ":material/layers:",
        "Features that at least one object has. FAB drops those that do not earn their cost.",
        "FAB's falls quickly at first, then by a feature now and then; at the end pairs may be merged. A sampler's "
        "goes up and down, MEIBP's rises from few.",
        "EM keeps all it is given, so its number says nothing.",
    ),
    Curve(
        "Noise",
        "Noise",
        ":material/blur_on:",
        "The standard deviation of what the features leave unexplained, on average over the columns, in standard "
        "deviations of a column. 1: the features explain nothing, 0: everything.",
        "It falls while features are found and rises a little when some are dropped.",
        "Near 0 with many features it is a sign of learning the noise by heart; the held-out curve tells.",
    ),
)

_MODEL = """
You have a table: objects in rows, numbers that describe them in columns, some perhaps missing. The **latent feature
model** explains each object by **features** that it has or has not. A feature adds something to every column, its
**weights**: in a table of countries, one feature may raise several rates and lower others. An object may have
several features at once, and what they add is summed up:

value = baseline + weights of all features that the object has + noise

The **baseline** is what an object without any feature looks like, and each column has noise of its own. So an object is
not put into one cluster; four features that come and go freely make sixteen kinds of objects. What a run finds are the
weights, the probability of each feature for each object, the baseline, the noise, and, with most methods, **how many
features there are**.

A feature and its contrary say the same: *present in 80 %, adds 1* is *absent in 20 %, takes 1 away*. FAB
ends with the rarer side, or, where its criterion hardly distinguishes them, with the one whose weights add up to
something positive; with the other methods it depends on the start.
"""

_FAB = """
More features always fit better, so something must pay for them. **FAB**, factorized asymptotic Bayesian inference,
approximates the evidence of the model for large tables (FIC, the factorised information criterion) and climbs it
together with the fit. The criterion appears in each step of EM as a pull: a feature that few objects have is made
rarer still, until it holds less than one object and is dropped. Nothing has to be chosen: a run begins with the
independent components of the columns, as many as stand out of the noise, or with random features, as many as the table
has columns (or objects). Those remain that the data pay for.

After a few plain **warm-up** sweeps the shrinkage is **accelerated**: each feature and its share are brought to their
common fixed point at once. A feature that all objects have becomes part of the baseline. At convergence, features are
**merged** or left out where this raises the criterion, and two that tell of the sum and the difference of two others
are **separated**.
"""

_MODES = """
The **criterion** comes in two forms. As printed in the paper it leaves the noise precision out of the curvature of the
likelihood (*paper*). With it, each column's noise loses a degree of freedom for every feature (*dof*), which predicted
better on most tables tried and is the default. The two bounds are not comparable; held-out cells judge between them.
"""

_COMPARABLE = """
**Held-out log likelihood** is comparable between all methods, settings and numbers of features, on the same hidden
cells. **Lower bounds** are not: each method bounds something else, and FAB's criterion has no upper limit as the share
of a feature goes to zero, so that it may only be compared at the same number of features. This is also why several
starts of a run race by held-out cells, and why a table without hidden cells cannot have a race. **CPU time** is
comparable among runs that converged.
"""

_HELDOUT = """
Before a run, a share of the known cells (30 % unless you say otherwise) is hidden, drawn at random with a seed of its
own, so that all runs are judged on the same cells. Every column keeps at least two different values. Cells that are
missing from the beginning are no part of it: they are left out of every sum, not filled in. Scores are on the
standardised scale, so that columns in grams and in metres count alike: the log likelihood of a cell in nats, the
typical error (RMSE) in standard deviations, and the share of the variance that was predicted.
"""

_STANDARDISE = """
Columns in different units cannot be weighed against each other, so each is brought to mean 0 and standard deviation 1
before a run, from its known cells. All weights, baselines and reconstructions are shown in the columns' own units; a
switch on the Features page shows them in standard deviations. Choose not to standardise, when a file is loaded, where
all columns are in one unit and their sizes matter, such as the pixels of a picture.
"""

_AVERAGING = """
The averaged methods of this program, ACVB and its kin, are not offered for tables. FAB, EM, VB and MEIBP climb a bound
and come to an end by themselves, so there is nothing to calm. And a mean over sweeps makes no sense where features die,
merge and change places: averaging two different features is meaningless. Only the sampler averages. It predicts with
the mean of all samples that are kept; the features that it shows are those that most samples have, found again in each
by the objects that have them.
"""

_DYING = """
A feature that holds less than one object is dropped, one that nearly all objects have goes into the baseline, and two
that come together are merged. None of this can be undone in a run. If all features go, the baseline and the noise
alone explain the columns: the table then holds nothing that features of this kind could tell.
"""

_STARTS = """
Runs from other seeds may end with other features. Those that come back are the ones to rely on; the Compare page pairs
the features of two runs. With restarts, several starts race by held-out log likelihood and the best one goes on.
"""

_SIZE = """
A sweep takes time in proportion to objects x columns x features. Where a run would begin with as many features as
there are columns, as EM, VB and random starts do, give a smaller number of *features at most* for very wide tables.
"""

_METHODS = {
    "fab": "EM on a criterion that charges for features: those that are not needed shrink and die, and what is left is "
    "their number. The one to start with.",
    "em": "The same without the criterion. It uses every feature that it is given, fits the seen cells best, and "
    "learns their noise by heart: here it is the contrast.",
    "vb": "Features, shares, weights and noise all have distributions of their own, taken as independent. Each sweep "
    "raises the evidence's lower bound. The prior of the shares lets features empty out; those are dropped.",
    "ibp": "The Indian buffet process has no limit to the number of features. Gibbs sampling draws the features of one "
    "object after the other, and new ones are born and die on the way. Its predictions are averaged over the sweeps "
    "that are kept; right in the end, and nobody can tell for certain when the end has come.",
    "meibp": "The Indian buffet process with weights that cannot be negative, so that features only add. The features "
    "of an object are chosen greedily, as a set, to raise the evidence's lower bound the most.",
}

_CONVERGENCE = """
- **FAB** and **EM** have converged when the lower bound rises by less than the tolerance for each object in a sweep
  that left the number of features as it was, and no merge helps any more.
- **VB** and **MEIBP** have converged when their lower bound rises by less than the tolerance for each object.
- **IBP** sampling runs for the chosen number of sweeps.

The change is counted by the object, not relative to the bound: the log density of a table passes through zero.

Convergence says that going on would change little. It does not say that the features are the only ones, or the best:
another seed may converge elsewhere.
"""

TABLES = ModelWords(
    model=_MODEL,
    asides=(
        ("How the number of features is found", _FAB),
        ("Two forms of the criterion", _MODES),
        ("What can be compared, and what cannot", _COMPARABLE),
        ("Hidden cells and missing cells", _HELDOUT),
        ("Standardising", _STANDARDISE),
        ("Why there is no ACVB for tables", _AVERAGING),
    ),
    methods=_METHODS,
    curves=_CURVES,
    convergence=_CONVERGENCE,
    notes=(("Features that die", _DYING), ("Starts", _STARTS), ("Size", _SIZE)),
)
