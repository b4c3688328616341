"""Runs that several figures are drawn of, each fitted once."""

from __future__ import annotations

from functools import cache

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample


@cache
def survey_result() -> Result:
    """150 x 40 with missing entries, entries held out, averaged."""
    return fit(load_sample("survey").relation, "acvb0", heldout=0.1)


@cache
def women_result() -> Result:
    """18 x 14, nothing missing, nothing held out."""
    return fit(load_sample("southern_women").relation, "vb")


@cache
def games_result() -> Result:
    """937 x 178: more rows than are named, one pixel an entry."""
    return fit(load_sample("debtag_games").relation, "vb", k_rows=10, k_cols=10)
