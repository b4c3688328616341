"""Small data sets to try things on: each with its origin, its licence and, where there is one, its truth."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.data import sample_tables, synthetic, synthetic_networks, synthetic_topics
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.relations.assemble import object_facts
from acvb_core.data.relations.labels import load_labels
from acvb_core.data.relations.networks import with_attributes
from acvb_core.data.relations.readers import load_relation
from acvb_core.data.report import Fact, ReadReport, plural
from acvb_core.data.synthetic_features import PlantedFeatures
from acvb_core.data.synthetic_networks import PlantedNetwork
from acvb_core.data.synthetic_topics import PlantedTopics
from acvb_core.data.table import Table
from acvb_core.errors import DataError, ParameterError

_PACKAGE = Path(__file__).resolve().parent.parent
# Inside the package once it is installed, beside it in a checkout.
_FOLDERS = (_PACKAGE / "sample_data", _PACKAGE.parent / "sample_data")


#: What the data of a model are, in a word.
_KINDS = {"irm": "relation", "network": "relation", "lda": "corpus", "lfm": "table"}
SampleModel = Literal["irm", "network", "lda", "lfm"]


@dataclass(frozen=True, eq=False)
class LoadedSample:
    """A sample's data and what reading (or drawing) them found.

    Attributes
    ----------
    data : Relation, Corpus or Table
    report : ReadReport
    """

    data: Relation | Corpus | Table
    report: ReadReport

    @property
    def model(self) -> SampleModel:
        """Name of the model that is for such data."""
        if isinstance(self.data, Table):
            return "lfm"
        if isinstance(self.data, Corpus):
            return "lda"
        return "irm" if self.data.network is None else "network"

    @property
    def relation(self) -> Relation:
        """The data, where they are a relation.

        Raises
        ------
        ParameterError
            They are a corpus or a table.
        """
        if not isinstance(self.data, Relation):
            raise self._other("relation")
        return self.data

    @property
    def corpus(self) -> Corpus:
        """The data, where they are a corpus.

        Raises
        ------
        ParameterError
            They are a relation or a table.
        """
        if not isinstance(self.data, Corpus):
            raise self._other("corpus")
        return self.data

    @property
    def table(self) -> Table:
        """The data, where they are a table.

        Raises
        ------
        ParameterError
            They are a relation or a corpus.
        """
        if not isinstance(self.data, Table):
            raise self._other("table")
        return self.data

    def _other(self, wanted: str) -> ParameterError:
        kind = _KINDS[self.model]
        return ParameterError(f"The sample {self.data.name!r} is a {kind}, not a {wanted}: use .{kind}.")


@dataclass(frozen=True, eq=False)
class Truth:
    """Known groups of a relation, one entry for each object; None for a side whose groups are not known.

    Attributes
    ----------
    rows : ndarray, shape (n_rows,), or None
    columns : ndarray, shape (n_cols,), or None
    """

    rows: NDArray[Any] | None
    columns: NDArray[Any] | None


@dataclass(frozen=True)
class Sample:
    """One sample.

    Attributes
    ----------
    title, origin, licence : str
        For people; the origin is one line.
    shape : (int, int)
        Objects of both sides of a relation (of a network: its nodes, twice); documents and words of a corpus; rows and
        columns of a table.
    loader : callable
        Returns the LoadedSample.
    truth : callable or None
        Returns the Truth of a relation, or the PlantedTopics or PlantedFeatures that a corpus or table was drawn with.
    model : "irm", "network", "lda" or "lfm"
        The model that is for such data: a relation's, a network's, a corpus's or a table's.
    """

    title: str
    origin: str
    licence: str
    shape: tuple[int, int]
    loader: Callable[[], LoadedSample]
    truth: Callable[[], Truth | PlantedTopics | PlantedFeatures] | None = None
    model: SampleModel = "irm"

    @property
    def kind(self) -> str:
        """What the data are, in a word."""
        return _KINDS[self.model]

    @property
    def size_text(self) -> str:
        """Size for people."""
        first, second = self.shape
        if self.model == "lda":
            return f"{first:,} documents · {second:,} words"
        if self.model == "network":
            return f"{first:,} nodes"
        if self.model == "lfm":
            return f"{first:,} rows × {second:,} columns"
        return f"{first:,} × {second:,} objects"

    @property
    def n_rows(self) -> int:
        """Number of row objects, of documents, or of a table's rows."""
        return self.shape[0]

    @property
    def n_cols(self) -> int:
        """Number of column objects, of words, or of a table's columns."""
        return self.shape[1]

    n_documents = n_rows
    n_words = n_cols


def load_sample(name: str) -> LoadedSample:
    """Return the sample called `name`; its data carry that name.

    Raises
    ------
    ParameterError
        There is no such sample.
    DataError
        The sample's file is not where the package was installed.
    """
    return _sample(name).loader()


def sample_truth(name: str) -> Truth | PlantedTopics | PlantedFeatures | None:
    """Return what a sample's answer should be; None when it is not known.

    Of a relation the groups of the objects, in the order of its labels; of a corpus the topics it was drawn
    from, of a table the features.
    """
    truth = _sample(name).truth
    return None if truth is None else truth()


def _sample(name: str) -> Sample:
    if name not in SAMPLES:
        raise ParameterError(f"There is no sample {name!r}; choose among {', '.join(SAMPLES)}.")
    return SAMPLES[name]


def _find(filename: str) -> Path:
    for folder in _FOLDERS:
        if (folder / filename).is_file():
            return folder / filename
    raise DataError("a sample file is missing", source=filename, remedy="Install the package again.")


def _from_file(name: str, labels: str | None = None, **options: Any) -> Callable[[], LoadedSample]:
    def load() -> LoadedSample:
        loaded = load_relation(_find(f"{name}.csv"), name=name, **options)
        if labels is None:
            return LoadedSample(loaded.relation, loaded.report)
        known = load_labels(_find(f"{labels}.csv"), loaded.relation)
        facts = (*loaded.report.facts, *known.report.facts)
        return LoadedSample(with_attributes(loaded.relation, known), ReadReport(loaded.report.source, facts))

    return load


def _drawn(draw: Callable[[], synthetic.Planted]) -> tuple[Callable[[], LoadedSample], Callable[[], Truth]]:
    def load() -> LoadedSample:
        relation = draw().relation
        links = Fact(
            "links", relation.n_ones, f"Drawn from planted clusters: {plural(relation.n_ones, 'link')}."
        )
        # Both sides are numbered from 0, but they are not the same objects: nothing to say about shared labels.
        empty = [fact for fact in object_facts(relation) if fact.name.startswith("empty")]
        return LoadedSample(relation, ReadReport(relation.name, (links, *empty)))

    def truth() -> Truth:
        drawn = draw()
        return Truth(drawn.row_clusters, drawn.column_clusters)

    return load, truth


def _drawn_network(
    draw: Callable[[], PlantedNetwork],
) -> tuple[Callable[[], LoadedSample], Callable[[], Truth]]:
    def load() -> LoadedSample:
        relation = draw().relation
        told = f"Drawn from planted groups: {plural(relation.n_links, 'link')}."
        facts = (Fact("links", relation.n_links, told), *object_facts(relation))
        return LoadedSample(relation, ReadReport(relation.name, facts))

    def truth() -> Truth:
        clusters = draw().clusters
        return Truth(clusters, clusters)

    return load, truth


def _corpus_from_file(name: str, **tokeniser: Any) -> Callable[[], LoadedSample]:
    def load() -> LoadedSample:
        # What cuts texts takes a while to import: only who reads some waits for it.
        from acvb_core.data.corpora.readers import load_corpus
        from acvb_core.data.corpora.tokeniser import Tokeniser

        loaded = load_corpus(
            _find(f"{name}.csv.gz"),
            name=name,
            format="table",
            name_column="document",
            label_column="label",
            text_column="text",
            tokeniser=Tokeniser(**tokeniser),
        )
        return LoadedSample(loaded.corpus, loaded.report)

    return load


def _drawn_topics(draw: Callable[[], PlantedTopics]) -> Callable[[], LoadedSample]:
    def load() -> LoadedSample:
        from acvb_core.data.corpora.texts import corpus_facts

        drawn = draw()
        told = f"Drawn from {drawn.n_topics} planted topics."
        facts = (Fact("topics", drawn.n_topics, told), *corpus_facts(drawn.corpus))
        return LoadedSample(drawn.corpus, ReadReport(drawn.corpus.name, facts))

    return load


def _table(read: Callable[[], sample_tables.TableAndReport]) -> Callable[[], LoadedSample]:
    return lambda: LoadedSample(*read())


def _groups(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the groups of a two-column file (object, group) in the order of `labels`."""
    with _find(f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        group = dict(list(csv.reader(lines))[1:])
    return np.array([group[label] for label in labels], dtype=object)


def _karate_truth() -> Truth:
    clubs = load_sample("karate").relation.attributes["club"]
    return Truth(clubs, clubs)


def _survey_truth() -> Truth:
    relation = load_sample("survey").relation
    return Truth(
        _groups("survey_groups", relation.row_labels), _groups("survey_topics", relation.column_labels)
    )


_OWN = "Generated by this project, under its licence."
_NETWORKX = "Facts from a published study, as distributed with NetworkX (BSD-3-Clause)."
_SYNTH1, _SYNTH2 = _drawn(synthetic.synth1), _drawn(synthetic.synth2)
_GROUPS = _drawn_network(synthetic_networks.groups_of_all_kinds)
_MESSAGES = _drawn_network(synthetic_networks.flow_of_messages)

SAMPLES: dict[str, Sample] = {
    "southern_women": Sample(
        "Southern women",
        "18 women and the 14 social events they attended; Davis, Gardner and Gardner, Deep South, 1941.",
        _NETWORKX,
        (18, 14),
        _from_file("southern_women"),
    ),
    "debtag_games": Sample(
        "Debian games and their tags",
        "Which tag describes which game in the Debian archive; made from its package lists by make_debtag.py.",
        "Facts from Debian's package lists, free to use.",
        (937, 178),
        _from_file("debtag_games"),
    ),
    "karate": Sample(
        "Karate club",
        "Friendships among 34 members of a karate club that split in two; Zachary 1977.",
        _NETWORKX,
        (34, 34),
        _from_file("karate", labels="karate_clubs", domains="one", directed=False),
        _karate_truth,
        model="network",
    ),
    "les_miserables": Sample(
        "Les Misérables",
        "Who appears with whom in the chapters of the novel; Knuth, The Stanford GraphBase, 1993.",
        _NETWORKX,
        (77, 77),
        _from_file("les_miserables", domains="one", directed=False),
        model="network",
    ),
    "florentine_families": Sample(
        "Florentine families",
        "Marriages between 15 leading families of Florence about 1430; Padgett, by way of Breiger and Pattison 1986.",
        _NETWORKX,
        (15, 15),
        _from_file("florentine_families", domains="one", directed=False),
        model="network",
    ),
    "network_groups": Sample(
        "Synthetic network, groups of all kinds",
        "Undirected: four communities, buyers and sellers who only meet each other, a centre and its circle, a rest.",
        _OWN,
        (360, 360),
        *_GROUPS,
        model="network",
    ),
    "network_directed": Sample(
        "Synthetic network with directions",
        "Directed: three groups in a circle, senders, and receivers of everything.",
        _OWN,
        (150, 150),
        *_MESSAGES,
        model="network",
    ),
    "survey": Sample(
        "Survey with missing answers (made up)",
        "Synthetic: yes / no answers of 150 made-up respondents to 40 questions, one in twelve missing.",
        _OWN,
        (150, 40),
        _from_file("survey"),
        _survey_truth,
    ),
    "synth1": Sample(
        "Synthetic, 4 x 5 clusters",
        "Drawn from the model as the papers' first synthetic relation: 100 x 200 objects.",
        _OWN,
        (100, 200),
        *_SYNTH1,
    ),
    "synth2": Sample(
        "Synthetic, 7 x 6 clusters",
        "Drawn from the model as the papers' second synthetic relation: 1,000 x 1,500 objects.",
        _OWN,
        (1_000, 1_500),
        *_SYNTH2,
    ),
    "bible": Sample(
        "World English Bible, by chapter",
        "The 1,189 chapters of the Bible in modern English, labelled by part; eBible.org, made by make_bible.py.",
        "Public domain.",
        (1_189, 4_456),
        _corpus_from_file("bible", min_documents=5, max_share=0.5),
        model="lda",
    ),
    "bars": Sample(
        "Bars (synthetic pictures)",
        "Pictures of 5 x 5 pixels drawn from 10 topics, the rows and columns, as by Griffiths and Steyvers 2004.",
        _OWN,
        (1_000, 25),
        _drawn_topics(synthetic_topics.bars),
        synthetic_topics.bars,
        model="lda",
    ),
    "topics_10": Sample(
        "Synthetic, 10 topics",
        "Drawn from the model, of the size of the papers' first synthetic corpus.",
        _OWN,
        (500, 1_000),
        _drawn_topics(synthetic_topics.topics_10),
        synthetic_topics.topics_10,
        model="lda",
    ),
    "topics_40": Sample(
        "Synthetic, 40 topics",
        "Drawn from the model, of the size of the papers' second synthetic corpus.",
        _OWN,
        (1_500, 5_000),
        _drawn_topics(synthetic_topics.topics_40),
        synthetic_topics.topics_40,
        model="lda",
    ),
    "digits": Sample(
        "Handwritten digits",
        "Pictures of 8 x 8 pixels, labelled 0 to 9; E. Alpaydin and C. Kaynak 1998, as scikit-learn installs them.",
        "CC BY 4.0 (UCI Machine Learning Repository).",
        (1_797, 61),
        _table(sample_tables.digits),
        model="lfm",
    ),
    "fertility": Sample(
        "Births per woman, 1960 to 2011",
        "210 countries and regions in 52 years, some of them unknown; World Bank, made by make_fertility.py.",
        "CC BY 4.0 (World Bank, World Development Indicators).",
        (210, 52),
        _table(lambda: sample_tables.from_file(_find("fertility.csv"), "fertility")),
        model="lfm",
    ),
    "block_images": Sample(
        "Blocks (synthetic pictures)",
        "Pictures of 6 x 6 pixels, each the sum of some of four blocks and noise, as by Griffiths and Ghahramani 2006.",
        _OWN,
        (1_000, 36),
        _table(lambda: sample_tables.drawn(sample_tables.blocks)),
        sample_tables.blocks,
        model="lfm",
    ),
    "planted_features": Sample(
        "Synthetic, 5 features",
        "Drawn from the latent feature model as Hayashi and Fujimaki's artificial sets.",
        _OWN,
        (500, 30),
        _table(lambda: sample_tables.drawn(sample_tables.planted)),
        sample_tables.planted,
        model="lfm",
    ),
}
