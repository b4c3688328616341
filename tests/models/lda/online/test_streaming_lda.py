"""Documents piece by piece: what one pass over all of them gives, whatever they come as, and nothing lost unseen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.online.stream import add_words
from acvb_core.models.lda.online.streaming_lda import StreamingLda
from acvb_core.models.lda.trained import trained_topics
from acvb_core.models.lda.transform import map_onto_vocabulary
from acvb_core.samples.planted_mixtures import planted_topics
from tests.loops import for_each

#: More documents than alpha is held fast for.
PLANTED = planted_topics(1300, 80, 4, 12, 0.1, 0.05, 0)
CORPUS = PLANTED.corpus
CUTS = (0, 1, 90, 400, 401, 1250, 1300)
STREAMS = ("sdm", "scvb0", "svb")
#: What a state is made of, as a posterior tells it.
TOLD = ("words", "alpha", "gains", "steps", "sizes", "course", "documents_met")


def texts_of(corpus: Corpus) -> list[str]:
    """Return a text for each document; its words in no special order."""
    rows = (corpus.counts[[d]] for d in range(corpus.n_documents))
    return [" ".join(np.repeat(corpus.vocabulary[row.indices][::-1], row.data[::-1])) for row in rows]


TEXTS = texts_of(CORPUS)


def parts(cuts: tuple[int, ...] = CUTS) -> list[Corpus]:
    return [CORPUS.take_documents(np.arange(*cut)) for cut in pairwise(cuts)]


def one_pass(corpus: Corpus, method: str = "sdm", **values: Any) -> Result:
    """Return a run of the engine on all documents as they stand, their number not known to it."""
    return fit(corpus, method, k=4, **({"epochs": 1.0, "totals": "running", "shuffle": False} | values))


def assert_same(model: StreamingLda, result: Result) -> None:
    """Check that a stream knows bit for bit what a run does."""
    posterior = model.trained_topics().posterior
    for name in TOLD:
        np.testing.assert_array_equal(posterior[name], result.snapshot.posterior[name], err_msg=name)


@for_each("prior", ["symmetric", "left_to_right"])
def test_sdm_piece_by_piece_is_one_pass_bit_for_bit(prior: str) -> None:
    model = StreamingLda("sdm", k=4, prior=prior)
    for part in parts():
        model.partial_fit(part)
    assert_same(model, one_pass(CORPUS, prior=prior))
    assert_same(model, one_pass(CORPUS, prior=prior, window=77))
    assert model.documents_seen == 1300


@for_each("method", ["scvb0", "svb"])
def test_pieces_of_whole_minibatches_are_one_pass_bit_for_bit(method: str) -> None:
    model = StreamingLda(method, k=4, batch=50)
    model.partial_fit(parts((0, 200, 400, 600, 800, 1000, 1200, 1300)))
    np.testing.assert_array_equal(model.trained_topics().sizes, CORPUS.frequencies)
    assert_same(model, one_pass(CORPUS, method, batch=50, window=200))
    state = model._state
    longer = add_words(state, np.full((3, 4), [0.5, 1.0, 2.0, 4.0], dtype=np.float32))
    assert len(longer.by_word) == len(state.by_word) + 3
    np.testing.assert_allclose(longer.totals, longer.by_word.sum(axis=0, dtype=np.float64), rtol=1e-4)


@for_each("window", [0, 33, 5000])
def test_texts_with_words_as_they_come_are_one_pass_over_the_vocabulary_in_that_order(window: int) -> None:
    model = StreamingLda("sdm", k=4, window=window).partial_fit(TEXTS)
    vocabulary = model.trained_topics().vocabulary
    assert set(vocabulary) == set(CORPUS.vocabulary[CORPUS.frequencies > 0])
    whole = Corpus.build(map_onto_vocabulary(CORPUS, vocabulary).counts, vocabulary=vocabulary)
    assert_same(model, one_pass(whole))


def test_every_kind_of_documents_gives_the_same_topics(tmp_path: Path) -> None:
    """Corpora on disk, over words in another order, and texts in a list, an iterator, a series or an array."""
    disk = write_disk_corpus([CORPUS], tmp_path / "disk", shard_pairs=500)
    assert_same(StreamingLda("sdm", k=4).partial_fit(iter([disk])), one_pass(CORPUS))
    other = Corpus.build(CORPUS.counts[:, ::-1], vocabulary=CORPUS.vocabulary[::-1])
    assert_same(StreamingLda("sdm", k=4, vocabulary=CORPUS.vocabulary).partial_fit(other), one_pass(CORPUS))
    kinds = (TEXTS, iter(TEXTS), pd.Series(TEXTS), np.array(TEXTS))
    models = [StreamingLda("scvb0", k=4, window=200).partial_fit(given) for given in kinds]
    assert len({model.trained_topics().posterior["words"].tobytes() for model in models}) == 1


def test_several_epochs_are_those_of_a_run() -> None:
    model = StreamingLda("sdm", k=4).partial_fit(TEXTS[:10]).fit(parts((0, 300, 900, 1300)), epochs=3)
    assert_same(model, one_pass(CORPUS, epochs=3.0, window=1300))
    assert model.documents_seen == 1300


def test_what_came_before_a_fault_of_an_iterator_is_kept() -> None:
    """An iterator is read in pieces."""
    model, ahead = StreamingLda("sdm", k=4, window=50), []

    def broken() -> Iterator[str]:
        for number, text in enumerate(TEXTS[:120]):
            ahead.append(number - model.documents_seen)
            yield text
        raise OSError("the line is down")

    with pytest.raises(OSError, match="the line is down"):
        model.partial_fit(broken())
    assert max(ahead) == 50
    assert model.documents_seen == 100
    later, straight = model.partial_fit(TEXTS[100:300]), StreamingLda("sdm", k=4, window=50)
    one, other = (stream.trained_topics() for stream in (later, straight.partial_fit(TEXTS[:300])))
    np.testing.assert_array_equal(one.posterior["words"], other.posterior["words"])


def test_words_of_a_fixed_vocabulary_alone_are_learned_and_the_others_counted() -> None:
    kept = CORPUS.vocabulary[::2].tolist()
    model = StreamingLda("scvb0", k=4, vocabulary=kept, tokeniser=Tokeniser()).partial_fit(CORPUS)
    only = Corpus.build(CORPUS.counts[:, ::2], vocabulary=kept)
    assert_same(model, one_pass(only, "scvb0", window=1300))
    model.partial_fit(["zebra and gnu", "emu"])
    assert model.unknown_tokens == CORPUS.frequencies[1::2].sum() + 3
    assert model.documents_seen == 1302


@for_each("method", ["scvb0", "svb"])
def test_a_minibatch_is_weighed_by_the_documents_that_will_come(method: str) -> None:
    part, found = CORPUS.take_documents(np.arange(100)), {}
    for total in (1_000, 5_000, 3, None):
        model = StreamingLda(method, k=4, batch=100, step_offset=4.0, total_documents=total).partial_fit(part)
        found[total] = model._state.totals
    # Of 1,000 documents these are a tenth, of 5,000 a fiftieth.
    step = model._method.step(1)
    assert found[5_000].sum() - found[1_000].sum() == pytest.approx(step * 40 * part.n_tokens, rel=1e-5)
    np.testing.assert_array_equal(found[3], found[None])


def test_the_leave_one_out_perplexity_is_that_of_the_last_call() -> None:
    model = StreamingLda("sdm", k=4, window=100).partial_fit(TEXTS)
    before = model.loo_perplexity
    assert model.partial_fit(TEXTS[:100]).loo_perplexity < before  # type: ignore[operator]
    assert model.partial_fit([]).loo_perplexity is None
    assert StreamingLda("sdm", k=4).partial_fit(["apple"]).loo_perplexity is None  # one word has no others
    # Topics, shares and perplexities are those of a result.
    result, model = one_pass(CORPUS, window=1300), StreamingLda("sdm", k=4).partial_fit(CORPUS)
    part = CORPUS.take_documents(np.arange(40))
    pd.testing.assert_frame_equal(model.transform(part), result.transform(part))
    assert model.perplexity(part) == result.completion(part).perplexity
    assert model.loo_perplexity == pytest.approx(result.snapshot.extras["loo_perplexity"])


@for_each("method", STREAMS)
def test_going_on_from_what_was_learned_is_never_having_stopped(method: str) -> None:
    straight = StreamingLda(method, k=4, seed=3, vocabulary=CORPUS.vocabulary).partial_fit(parts())
    half = StreamingLda(method, k=4, seed=3, vocabulary=CORPUS.vocabulary).partial_fit(parts()[:4])
    later = StreamingLda.from_trained(half.trained_topics(), seed=3).partial_fit(parts()[4:])
    for name in TOLD:
        one, other = later.trained_topics().posterior[name], straight.trained_topics().posterior[name]
        # Not to the bit: how large the topics are is added up anew.
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6, err_msg=name)
    assert later.documents_seen == 1300


def test_settings_and_tokeniser_are_those_of_the_trained_topics() -> None:
    tokeniser = Tokeniser(lowercase=False)
    model = StreamingLda("scvb0", k=3, tokeniser=tokeniser, batch=7, beta=0.2)
    model.partial_fit(["Apple pear", "Pear"])
    again = StreamingLda.from_trained(model.trained_topics(), grow=False, batch=9)
    trained = again.partial_fit(["Apple plum"]).trained_topics()
    assert (trained.method, trained.values["batch"], trained.posterior.hyper["beta"]) == ("scvb0", 9, 0.2)
    assert trained.tokeniser == tokeniser.without_limits()
    assert again.unknown_tokens == 1
    assert sorted(trained.vocabulary) == ["Apple", "Pear", "pear"]
    for method, values, name in (("ascvb0", {"epochs": 0.2}, "scvb0"), ("vb", {"max_sweeps": 2}, "sdm")):
        topics = trained_topics(fit(CORPUS, method, k=4, **values))
        assert StreamingLda.from_trained(topics).trained_topics().method == name


def test_texts_without_words_are_documents_too() -> None:
    model = StreamingLda("svb", k=3).partial_fit([]).partial_fit(["", "the and of", "12"])
    assert model.documents_seen == 3
    assert model.loo_perplexity is None
    with pytest.raises(ParameterError, match="no topics yet"):
        model.trained_topics()
    model.partial_fit(["", "apple pear", ""]).partial_fit([""])
    assert model.documents_seen == 7
    found = model.trained_topics()
    assert np.isfinite(found.word_probability).all()
    assert found.vocabulary.tolist() == ["apple", "pear"]


WRONG: list[tuple[Any, str]] = [
    ("a text", "put a single text into a list"),
    (pd.DataFrame({"text": ["apple"]}), "documents is a DataFrame"),
    (5, "documents is a int"),
    (["apple", "pear", None], r"document 3 is a NoneType \(None\)"),
    ([["apple", "pear"]], r"document 1 is a list.*Corpus.build"),
    (np.eye(2), r"document 1 is a ndarray.*Corpus.build"),
]


@for_each("given, message", WRONG)
def test_what_is_no_document_is_refused_before_anything_is_learned(given: Any, message: str) -> None:
    model = StreamingLda("sdm", k=2, window=1)
    with pytest.raises(ParameterError, match=message):
        model.partial_fit(given)
    assert model.documents_seen == 0


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"method": "asdm"}, "choose one of sdm, scvb0, svb"),
    ({"epochs": 3}, r"epochs is not a setting of a stream.*fit\(documents, epochs"),
    ({"vocabulary": "apple"}, "give a list of words"),
    ({"vocabulary": []}, "vocabulary has no words"),
    ({"total_documents": 10}, "sdm does not use total_documents"),
    ({"method": "svb", "total_documents": 0}, "total_documents is 0"),
]


@for_each("options, message", MISTAKES)
def test_a_setting_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        StreamingLda(**options)


def test_other_mistakes_are_refused() -> None:
    with pytest.raises(DataError, match="apple"):
        StreamingLda(vocabulary=["apple", "apple"])
    model = StreamingLda(k=4)
    with pytest.raises(ParameterError, match="call partial_fit"):
        _ = model.topics
    trained = model.partial_fit(CORPUS.take_documents(np.arange(5))).trained_topics()
    for ask, message in (
        (lambda: model.fit(iter(TEXTS), epochs=2), "can be gone through once, not 2 times"),
        (lambda: model.fit(TEXTS, epochs=0), "epochs is 0"),
        (lambda: model.partial_fit(["apple"]), "was read as counts"),
        (lambda: StreamingLda.from_trained(trained, k=7), r"k is 7.*give k=4"),
        (lambda: StreamingLda.from_trained(trained, beta=0.1), "beta cannot be set here"),
    ):
        with pytest.raises(ParameterError, match=message):
            ask()
