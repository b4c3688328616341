"""Topics after a sweep: they are found again by their words, whatever their order was."""

from __future__ import annotations

from acvb_core.core.clusters import rearrange
from acvb_core.engine.fitting import fit
from acvb_core.models.lda.answer.sweeps import list_topics_then
from acvb_core.samples.catalogue import load_sample


def test_topics_of_a_sweep_have_the_numbers_of_the_answer() -> None:
    result = fit(load_sample("bars").data, "cvb0", k=6, max_sweeps=30)
    last, model = result.state.history.excerpts, result.prepared.model
    assert max(last) == result.snapshot.sweep, "the last sweep is always kept"
    table = list_topics_then(result, last[max(last)])
    assert table["topic"].tolist() == [*range(1, 7)]
    assert (table["kept"] == 1).all()
    shares = result.posterior["words"].sum(axis=0)
    assert abs(table["share"] - shares / shares.sum()).max() < 1e-6
    first = result.topics[result.topics["topic"] == 4].nsmallest(10, "rank")["word"].tolist()
    assert sorted(table["words"][3].split(", ")) == sorted(first)
    few = model.take_excerpt(rearrange(result.posterior, {"topics": [4, 2]}))
    assert list_topics_then(result, few)["topic"].tolist() == [3, 5]
    other = {"words": last[max(last)]["words"].copy(), "tokens": last[max(last)]["tokens"]}
    other["words"][0] = -1  # a topic without a word has no partner
    assert list_topics_then(result, other)["topic"].tolist() == [2, 3, 4, 5, 6, 7]
