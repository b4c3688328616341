"""Runs of a paper within a limit of processor seconds."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from acvb_core.cli.experiment import _make_runs
from acvb_core.cli.progress import Progress
from acvb_core.core.protocols import no_checkpoint
from acvb_core.engine.experiments.plan import Plan, plan_experiment
from acvb_core.samples.catalogue import load_sample


def plans() -> dict[str, Plan]:
    women = load_sample("southern_women").data
    return {
        name: plan_experiment(women, ["cvb0"], splits=2, k=k, max_sweeps=3)
        for name, k in (("first", 2), ("second", 3))
    }


def test_a_limit_ends_the_runs_and_the_next_call_goes_on(tmp_path: Path) -> None:
    quiet = Progress(io.StringIO(), quiet=True)
    none = _make_runs(plans(), tmp_path, 0.0, quiet, no_checkpoint)
    assert none is not None
    assert [len(one.rows) for one in none.values()] == [0, 0]
    done = _make_runs(plans(), tmp_path, None, quiet, no_checkpoint)
    assert done is not None
    assert all(one.is_complete for one in done.values())
    again = _make_runs(plans(), tmp_path, 0.0, quiet, no_checkpoint)
    assert again is not None
    assert [len(one.rows) for one in again.values()] == [2, 2]


def test_the_data_with_the_least_time_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    class Recorder(Progress):
        def __call__(self, problem: object, snapshot: object) -> None:
            if problem not in seen:
                seen.append(problem)

    _make_runs(plans(), None, None, Recorder(io.StringIO(), quiet=True), no_checkpoint)
    assert [one.settings.values["k_rows"] for one in seen][:2] == [2, 3]  # type: ignore[attr-defined]
