"""Runs that the figures are tried on."""

from __future__ import annotations

import pytest

from acvb_core.engine.result import Result
from tests.views.fits import survey_result, women_result


@pytest.fixture
def survey() -> Result:
    return survey_result()


@pytest.fixture
def women() -> Result:
    return women_result()
