"""Runs and relations that the figures are tried on."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from tests.views.fits import games_result, survey_result


@pytest.fixture
def survey() -> Result:
    return survey_result()


@pytest.fixture
def games() -> Result:
    return games_result()


@pytest.fixture
def awkward() -> Relation:
    """Names that a browser or Plotly might take for something else; one object without links."""
    ones = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    missing = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]])
    names = ["<b>bold</b>", '<a href="http://x">link</a>', "%{x} & 50%", "$x^2$"]
    return Relation.build(
        ones, missing, row_labels=names, column_labels=["a<br>b", "=1+1", "c"], row_kind="<i>kind</i>"
    )
