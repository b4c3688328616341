"""The data of pyLDAvis against its definitions, written out plainly."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.models.lda.pyldavis import pyldavis_data
from acvb_core.models.lda.topics import topic_map

K, V, D, R, STEP = 4, 60, 30, 7, 0.05
WORDS = [f"w{(7 * w) % V:02d}" for w in range(V)]


@pytest.fixture
def model(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    phi = rng.dirichlet(np.full(V, 0.2), size=K) + 1e-6
    theta = rng.dirichlet(np.full(K, 0.5), size=D)
    return phi / phi.sum(axis=1, keepdims=True), theta, rng.integers(5, 90, D)


@pytest.fixture
def data(model: tuple[np.ndarray, np.ndarray, np.ndarray]) -> dict[str, Any]:
    return pyldavis_data(*model, WORDS, n_words=R, lambda_step=STEP)


def rows(data: dict[str, Any], category: str) -> dict[str, tuple[float, float, float, float]]:
    table = data["tinfo"]
    columns = zip(
        table["Category"],
        table["Term"],
        table["Freq"],
        table["Total"],
        table["logprob"],
        table["loglift"],
        strict=True,
    )
    return {term: values for name, term, *values in columns if name == category}  # type: ignore[misc]


def test_has_the_keys_of_the_front_end(data: dict[str, Any]) -> None:
    assert list(data) == [
        "mdsDat", "tinfo", "token.table", "R", "lambda.step", "plot.opts", "topic.order",
    ]  # fmt: skip
    assert set(data["mdsDat"]) == {"x", "y", "topics", "cluster", "Freq"}
    assert set(data["tinfo"]) == {"Term", "Freq", "Total", "Category", "logprob", "loglift"}
    assert set(data["token.table"]) == {"Topic", "Freq", "Term"}
    assert set(data["plot.opts"]) == {"xlab", "ylab"}
    for table in ("mdsDat", "tinfo", "token.table"):
        assert len({len(column) for column in data[table].values()}) == 1
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_topics_come_largest_first(model: tuple[Any, Any, Any], data: dict[str, Any]) -> None:
    phi, theta, lengths = model
    tokens = [sum(theta[d, k] * lengths[d] for d in range(D)) for k in range(K)]
    order = sorted(range(K), key=lambda k: -tokens[k])
    assert data["topic.order"] == [k + 1 for k in order]
    assert data["mdsDat"]["Freq"] == pytest.approx([100 * tokens[k] / lengths.sum() for k in order])
    assert data["mdsDat"]["topics"] == [1, 2, 3, 4]
    places = np.array([data["mdsDat"]["x"], data["mdsDat"]["y"]]).T
    np.testing.assert_allclose(places, topic_map(phi).positions[order], atol=1e-9)


def test_places_may_be_given(model: tuple[Any, Any, Any]) -> None:
    data = pyldavis_data(*model, WORDS, positions=[[k, -k] for k in (1, 2, 3, 4)])
    assert data["mdsDat"]["x"] == data["topic.order"]
    assert data["mdsDat"]["y"] == [-k for k in data["topic.order"]]


def test_bars_are_the_words_that_some_lambda_shows(model: tuple[Any, Any, Any], data: dict[str, Any]) -> None:
    phi, theta, lengths = model
    tokens = lengths @ theta
    p = tokens @ phi / tokens.sum()
    for number, k in enumerate(np.array(data["topic.order"]) - 1, 1):
        shown: set[str] = set()
        for lambda_ in np.linspace(0, 1, 21):
            score = lambda_ * np.log(phi[k]) + (1 - lambda_) * np.log(phi[k] / p)
            shown |= {WORDS[w] for w in sorted(range(V), key=lambda w: -score[w])[:R]}
        found = rows(data, f"Topic{number}")
        assert set(found) == shown
        for term, (frequency, total, log_probability, log_lift) in found.items():
            w = WORDS.index(term)
            assert frequency == pytest.approx(tokens[k] * phi[k, w])
            assert total == pytest.approx(sum(tokens[j] * phi[j, w] for j in range(K)))
            assert log_probability == pytest.approx(math.log(phi[k, w]), abs=6e-5)
            assert log_lift == pytest.approx(math.log(phi[k, w] / p[w]), abs=6e-5)


def test_default_bars_are_the_most_salient_words(model: tuple[Any, Any, Any], data: dict[str, Any]) -> None:
    phi, theta, lengths = model
    tokens = lengths @ theta
    joint = tokens[:, None] * phi / tokens.sum()
    p = joint.sum(axis=0)
    given_word = joint / p
    distinctive = (given_word * np.log(given_word / joint.sum(axis=1, keepdims=True))).sum(axis=0)
    best = sorted(range(V), key=lambda w: -p[w] * distinctive[w])[:R]
    found = rows(data, "Default")
    assert list(found) == [WORDS[w] for w in best]
    for rank, (w, values) in enumerate(zip(best, found.values(), strict=True)):
        whole = math.floor(p[w] * tokens.sum())
        assert values == [whole, whole, R - rank, R - rank]


def test_token_table_divides_each_word_shown(model: tuple[Any, Any, Any], data: dict[str, Any]) -> None:
    phi, theta, lengths = model
    expected = (lengths @ theta)[:, None] * phi
    table = data["token.table"]
    found = dict(zip(zip(table["Term"], table["Topic"], strict=True), table["Freq"], strict=True))
    assert list(found) == sorted(found)
    plain = {}
    for term in set(data["tinfo"]["Term"]):
        w = WORDS.index(term)
        for number, k in enumerate(np.array(data["topic.order"]) - 1, 1):
            if expected[k, w] >= 0.5:
                plain[term, number] = round(expected[k, w]) / expected[:, w].sum()
    assert found == pytest.approx(plain)


def test_words_of_probability_zero_are_never_shown() -> None:
    data = pyldavis_data([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], [[0.6, 0.4]], [100], ["a", "b", "c"])
    json.dumps(data, allow_nan=False)
    assert set(rows(data, "Topic1")) == {"a", "b"}
    assert set(rows(data, "Topic2")) == {"b", "c"}
    assert data["R"] == 3


def test_one_topic() -> None:
    data = pyldavis_data([[0.75, 0.25]], [[1.0], [1.0]], [3, 5], ["a", "b"])
    assert data["mdsDat"] == {"x": [0.0], "y": [0.0], "topics": [1], "cluster": [1], "Freq": [100.0]}
    assert data["token.table"] == {"Topic": [1, 1], "Freq": [1.0, 1.0], "Term": ["a", "b"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [({"n_words": 0}, "not 0"), ({"lambda_step": 0.3}, "not 0.3"), ({"lambda_step": 0.0}, "not 0.0")],
)
def test_settings_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        pyldavis_data([[1.0]], [[1.0]], [3], ["a"], **change)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(DataError, match=r"shape \(1, 1\), with 2 lengths and 1 topics"):
        pyldavis_data([[1.0]], [[1.0]], [3, 4], ["a"])
    with pytest.raises(DataError, match="over 1 words where 2 are expected"):
        pyldavis_data([[1.0]], [[1.0]], [3], ["a", "b"])
    with pytest.raises(DataError, match=r"positions of the shape \(2, 2\) were given for 1 topics"):
        pyldavis_data([[1.0]], [[1.0]], [3], ["a"], positions=[[0, 0], [1, 1]])
