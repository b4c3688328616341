"""Streams over shards: one shard is the run without, and the numbers of shards and merges alone decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from acvb_core.models.lda.online.kernels import EASE, LEAST
from acvb_core.models.lda.online.shards import merge
from acvb_core.models.lda.online.stream import StreamState
from acvb_core.registry import method_row
from acvb_core.samples.planted_mixtures import planted_topics
from acvb_core.shards.place import shard_workers
from tests.engine.test_run import StopAt
from tests.loops import for_each
from tests.shards.outcomes import frail_workers, outcome

_RUN: dict[str, Any] = {"k": 8, "epochs": 2.4, "heldout_documents": 0.1}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return planted_topics(1_300, 300, 8, 40, 0.1, 0.05, 1).corpus


@pytest.fixture(scope="module")
def on_disk(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> DiskCorpus:
    folder = tmp_path_factory.mktemp("corpus") / "disk"
    return acvb_core.write_disk_corpus([corpus], folder, vocabulary=corpus.vocabulary, shard_pairs=9_000)


@for_each("name", ["sdm", "asdm", "scvb0", "svb"])
def test_one_shard_gives_the_bits_of_a_run_without(name: str, corpus: Corpus) -> None:
    given = _RUN | ({"burn_in_epochs": 0.5} if name == "asdm" else {})
    assert outcome(corpus, name, shards=1, **given) == outcome(corpus, name, **given)


@for_each("name", ["sdm", "svb"])
def test_neither_workers_nor_the_loss_of_one_change_a_bit(name: str, on_disk: DiskCorpus) -> None:
    given: dict[str, Any] = _RUN | {"shards": 3, "merges": 2}
    with shard_workers(1):
        wanted = outcome(on_disk, name, **given)
    with shard_workers(3):
        assert outcome(on_disk, name, **given) == wanted
    if name == "sdm":
        with frail_workers("read", 5):  # the shards keep nothing that could be lost
            assert outcome(on_disk, name, **given) == wanted


def test_a_run_goes_on_from_its_state(corpus: Corpus) -> None:
    prepared = prepare_run(corpus, "sdm", {"k": 8, "epochs": 1.5, "shards": 2, "merges": 3})
    *_, whole = run(prepared)
    *_, half = run(prepared, max_sweeps=whole.sweep - 5)
    posed = prepare_run(corpus, "sdm", dict(prepared.spec.values))
    *_, stopped = run(posed, resume=half, poll=StopAt(5))  # in the midst of a window
    assert stopped.sweep < whole.sweep
    *_, last = run(prepare_run(corpus, "sdm", dict(prepared.spec.values)), resume=stopped)
    assert last.posterior["words"].tobytes() == whole.posterior["words"].tobytes()


@for_each("name", ["sdm", "svb"])
def test_merged_topics_are_those_of_one_shard_after_another(name: str, corpus: Corpus) -> None:
    row, rng = method_row("lda", name), np.random.default_rng(0)
    method = row.build(corpus, row.values({"k": 4}))
    base = replace(method.init(rng), batches=3, steps=rng.integers(4, size=corpus.n_words), gone=9)
    base = replace(base, prior=base.prior._replace(gains=rng.random(4), scalars=np.array([0.7, 5.0])))
    counts, gains, below = rng.gamma(2.0, size=base.by_word.shape), rng.random(4), 0.2
    documents, batches = [2, 9], [1, 4]
    steps = [rng.integers(3, size=corpus.n_words) for _ in documents]

    def moved(*shards: int) -> StreamState:
        """Return the state after these shards, one after the other, all of which draw it to the same counts."""
        made = [sum(part[p] for p in shards) for part in (batches, steps, documents)]
        before, here = (base.steps, made[1]) if name == "sdm" else (np.array([3]), np.array([made[0]]))
        rates = method.step_sizes(99)
        left = np.array([np.prod(1 - rates[t : t + n]) for t, n in zip(before, here, strict=True)])[:, None]
        kept = np.prod([1 - max(LEAST, (2 + t) ** -EASE) for t in range(5, 5 + made[2])])
        prior = base.prior._replace(
            alpha=np.float32(sum(documents[p] * (p + 1) for p in shards) / made[2]) * base.prior.alpha,
            gains=gains + kept * (base.prior.gains - gains),
            scalars=np.array([below + kept * (0.7 - below), 5.0 + made[2]]),
        )
        by_word = (counts + left * (base.by_word - counts)).astype(np.float32)
        here = {"batches": 3 + made[0], "steps": base.steps + made[1], "gone": 9 + made[2]}
        return replace(base, by_word=by_word, prior=prior, **here)

    merged, wanted = merge(method, base, [moved(0), moved(1)]), moved(0, 1)
    np.testing.assert_allclose(merged.by_word, wanted.by_word, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(merged.totals, wanted.by_word.sum(axis=0), rtol=1e-4)
    for one, other in zip(merged.prior, wanted.prior, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert (merged.batches, merged.gone) == (wanted.batches, wanted.gone)
    assert merged.steps.tolist() == wanted.steps.tolist()


def test_a_stream_whose_size_nobody_knows_is_not_cut(corpus: Corpus) -> None:
    with pytest.raises(ParameterError, match="over shards the size of the stream must be that of the corpus"):
        acvb_core.fit(corpus, "sdm", shards=2, totals="running")
