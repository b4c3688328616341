"""Runs over shards, and on several threads, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.core import parallel
from acvb_core.store.topics import load_model
from tests.cli.support import Run

BARS = "sample:bars"
SHORT = ("--k", 4, "--max-sweeps", 12, "--heldout-documents", 0.1, "--json")


def fit(run: Run, *more: object) -> dict[str, Any]:
    done = run("fit", *more, *SHORT)
    assert done.code == 0, done.err
    facts: dict[str, Any] = done.json
    return {name: value for name, value in facts.items() if "seconds" not in name and "memory" not in name}


def test_threads_change_nothing_but_the_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    use = parallel.use_threads
    monkeypatch.setattr("acvb_core.cli.cluster.use_threads", lambda n: (asked.append(n), use(n))[1])
    found = [fit(run, BARS, "--method", "acvb0", "--cells", 3, *more) for more in ((), ("--threads", 2))]
    assert found[0] == found[1]
    assert found[0] != fit(run, BARS, "--method", "acvb0", "--cells", 1)
    assert asked == [0, 2, 0]


def test_a_corpus_on_disk_is_fitted_over_shards(run: Run, tmp_path: Path) -> None:
    on_disk = fit(run, BARS, "--shards", 3, "--on-disk", tmp_path / "kept", "--out", tmp_path / "run")
    again = fit(run, tmp_path / "kept", "--shards", 3)
    assert on_disk["lower_bound"] is not None
    for name in ("lower_bound", "pseudo_loo", "heldout", "hyper", "effective_k"):
        assert again[name] == on_disk[name]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["values"]["shards"] == 3
    trained = load_model(tmp_path / "run")
    further = fit(run, BARS, "--start", tmp_path / "run", "--shards", 2)
    assert further["heldout"]["perplexity"] < 1.1 * on_disk["heldout"]["perplexity"]
    assert np.isfinite(trained.posterior["words"]).all()
