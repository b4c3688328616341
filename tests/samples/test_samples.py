"""Every sample loads, is what its row in the table says, and the folder is complete and small."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.samples import catalogue as samples
from acvb_core.samples.catalogue import SAMPLES, load_sample
from tests.loops import for_each

FOLDER = Path(__file__).parents[2] / "sample_data"
NETWORKS = [name for name, row in SAMPLES.items() if row.model.endswith("network")]


@for_each("name", list(SAMPLES))
def test_a_sample_is_what_the_table_says(name):
    row, found = SAMPLES[name], load_sample(name)
    assert found.data.shape == row.shape
    assert found.data.name == name
    assert found.data.fingerprint == load_sample(name).data.fingerprint
    assert found.data.size_text.startswith(row.size_text.removesuffix(" objects"))
    assert row.title
    assert row.origin.endswith(".")
    assert row.licence.endswith(".")
    counted = {
        "relation": ("links", "n_links"),
        "corpus": ("tokens", "n_tokens"),
        "table": ("rows", "n_rows"),
    }
    fact, size = counted[row.kind]
    assert found.report.count(fact) == getattr(found.data, size) > 0
    network = getattr(found.data, "network", None)
    of_links = "irm" if network is None else "network"
    model = {"corpus": "lda", "table": "lfm"}.get(row.kind, of_links)
    assert row.model == ("poisson-network" if name == "planted_hubs" else model)
    for kind in counted:
        if kind == row.kind:
            assert getattr(found, kind) is found.data
        else:
            with pytest.raises(ParameterError, match=rf"is a {row.kind}, not a {kind}: use \.{row.kind}"):
                getattr(found, kind)
    truth = found.truth
    assert (truth is not None) == ("Drawn from" in found.report.lines()[0])
    if truth is not None and row.kind == "relation":
        assert truth.relation is found.data
        assert (len(truth.row_clusters), len(truth.column_clusters)) == found.data.shape
    elif truth is not None and row.kind == "corpus":
        assert truth.corpus is found.data
        np.testing.assert_array_equal(truth.document_topics.sum(1), found.data.lengths)
        assert truth.phi.shape == (len(truth.word_topics.T), found.data.n_words)
    elif truth is not None:
        assert truth.table is found.data
        assert truth.weights.shape[1] == found.data.n_columns


def test_the_chapters_of_the_bible():
    corpus = load_sample("bible").corpus
    assert (corpus.lengths > 0).all()
    assert corpus.documents[[0, -1]].tolist() == ["Genesis 1", "Revelation 22"]
    assert corpus.texts[0].startswith("In the beginning, God created the heavens and the earth.")
    assert corpus.texts[-1].endswith("The grace of the Lord Jesus Christ be with all the saints. Amen.")
    assert len(set(corpus.labels)) == 7
    assert not any(character in text for text in corpus.texts for character in "<>&0123456789")
    # Words of a page are found again in the text.
    text, names = corpus.texts[2], dict(zip(corpus.vocabulary, range(corpus.n_words), strict=True))
    spans = corpus.tokeniser.spans(text, names)
    assert len(spans) == corpus.lengths[2]
    assert "serpent" in {text[start:end] for start, end, _ in spans}


@for_each("name", NETWORKS)
def test_networks_have_the_same_objects_on_both_sides(name):
    relation = load_sample(name).relation
    assert relation.row_labels.tolist() == relation.column_labels.tolist()
    assert SAMPLES[name].size_text == f"{relation.shape[0]} nodes"
    both_ways = (relation.ones != relation.ones.T).nnz == 0
    assert (relation.network.directed, relation.network.self_links) == (not both_ways, False)
    assert relation.n_missing == relation.shape[0]


def test_groups_that_are_no_communities():
    """The drawn networks have what a search for communities would miss."""
    relation = load_sample("network_groups").relation
    group, links = relation.attributes["group"], relation.ones.toarray()

    def rate(one, other):
        return links[np.ix_(group == one, group == other)].mean()

    assert rate("buyers", "sellers") > 0.15 > 10 * rate("buyers", "buyers")
    assert rate("centre", "circle") > 0.3 > 10 * rate("circle", "circle")
    assert max(rate("rest", other) for other in set(group)) < 0.03
    relation = load_sample("network_directed").relation
    group, links = relation.attributes["group"], relation.ones.toarray()
    assert rate("first", "second") > 0.2 > 10 * rate("second", "first")
    assert rate("senders", "receivers") > 0.1 > 3 * rate("receivers", "senders")


def test_readme_names_every_sample_and_the_folder_is_small():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in SAMPLES)
    files = [file for file in FOLDER.iterdir() if file.is_file()]
    assert all(f"{file.name}`" in readme for file in files if file.suffix in (".csv", ".gz"))
    assert sum(file.stat().st_size for file in files) < 1_500_000


def test_unknown_names_and_missing_files(monkeypatch):
    with pytest.raises(ParameterError, match="southern_women"):
        load_sample("northern_women")
    monkeypatch.setattr(samples, "_FOLDERS", (Path("/nowhere"),))
    for name in ("karate", "bible", "fertility"):
        with pytest.raises(DataError, match="Install the package again"):
            load_sample(name)


def test_the_files_can_be_made_again(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    make_samples = importlib.import_module("make_samples")
    monkeypatch.setattr(make_samples, "FOLDER", tmp_path)
    for write in ("southern_women", "karate", "les_miserables", "florentine_families", "survey"):
        getattr(make_samples, f"write_{write}")()
    made = sorted(file.name for file in tmp_path.iterdir())
    assert len(made) == 8
    for name in made:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_the_stored_groups_are_those_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    make_groups = importlib.import_module("make_groups")
    make_groups.write_groups(tmp_path)
    name = f"{make_groups.NAME}_groups.csv"
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()
    groups = samples.read_sample_groups(make_groups.NAME)
    assert set(groups) == set(load_sample(make_groups.NAME).relation.row_labels)
    assert len(set(groups.values())) > 5
