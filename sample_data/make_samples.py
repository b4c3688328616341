"""Make every file of this folder again.

python sample_data/make_samples.py       (needs networkx; on Debian also makes debtag_games.csv)
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
from make_debtag import write_debtag

from acvb_core.samples.planted_relations import planted_relation

FOLDER = Path(__file__).resolve().parent


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one CSV file with LF line ends."""
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_southern_women() -> None:
    """Write 18 women x 14 social events (Davis, Gardner and Gardner 1941)."""
    graph = nx.davis_southern_women_graph()
    women, events = graph.graph["top"], graph.graph["bottom"]
    write(
        "southern_women.csv",
        ["person", "event"],
        [(w, e) for w in women for e in events if graph.has_edge(w, e)],
    )


def write_karate() -> None:
    """Write the friendships of a karate club, in both directions, and the club each member went to."""
    graph = nx.karate_club_graph()
    nodes = sorted(graph)
    write("karate.csv", ["source", "target"], [(a, b) for a in nodes for b in sorted(graph[a])])
    write("karate_clubs.csv", ["member", "club"], [(a, graph.nodes[a]["club"]) for a in nodes])


def write_les_miserables() -> None:
    """Write who appears together with whom in Les Misérables, with the number of chapters, in both directions."""
    graph = nx.les_miserables_graph()
    nodes = sorted(graph)
    pairs = [(a, b, graph[a][b]["weight"]) for a in nodes for b in sorted(graph[a])]
    write("les_miserables.csv", ["source", "target", "count"], pairs)


def write_florentine_families() -> None:
    """Write the marriages between leading families of Florence, each pair once."""
    graph = nx.florentine_families_graph()
    pairs = sorted(tuple(sorted(pair)) for pair in graph.edges)
    write("florentine_families.csv", ["family_1", "family_2"], pairs)


def write_survey() -> None:
    """Write a made-up survey: yes / no answers of planted groups to planted topics, one answer in twelve missing."""
    drawn = planted_relation(150, 40, 4, 5, 12, missing_share=1 / 12)
    links, missing = drawn.relation.ones.toarray(), drawn.relation.missing.toarray()
    answers = np.where(missing, "NA", np.where(links, "yes", "no"))
    people = [f"respondent {i + 1:03d}" for i in range(150)]
    questions = [f"Q{j + 1:02d}" for j in range(40)]
    rows = [[person, *line] for person, line in zip(people, answers.tolist(), strict=True)]
    write("survey.csv", ["respondent", *questions], rows)
    write("survey_groups.csv", ["object", "cluster"], zip(people, drawn.row_clusters, strict=True))
    write("survey_topics.csv", ["object", "cluster"], zip(questions, drawn.column_clusters, strict=True))


if __name__ == "__main__":
    write_southern_women()
    write_karate()
    write_les_miserables()
    write_florentine_families()
    write_survey()
    if shutil.which("apt-cache"):
        write_debtag(FOLDER)
