"""Explanations for tables of numbers: latent features, their curves and their methods."""

from __future__ import annotations

from pages.ui.shared.words import Curve, ModelWords

_CURVES = (
    Curve(
        "Lower bound per object",
        "Bound",
        ":material/trending_up:",
        "What the method raises, in nats (natural logarithms), divided by the number of objects. FAB: the factorised "
        "information criterion. EM: the likelihood. VB and MEIBP: the evidence. Each bounds something else.",
        "Follow one run: it has converged when this rises by less than the tolerance in a sweep that keeps the number "
        "of features. A triangle marks a sweep in which features were dropped or merged.",
        "Never choose between runs by it: bounds of different methods, or at different numbers of features, cannot be "
        "compared. It may fall when a feature is dropped. It may be positive, because densities can exceed 1.",
    ),
    Curve(
        "Change in assignments",
        "Change",
        ":material/waves:",
        "How much the probability that an object has a feature (written *E[z]*) changed in a sweep, averaged over all "
        "objects and features.",
        "Thin line: the sweeps themselves; it falls as a run comes to rest. Thick line: the average of a sampler after "
        "its first sweeps (burn-in). Samples never come to rest, because every sweep draws again.",
        "It jumps when features die, merge or flip (absence shown as presence).",
    ),
    Curve(
        "Held-out log likelihood",
        "Held-out",
        ":material/quiz:",
        "How well the run predicts cells that were hidden from it, given the rest of their row: mean log density of a "
        "cell in nats, on the standardised scale. The dashed line, **column means**, is the score if the mean and "
        "variance of its column predict each cell: about -1.42.",
        "Higher is better. This is the fair way to compare methods, settings and numbers of features, because no run "
        "has seen these cells.",
        "Small differences are noise: try several seeds. If it falls while the training curve rises, the run is "
        "learning the noise. The sentence above the curves says so if all hidden cells together lose more than 100 "
        "nats. A run below the dashed line predicts worse than no model.",
    ),
    Curve(
        "Training log likelihood",
        "Training",
        ":material/school:",
        "The same for the cells that the run has seen.",
        "The gap to the held-out curve shows how far the run fits noise. For EM it grows wide: nothing stops EM from "
        "using every feature.",
        "It always rises with more features, so do not choose their number by it.",
    ),
    Curve(
        "Features in use",
        "Features",
        ":material/layers:",
        "Features that at least one object has. FAB drops features that do not pay for themselves.",
        "For FAB it falls quickly at first, then one by one; at the end pairs may be merged. For a sampler it goes up "
        "and down; for MEIBP it rises from few.",
        "EM keeps all the features it is given, so its number says nothing.",
    ),
    Curve(
        "Noise",
        "Noise",
        ":material/blur_on:",
        "What the features leave unexplained: its standard deviation, averaged over the columns, in standard "
        "deviations of a column. 1: the features explain nothing. 0: they explain everything.",
        "It falls while features are found, and rises a little when some are dropped.",
        "Close to 0 with many features, the run may have learned the noise. The held-out curve shows whether it has.",
    ),
)

_MODEL = """
You have a table: objects in rows, numbers in columns, some perhaps missing. The **latent feature model** explains each
object by **features** that it has or does not have:

value = baseline + weights of all features that the object has + noise

- A feature adds something to every column, its **weights**. In a table of countries, one feature may raise several
  rates and lower others.
- An object may have several features at once, and their weights add up. So four features that combine freely make
  sixteen kinds of objects.
- The **baseline** is an object without any feature. Each column has its own **noise**.

A run finds the weights, the probability of each feature for each object, the baseline and the noise. With most methods
it also finds **how many features there are**.

A feature can be described from either side: *present in 80 %, adds 1* means the same as *absent in 20 %, takes 1
away*. FAB ends with the rarer side. If both are about as good, it takes the one whose weights have a positive sum. With
other methods it depends on the start.
"""

_FAB = """
More features always fit better, so features must have a price. **FAB**, factorized asymptotic Bayesian inference, sets
it: it raises the factorised information criterion (FIC), which approximates the evidence of the model for large tables.

- A run starts with the independent components of the columns, as many as stand out of the noise. Or it starts with
  random features, as many as the table has columns (or objects).
- In each step, a feature that few objects have is made rarer still. When less than one object has it, it is dropped.
- The features that pay for themselves remain. You choose nothing.

In more detail:

- After a few plain **warm-up** sweeps the shrinking is **accelerated**: each feature and its share jump to their common
  fixed point.
- A feature that all objects have becomes part of the baseline.
- At convergence, features are **merged** or left out if this raises the criterion.
- Two features that describe the sum and the difference of two others are **separated**.
"""

_MODES = """
- *paper*: leaves the noise precision out of the curvature of the likelihood, as in the paper.
- *dof*: charges each column's noise one degree of freedom for every feature. It predicted better on most tables tried
  and is the default.

The two bounds cannot be compared. Use held-out cells to choose.
"""

_COMPARABLE = """
- **Held-out log likelihood** can be compared between all methods, settings and numbers of features, on the same hidden
  cells. Several starts of a run race by it, so a race needs hidden cells.
- **Lower bounds** cannot be compared: each method bounds something else. FAB's criterion has no upper limit as the
  share of a feature goes to zero, so compare it only at the same number of features.
- **CPU time** can be compared between runs that converged.
"""

_HELDOUT = """
- Before a run, a share of the known cells is hidden from it: 30 % by default.
- They are drawn at random, with a seed of its own. So all runs are judged on the same cells. Every column keeps at
  least two different values.
- Cells that are missing in the data are left out of every sum. They are not filled in.
- Scores are on the standardised scale, so columns in grams and in metres count alike.
- There are three scores: the log likelihood of a cell in nats (natural logarithms), the typical error (RMSE, root mean
  squared error) in standard deviations, and the share of the variance that was predicted. **Column means** is the log
  likelihood if the mean and variance of its column predict each cell.
"""

_STANDARDISE = """
- Columns in different units cannot be compared directly. So each is brought to mean 0 and standard deviation 1 before a
  run, based on its known cells.
- All weights, baselines and reconstructions are shown in the columns' own units. A switch on the Features page shows
  them in standard deviations.
- Turn standardising off for columns that share one unit and whose sizes matter, such as the pixels of a picture.
"""

_AVERAGING = """
- FAB, EM, VB and MEIBP raise a bound and end by themselves. They need no average.
- Averaging over sweeps is meaningless while features die, merge and change places.
- Only the sampler averages. It predicts by the average of all kept samples, and shows the features that most samples
  have, matched by their objects.
"""

_DYING = """
A feature that less than one object has is dropped. One that nearly all objects have joins the baseline. Two that occur
together are merged. A run cannot undo this. If no feature is left, features cannot explain this table: the baseline and
the noise are the whole answer.
"""

_STARTS = """
- Another seed may end with other features. Rely on those that come back: the Compare page pairs the features of two
  runs.
- With restarts, several starts race by held-out log likelihood, and the best one continues.
"""

_SIZE = """
- A sweep takes time in proportion to objects × columns × features.
- EM, VB and random starts begin with as many features as there are columns. Set a smaller *Maximum features* for very
  wide tables.
"""

_PREDICTION = """
- **To read features, take FAB.** It finds few, their number too, and fast.
- **To predict cells, take IBP.** The mean of many samples predicts better than one answer.
- **If columns are smooth or closely related,** such as the years of a curve, factor analysis (not part of this app)
  predicts better than features that are there or not.

Log likelihood of a held-out cell in nats, 30 % held out, means over five splits (three for digits); higher is better:

| Held-out log likelihood | Wine, 178 x 13 | Breast cancer, 569 x 30 | Births per woman, 210 x 52 | Digits, 1,797 x 61 |
|---|---|---|---|---|
| FAB | -1.185 | -0.782 | 0.921 | -1.197 |
| IBP | **-1.101** | -0.629 | -0.098 | **-1.076** |
| Factor analysis | -1.170 | **-0.392** | **1.574** | -1.177 |
| Column means | -1.442 | -1.436 | -1.430 | -1.404 |

Command: `python -m benchmarks.feature_heldout`. Factor analysis is scikit-learn's, its number of factors chosen by a
part of the training cells.
"""

_METHODS = {
    "fab": "Factorized asymptotic Bayes. It charges for features: those that are not needed shrink and die, and what "
    "remains is their number. Take it to read features; IBP predicts cells better.",
    "em": "Expectation maximisation. The same without the charge. It uses every feature it is given, fits the seen "
    "cells best, and fits their noise, too. Use it as a contrast.",
    "vb": "Variational Bayes. Features, shares, weights and noise have distributions of their own, treated as "
    "independent. Every sweep raises the lower bound of the evidence. Features may empty out; those are dropped.",
    "ibp": "Indian buffet process, sampled. It sets no limit to the number of features. Gibbs sampling draws the "
    "features of one object after another; new ones are born and others die. Predictions are averaged over the sweeps "
    "that are kept, so it predicts cells best of these methods. Exact in the long run, but nobody knows "
    "when it is done.",
    "meibp": "Maximisation-expectation Indian buffet process. Its weights cannot be negative, so features only add. It "
    "picks the features of an object greedily, as a set, to raise the lower bound of the evidence most.",
}

_CONVERGENCE = """
- **FAB** and **EM** have converged when the lower bound rises by less than the tolerance per object. The sweep must
  keep the number of features, and no merge may help any more.
- **VB** and **MEIBP** have converged when their lower bound rises by less than the tolerance per object.
- **IBP** sampling runs for the number of sweeps you choose.

The change is measured per object, not relative to the bound, because the log density of a table can pass through zero.

Convergence means that more sweeps would change little. Another seed may find other features: *Run 3 more seeds* on the
Features page shows which come back.
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
    advice=(("Features to read, and cells to predict", _PREDICTION),),
    notes=(("Features that die", _DYING), ("Starts", _STARTS), ("Size", _SIZE)),
)
