"""Runs over shards on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from acvb_core.store.topics.trained import load_model
from tests.cli.support import Run

BARS = "sample:bars"
SHORT = ("--k", 4, "--max-sweeps", 12, "--heldout-documents", 0.1, "--json")


def fit(run: Run, *more: object) -> dict[str, Any]:
    done = run("fit", *more, *SHORT)
    assert done.code == 0, done.err
    facts: dict[str, Any] = done.json
    return {name: value for name, value in facts.items() if "seconds" not in name}


def test_a_corpus_on_disk_is_fitted_over_shards(run: Run, tmp_path: Path) -> None:
    on_disk = fit(run, BARS, "--shards", 3, "--on-disk", tmp_path / "kept", "--out", tmp_path / "run")
    processes = fit(run, tmp_path / "kept", "--shards", 3, "--processes", 2)
    assert on_disk["lower_bound"] is not None
    for name in ("lower_bound", "pseudo_loo", "heldout", "hyper", "effective_k"):
        assert processes[name] == on_disk[name]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["values"]["shards"] == 3
    trained = load_model(tmp_path / "run")
    further = fit(run, BARS, "--start", tmp_path / "run", "--shards", 2)
    assert further["heldout"]["perplexity"] < 1.1 * on_disk["heldout"]["perplexity"]
    assert np.isfinite(trained.posterior["words"]).all()
