"""A line for each cluster, and the data as they were read with clusters."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.models.irm.answer.summary import annotate_data, summarise_parts
from acvb_core.samples.catalogue import load_sample
from tests.loops import for_each


@for_each("directed", [True, False])
def test_each_link_has_its_weight_and_the_clusters_of_both_ends(directed: bool) -> None:
    rng = np.random.default_rng(0)
    links = rng.poisson(0.4, (14, 14)) * np.arange(1.0, 15.0)[:, None] / 2
    np.fill_diagonal(links, 0.0)
    links = links if directed else links + links.T
    relation = Relation.build(
        links, threshold=0.0, row_labels=[f"n{i}" for i in range(14)], network=Network(directed), name="net"
    )
    result = fit(relation, "acvb0", k_rows=3, max_sweeps=10)
    table, read = annotate_data(result)
    assert read == ["source", "target", "weight"]
    at = [[int(name[1:]) for name in table[end]] for end in ("source", "target")]
    back = np.zeros((14, 14))
    back[tuple(at)] = table["weight"]
    assert np.array_equal(back if directed else back + back.T, links)
    clusters, names = result.labels("rows"), np.array(result.names["rows"])
    for end, places in zip(("source", "target"), at, strict=True):
        assert table[f"{end}_cluster"].tolist() == clusters[places].tolist()
        assert table[f"{end}_name"].tolist() == names[clusters[places] - 1].tolist()
        assert table[f"{end}_certainty"].tolist() == result.rows["probability"][places].tolist()


def test_each_cluster_has_a_line_with_its_size_certainty_and_inside() -> None:
    result = fit(load_sample("karate").relation, "acvb0", k_rows=4)
    (table,) = summarise_parts(result).values()
    rows, blocks = result.rows, result.blocks
    assert table["objects"].tolist() == rows["cluster"].value_counts().sort_index().tolist()
    for line in table.itertuples():
        own = rows[rows["cluster"] == line.cluster]
        assert line.certainty == pytest.approx(own["probability"].mean())
        assert line.members.split(", ")[0] == own.loc[own["probability"].idxmax(), "object"]
        inside = blocks[(blocks["row_cluster"] == line.cluster) & (blocks["column_cluster"] == line.cluster)]
        assert [line.inside, line.inside_low, line.inside_high] == inside[["mean", "low", "high"]].iloc[
            0
        ].tolist()
