"""Known labels compared with clusters, and what a cluster is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.protocols import Posterior
from acvb_core.evaluate.significance import adjust_holm
from acvb_core.models.irm.answer.known import align_samples, compare_labels, compare_medians, describe_labels
from acvb_core.models.irm.gibbs import LABELS
from acvb_core.models.irm.scores import STRENGTHS
from benchmarks.effects import PLANTED_SHARES, label_nodes


def test_samples_get_the_numbers_of_the_clusters_shown() -> None:
    q = np.eye(3)[[0, 0, 0, 1, 1, 2]]
    samples = np.array([[4, 4, 4, 1, 1, 0], [0, 0, 0, 0, 0, 1], [2, 2, 3, 3, 3, 3]], dtype=np.uint16)
    posterior = Posterior(
        {"rows": q, LABELS.format("rows"): samples, STRENGTHS: np.zeros((3, 1, 1))},
        {"rows": (None, "rows"), LABELS.format("rows"): (None, None), STRENGTHS: (None, None, None)},
        ("rows",),
    )
    wanted = [[0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 0, 2], [0, 0, 1, 1, 1, 1]]
    assert align_samples(posterior, "rows").tolist() == wanted
    assert align_samples(posterior.with_arrays({}, drop=(STRENGTHS,)), "rows").tolist() == [wanted[0]]


@pytest.mark.whole_chain
def test_a_planted_difference_is_found_and_no_other() -> None:
    result, cluster = label_nodes(seed=3)
    labels, medians = compare_labels(result), compare_medians(result)
    line = labels[(labels["cluster"] == cluster) & (labels["label"] == "part time")].iloc[0]
    assert line["low"] <= PLANTED_SHARES[0] - PLANTED_SHARES[1] <= line["high"]
    assert line["p_holm"] < 0.05
    assert set(labels[labels["p_holm"] < 0.05]["attribute"]) == {"contract"}
    assert set(medians[medians["p_holm"] < 0.05]["attribute"]) <= {"age"}
    assert np.allclose(labels["p_holm"], adjust_holm(labels["p"]))  # over all clusters, attributes and labels
    assert set(labels["attribute"]) == {"contract", "site"}  # ids are no labels, and numbers have medians
    said = describe_labels(labels, medians, cluster)
    assert f"with contract “part time” ({line['share']:.0%}".replace("%", " %") in said
    assert "site" not in said
