"""Fixtures of the store: an empty one, and runs to put into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.store.runs import RunStore
from tests.store.support import SMALL, SURVEY, WOMEN


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "kept")


@pytest.fixture(scope="module")
def executor() -> Executor:
    return Executor(1)


@pytest.fixture(scope="module")
def women() -> Result:
    return fit(WOMEN, "acvb0", heldout=0.2, heldout_seed=3, seed=2, **SMALL)


@pytest.fixture(scope="module")
def survey() -> Result:
    return fit(SURVEY, "vb", **SMALL)
