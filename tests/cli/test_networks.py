"""The command line on networks: one set of objects or two, links with and without a direction, known labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from tests.cli.support import Run
from tests.loops import for_each

FEW = ("--k-rows", "6", "--quiet")
GROUPS = 3
#: Share of linked pairs from group to group: group 0 points at 1, 1 at 2, 2 at 0, not the other way. Either way
#: round, 81 % of all pairs are linked, in a group and between two.
RATES = np.array([[0.564, 0.8, 0.05], [0.05, 0.564, 0.8], [0.8, 0.05, 0.564]])


@pytest.fixture
def karate(tmp_path: Path) -> Path:
    """Zachary's karate club: each friendship on one line, in either order."""
    path = tmp_path / "karate.csv"
    graph = networkx.karate_club_graph()
    path.write_text("a,b\n" + "".join(f"m{i},m{j}\n" for i, j in graph.edges))
    return path


@pytest.fixture
def clubs(tmp_path: Path) -> Path:
    """Which club the members went to, of two of them nothing is known."""
    path = tmp_path / "clubs.csv"
    graph = networkx.karate_club_graph()
    lines = [f"m{i},{club},{i % 2}\n" for i, club in graph.nodes(data="club") if i not in (5, 8)]
    path.write_text("member,club,odd\n" + "".join(lines))
    return path


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A directed network of three groups of 16, whose links say nothing without their direction."""
    rng = np.random.default_rng(1)
    group = np.arange(16 * GROUPS) % GROUPS
    links = rng.random((len(group), len(group))) < RATES[group[:, None], group]
    np.fill_diagonal(links, False)
    path = tmp_path / "mails.csv"
    path.write_text("sender,receiver\n" + "".join(f"p{i},p{j}\n" for i, j in np.argwhere(links)))
    (tmp_path / "groups.csv").write_text("who,group\n" + "".join(f"p{i},g{k}\n" for i, k in enumerate(group)))
    return path


@for_each(
    "flags, model, network, ones",
    [
        ([], "network", "undirected", 156),
        (["--domains", "one"], "network", "undirected", 156),
        (["--same-nodes"], "network", "undirected", 156),
        (["--directed"], "network", "directed", 78),
        (["--model", "network", "--directed", "--self-links"], "network", "directed, self-links count", 78),
        (["--domains", "two"], "irm", None, 78),
        (["--model", "irm", "--domains", "two"], "irm", None, 78),
    ],
)
def test_how_many_domains(
    run: Run, karate: Path, flags: list[str], model: str, network: str | None, ones: int
) -> None:
    for command in (["fit"], ["compare", "--methods", "vb,cvb0"]):
        told = run(*command, karate, "--json", *flags, "--max-sweeps", 2, *FEW).json
        for each in told.get("runs", [told]):
            assert each["model"] == each["settings"]["model"] == model
            assert each["data"].get("network") == network
            assert each["data"]["ones"] == ones
            assert ("cols" in each["effective_k"]) == (model == "irm")


def test_directions_find_the_groups(run: Run, planted: Path, tmp_path: Path) -> None:
    out, groups = tmp_path / "out", tmp_path / "groups.csv"
    done = run("fit", planted, "--labels", groups, "--out", out, *FEW)
    assert done.code == 0
    assert "mails: 48 nodes · " in done.out
    assert "links · directed\n" in done.out
    assert f"found                 {GROUPS} clusters\n" in done.out
    assert "group: adjusted Rand index 1.000" in done.out
    assert "(48 of 48 objects, 3 labels)" in done.out
    rows, blocks = (pd.read_csv(out / f"{name}.csv") for name in ("rows", "blocks"))
    assert not (out / "columns.csv").exists()
    assert adjusted_rand_score(rows["known_group"], rows["cluster"]) == 1.0
    assert len(blocks) == GROUPS**2
    # Every group points at one other, and is pointed at by one other.
    strong = blocks[blocks["mean"] > 0.7]
    assert sorted(strong["row_cluster"]) == sorted(strong["column_cluster"]) == [1, 2, 3]
    saved = json.loads((out / "run.json").read_text())
    assert saved["known_labels"]["group"]["ari"] == 1.0
    # Without directions there is nothing to be found.
    told = run("fit", planted, "--undirected", "--json", "--labels", groups, *FEW).json
    assert told["known_labels"]["group"]["ari"] < 0.1


def test_known_labels(run: Run, karate: Path, clubs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (karate, "--labels", clubs, "--out", out)
    told = run("fit", *arguments, "--json", *FEW).json
    rows = pd.read_csv(out / "rows.csv", keep_default_na=False)
    known = rows[rows["known_club"] != ""]
    assert len(known) == 32
    club = told["known_labels"]["club"]
    assert club["ari"] == pytest.approx(adjusted_rand_score(known["known_club"], known["cluster"]))
    assert (club["labels"], club["known"], club["unknown"]) == (2, 32, 2)
    table = pd.read_csv(out / "agreement.csv")
    assert list(table["attribute"]) == ["club", "odd"]
    assert list(table["nmi"]) == [
        pytest.approx(told["known_labels"][name]["nmi"], rel=5e-6) for name in ("club", "odd")
    ]
    assert any("32 of 34 objects have labels" in line for line in told["report"])
    shown = run("compare", *arguments, "--methods", "vb,cvb0", *FEW).out
    assert "Agreement with known labels" in shown
    assert "club (ARI)  club (NMI)  odd (ARI)" in shown
    assert "Agreement on the nodes" in shown
    saved = json.loads((out / "cvb0-seed0" / "run.json").read_text())
    assert set(saved["known_labels"]) == {"club", "odd"}


def test_labels_of_both_sides(run: Run, tmp_path: Path) -> None:
    out, links, kinds = tmp_path / "out", tmp_path / "links.csv", tmp_path / "kinds.csv"
    lines = [
        f"c{i},p{j},{'east' if i % 2 else 'west'}" for i in range(12) for j in range(8) if i % 2 == j % 2
    ]
    links.write_text("\n".join(["customer,product,kind", *lines]))
    kinds.write_text("\n".join(["product,kind", *(f"p{j},{'toy' if j % 2 else 'tool'}" for j in range(8))]))
    told = run("fit", links, "--column-labels", kinds, "--out", out, "--json", *FEW).json
    assert {name: known["ari"] for name, known in told["known_labels"].items()} == {
        "kind": 1.0,
        "kind (columns)": 1.0,
    }
    assert pd.read_csv(out / "agreement.csv")["side"].tolist() == ["rows", "columns"]
    columns = pd.read_csv(out / "columns.csv")
    assert adjusted_rand_score(columns["known_kind"], columns["cluster"]) == 1.0
    refused = run("fit", links, "--domains", "one", "--undirected", "--column-labels", kinds)
    assert "give their labels as --labels" in refused.err


@for_each("ending, write", [("graphml", networkx.write_graphml), ("gml", networkx.write_gml)])
def test_attributes_of_a_graph_file_are_known_labels(
    run: Run, tmp_path: Path, clubs: Path, ending: str, write: Callable[[Any, Path], None]
) -> None:
    path = tmp_path / f"karate.{ending}"
    graph = networkx.karate_club_graph()
    write(networkx.relabel_nodes(graph, {i: f"m{i}" for i in graph}), path)
    told = run("fit", path, "--json", *FEW).json
    assert (told["model"], told["data"]["network"]) == ("network", "undirected")
    assert told["known_labels"]["club"]["known"] == 34
    # A file of labels adds to these, and has the last word.
    told = run("fit", path, "--labels", clubs, "--json", *FEW).json
    assert {name: line["known"] for name, line in told["known_labels"].items()} == {"club": 32, "odd": 32}


@for_each("flags", [[], ["--domains", "two"]])
def test_pairs_that_stand_out(run: Run, karate: Path, tmp_path: Path, flags: list[str]) -> None:
    out = tmp_path / "out"
    assert run("fit", karate, "--links", 5, "--out", out, *flags, *FEW).code == 0
    links, odd = (pd.read_csv(out / f"{name}.csv") for name in ("links", "surprising"))
    assert len(links) == len(odd) == 5
    graph = networkx.karate_club_graph()
    assert not any(
        graph.has_edge(int(a[1:]), int(b[1:])) for a, b in links[["row", "column"]].to_numpy() if not flags
    )
    assert all(graph.has_edge(int(a[1:]), int(b[1:])) for a, b in odd[["row", "column"]].to_numpy())
    assert run("compare", karate, "--links", 2, "--out", out, "--methods", "vb", *flags, *FEW).code == 0
    assert len(pd.read_csv(out / "vb-seed0" / "surprising.csv")) == 2
