"""Tickets of customers, drawn with a date, a product, a channel and a rating, and with known effects of these."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.metadata import kind_facts, kind_of_column
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.report import ReadReport
from acvb_core.samples.planted_mixtures import PlantedTopics, draw_corpus

Floats = NDArray[np.float64]

#: The words of each topic, the most frequent first.
_WORDS = {
    "delivery": "parcel delivery late courier tracking address waiting driver days shipped arrived neighbour depot",
    "defect": "broken crack leaking switch stopped noise heating smell replacement faulty scratch loose handle burnt",
    "refund": "refund money return label bank transfer cancelled credit unpaid amount sent weeks reply promised",
    "login": "password login account email reset code locked link browser register username expired page verify",
    "invoice": "invoice tax receipt company number charged twice statement payment card declined wrong copy euros",
    "assembly": "screws instructions assembly manual missing parts drill holes wobbly leg panel diagram tool bolt",
    "advice": "size colour compatible recommend fits watt litre material difference model wood room suitable measure",
    "praise": "thanks great friendly quick happy perfect helpful service lovely again recommend excellent team fast",
}
_COMMON = "please order customer question still today bought shop contact hello answer ordered"
#: Share of the common words in each topic, and the sum of the Dirichlet parameters of a ticket.
_COMMON_SHARE, _ALPHA = 0.15, 1.5
_PRODUCTS, _CHANNELS = ("kettle", "lamp", "chair"), ("mail", "phone", "web")
_FIRST_DAY, _DAYS = np.datetime64("2023-01-01"), 365

#: The planted effects: share of delivery on the first and the last day, of defects in tickets on kettles and on other
#: products, and of refunds in tickets rated 1 and 5. The channel has no effect.
DELIVERY, DEFECTS, REFUNDS = (0.08, 0.17), (0.18, 0.08), (0.20, 0.06)


@dataclass(frozen=True, eq=False)
class PlantedTickets(PlantedTopics):
    """Tickets and the truth they were drawn from."""

    mean: Floats  # expected share of each topic in each ticket, shape (n_documents, n_topics)
    topic_names: tuple[str, ...] = tuple(_WORDS)

    def with_report(self) -> tuple[Corpus, ReadReport]:
        """Return the corpus and what there is to tell of it."""
        corpus, report = super().with_report()
        kinds = {name: kind_of_column(column) for name, column in corpus.metadata.items()}
        return corpus, replace(report, facts=(*report.facts, *kind_facts(kinds)))


def planted_tickets(n_documents: int = 1_500, *, length: float = 30, seed: int = 0) -> PlantedTickets:
    """Draw tickets of 2023: eight topics, some of which depend on the date, the product or the rating.

    Delivery grows from 8 to 17 % of the words between January and December. Defects have 18 % in tickets on kettles and
    8 % in others. Refunds fall from 20 % at a rating of 1 to 6 % at 5. The channel has no effect. The other topics
    share the rest equally. The texts are words in random order.
    """
    if n_documents < 2 or length <= 0:
        raise ParameterError(f"There must be 2 tickets and 1 word at least, not {n_documents}, {length:g}.")
    rng = np.random.default_rng(seed)
    days = rng.integers(_DAYS, size=n_documents)
    days[:2] = 0, _DAYS - 1
    product, channel = (rng.choice(of, size=n_documents) for of in (_PRODUCTS, _CHANNELS))
    rating = rng.integers(1, 6, size=n_documents)
    mean = np.empty((n_documents, len(_WORDS)))
    mean[:, 0] = DELIVERY[0] + (DELIVERY[1] - DELIVERY[0]) * days / (_DAYS - 1)
    mean[:, 1] = np.where(product == "kettle", *DEFECTS)
    mean[:, 2] = REFUNDS[0] + (REFUNDS[1] - REFUNDS[0]) * (rating - 1) / 4
    mean[:, 3:] = (1.0 - mean[:, :3].sum(axis=1, keepdims=True)) / (len(_WORDS) - 3)
    theta = np.array([rng.dirichlet(_ALPHA * of) for of in mean])
    words, phi = _word_probabilities()
    lengths = np.maximum(rng.poisson(length, n_documents), 1)
    drawn = draw_corpus(rng, phi, theta, lengths, words, "tickets")
    corpus = replace(
        drawn.corpus,
        texts=_write_texts(rng, drawn.corpus),
        tokeniser=Tokeniser(stop_words=(), min_documents=1, max_share=1.0),
        documents=np.array([f"ticket {at}" for at in range(1, n_documents + 1)], dtype=object),
        metadata={
            "created": _FIRST_DAY + days,
            "product": product.astype(object),
            "channel": channel.astype(object),
            "rating": rating.astype(np.int64),
        },
    )
    return PlantedTickets(corpus, drawn.phi, drawn.theta, drawn.document_topics, drawn.word_topics, mean)


def _word_probabilities() -> tuple[list[str], Floats]:
    """Return the vocabulary, sorted, and the probability of each word in each topic."""
    common = _COMMON.split()
    words = sorted({*common, *(word for own in _WORDS.values() for word in own.split())})
    place = {word: at for at, word in enumerate(words)}
    phi = np.zeros((len(_WORDS), len(words)))
    for topic, own in enumerate(_WORDS.values()):
        for listed, share in ((own.split(), 1.0 - _COMMON_SHARE), (common, _COMMON_SHARE)):
            weights = (1.0 + np.arange(len(listed))) ** -0.5
            phi[topic, [place[word] for word in listed]] += share * weights / weights.sum()
    return words, phi


def _write_texts(rng: Generator, corpus: Corpus) -> tuple[str, ...]:
    counts, texts = corpus.counts, []
    for begin, end in zip(counts.indptr, counts.indptr[1:], strict=False):
        words = np.repeat(counts.indices[begin:end], counts.data[begin:end])
        texts.append(" ".join(corpus.vocabulary[rng.permutation(words)]))
    return tuple(texts)
