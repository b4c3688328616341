"""The state of a run is held as long as it can be gone on with, and no longer: it may be by far the largest part."""

from __future__ import annotations

import pytest

from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import solve
from acvb_core.engine.job import Job
from acvb_core.engine.snapshot import Verdict
from tests.engine.fakes import small_problem


@pytest.mark.parametrize("values", [{}, {"max_sweeps": 3}], ids=["converged", "at its cap"])
def test_only_a_run_that_can_go_on_keeps_its_state(values: dict[str, int]) -> None:
    problem = small_problem("vb", **values)
    job = Job(problem, Executor(1)).start()
    assert job.wait(60)
    result = solve(problem)
    assert job.inspect().verdict is result.verdict
    goes_on = result.verdict is Verdict.MAX_SWEEPS
    assert goes_on == bool(values)
    for kept in (job.result().snapshot, result.snapshot):
        assert (kept.state is not None) == goes_on
        assert kept.posterior is not None
    assert job.can_extend == goes_on
