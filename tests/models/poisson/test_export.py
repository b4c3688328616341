"""Files of a run of counts: sums of blocks that add up to the data, the choice of the degrees, pairs that stand out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from acvb_core.models.poisson.methods import CountChoice
from acvb_core.store.export import remove_leftovers, write_run
from tests.models.poisson.test_pairs import letters


def test_blocks_and_activity_add_up_to_the_counts(tmp_path: Path) -> None:
    """So do the counts that are expected, over all blocks and over all known pairs."""
    result = letters()
    total = result.prepared.model.observations(result.posterior).counts.sum()
    files = write_run(result, tmp_path)
    arrays = np.load(tmp_path / "posterior.npz")
    assert arrays["count"].sum() == pytest.approx(total)
    assert arrays["expected"].sum() == pytest.approx(total)
    pairs = np.outer(arrays["row_activity"], arrays["column_activity"])
    assert pairs.sum() - np.trace(pairs) == pytest.approx(total)
    ratio = arrays["count"] / arrays["expected"]
    np.testing.assert_allclose(arrays["strengths"], ratio, rtol=0.2, atol=0.1)
    with (tmp_path / "blocks.csv").open(newline="") as lines:
        assert [*next(csv.reader(lines))][4:7] == ["count", "expected", "mean"]
    assert {path.name for path in remove_leftovers(tmp_path, [])} >= {"blocks.csv", "rows.csv"}
    assert tmp_path / "blocks.csv" in files


def test_the_choice_of_the_degrees_is_said_with_its_evidence(tmp_path: Path) -> None:
    result = letters()
    choice = CountChoice.of_posterior(result.posterior)
    assert choice.degree == "corrected"
    write_run(result, tmp_path)
    said = json.loads((tmp_path / "run.json").read_text())
    assert said["degree"] == "corrected"
    assert said["degree_evidence"] == {"corrected": choice.corrected, "none": choice.without}
    assert dict(result.prepared.model_row.part("text").facts(result))["activity"] == (
        f"corrected for activity: evidence {choice.corrected:.4f} nats an entry against {choice.without:.4f} without"
    )
    other = choice._replace(degree="none")
    assert other.describe().endswith(
        f"{choice.without:.4f} nats an entry against {choice.corrected:.4f} with the correction"
    )
