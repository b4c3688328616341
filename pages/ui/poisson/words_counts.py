"""Explanations for relations and networks of counts: the Poisson block model."""

from __future__ import annotations

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.poisson.methods import CountChoice
from pages.ui.irm import words_relation

_RATES = """
- Each block has one **rate**: its count, divided by the count that is expected from the activity of its objects. A rate
  of 2 is twice as much as expected, 0.5 is half as much.
- Some objects are far more active than others (hubs). **Corrected for activity**: what is expected of a pair is
  in proportion to the totals of both objects. Clusters are then about whom objects are linked to.
- **Not corrected**: every pair is expected to have the overall mean, so hubs get clusters of their own.
- By default a short run of each decides: the higher evidence wins. It is the lower bound, less 1 nat for each activity
  that is fitted. The Blocks page shows both.
- Links without weights count as 1, and values up to the threshold as 0.
- Weights often vary more than counts of independent events. They are then counted in a larger **unit**: the one in
  which the counts of alike pairs vary as Poisson counts do. Otherwise large weights would get clusters of their own.
- Data with values below 0 are refused: they are no counts.

The number of clusters, unknown entries, certainty, methods and curves are those of the Infinite Relational Model.
"""
_MODEL = f"""
You have two kinds of objects, such as customers and products, and you know how often each is linked to which. The
**Poisson block model** sorts this table of counts:

- The rows are sorted into clusters, and so are the columns.
- A row cluster and a column cluster together make a **block**.
{_RATES.strip()}
"""
_NETWORK_MODEL = f"""
You have objects of one kind, such as people or airports, and you know how often they are linked: messages, flights,
scenes. The **Poisson block model** of such a network sorts the objects, its nodes, into clusters:

- Two clusters, or one cluster with itself, make a **block**.
{_RATES.strip()}
"""

RELATION = words_relation.RELATION._replace(model=_MODEL)
NETWORK = words_relation.NETWORK._replace(model=_NETWORK_MODEL)


def describe_weights(relation: Relation) -> str:
    """Return what the model does with the links of a relation, in a sentence."""
    if relation.weights is None:
        return "The links have no weights: each counts as 1. The model can still correct for hubs."
    return "The weights of the links are used as counts, in a larger unit if alike pairs differ more than counts do."


def describe_rates(result: Result) -> str:
    """Return how the rates of a result are to be read: whether degrees are corrected, by whose choice, and why."""
    choice = CountChoice.of_posterior(result.posterior)
    text = choice.describe()
    other = "Choose the other on the Run page (Correct for activity)."
    expected = "Expected counts are from the activity of the objects."
    if choice.degree == "none":
        expected = "Rates are relative to the overall mean."
    counted = "" if choice.unit == 1.0 else f" Weights are counted in units of {choice.unit:.4g}."
    return f"{text[0].upper()}{text[1:]}. {expected}{counted} {other}"
