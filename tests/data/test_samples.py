"""Every sample loads, is what its row in the table says, and the folder is complete and small."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from acvb_core.data import samples
from acvb_core.data.samples import SAMPLES, load_sample, sample_truth
from acvb_core.errors import DataError, ParameterError

FOLDER = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_what_the_table_says(name):
    row, found = SAMPLES[name], load_sample(name)
    assert found.relation.shape == (row.n_rows, row.n_cols)
    assert found.relation.name == name
    assert found.relation.n_ones > 0
    assert found.report.count("links") == found.relation.n_ones
    assert row.title
    assert row.origin.endswith(".")
    assert row.licence.endswith(".")


@pytest.mark.parametrize("name", SAMPLES)
def test_truth_fits_the_objects(name):
    truth = sample_truth(name)
    if SAMPLES[name].truth is None:
        assert truth is None
        return
    assert (len(truth.rows), len(truth.columns)) == load_sample(name).relation.shape


def test_there_are_six_samples_or_more_and_one_has_missing_entries():
    assert len(SAMPLES) >= 6
    assert load_sample("survey").relation.n_missing > 100


def test_truth_says_something_about_the_survey():
    relation, truth = load_sample("survey").relation, sample_truth("survey")
    links, known = relation.ones.toarray(), ~relation.missing.toarray()
    spread = []
    for group in np.unique(truth.rows):
        for topic in np.unique(truth.columns):
            block = np.ix_(truth.rows == group, truth.columns == topic)
            spread.append(links[block].sum() / known[block].sum())
    assert max(spread) - min(spread) > 0.5


def test_networks_are_symmetric_with_the_same_objects_on_both_sides():
    for name in ("karate", "les_miserables"):
        relation = load_sample(name).relation
        assert relation.row_labels.tolist() == relation.column_labels.tolist()
        assert (relation.ones != relation.ones.T).nnz == 0


def test_the_southern_women():
    relation = load_sample("southern_women").relation
    assert (relation.n_ones, relation.row_kind, relation.column_kind) == (89, "person", "event")


def test_readme_names_every_sample_and_the_folder_is_small():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in SAMPLES)
    files = [file for file in FOLDER.iterdir() if file.is_file()]
    assert all(f"{file.name}`" in readme for file in files if file.suffix == ".csv")
    assert sum(file.stat().st_size for file in files) < 1_000_000


def test_unknown_names_and_missing_files(monkeypatch):
    with pytest.raises(ParameterError, match="southern_women"):
        load_sample("northern_women")
    with pytest.raises(ParameterError, match="no sample"):
        sample_truth("northern_women")
    monkeypatch.setattr(samples, "_FOLDERS", (Path("/nowhere"),))
    with pytest.raises(DataError, match="Install the package again"):
        load_sample("karate")


def test_the_files_can_be_made_again(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    make_samples = importlib.import_module("make_samples")
    monkeypatch.setattr(make_samples, "FOLDER", tmp_path)
    for write in ("southern_women", "karate", "les_miserables", "survey"):
        getattr(make_samples, f"write_{write}")()
    made = sorted(file.name for file in tmp_path.iterdir())
    assert len(made) == 7
    for name in made:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_tags_are_taken_from_package_lists(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    game_tags = importlib.import_module("make_debtag").game_tags
    available = (
        "Package: zed\nSection: games\nTag: game::arcade, use::gameplaying,\n interface::x11\n\n"
        "Package: ed\nSection: editors\nTag: role::program\n\nPackage: ant\nSection: games\nTag: game::arcade\n"
        "\nPackage: bare\nSection: games\n"
    )
    assert game_tags(available) == [
        ("ant", "game::arcade"),
        ("zed", "game::arcade"),
        ("zed", "interface::x11"),
        ("zed", "use::gameplaying"),
    ]
