"""Which methods run on which data, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.peers.trials import find_files

#: A method's name in the tables, the function that runs it, and its settings.
MethodSpec = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One method on one data set."""

    task: str
    data: str  #: as `trials.load_data` takes it
    method: str
    run: str  #: module and function: "benchmarks.peers.ours:fit_topics"
    options: dict[str, Any] = field(default_factory=dict)
    repetitions: int = 3


OURS = "benchmarks.peers.ours"
TOPIC_PEERS, CLUSTER_PEERS = "benchmarks.peers.topics", "benchmarks.peers.clusters"
FACTORS, GRAPH_TOOL = "benchmarks.peers.factors", f"{CLUSTER_PEERS}:fit_graph_tool"

#: Its models: of links, of links with the degrees of objects, and of the weights of links, with the degrees.
GRAPH_TOOL_FORMS: dict[str, dict[str, Any]] = {
    "": {"degrees": False},
    " degree-corrected": {"degrees": True},
    " degree-corrected, weights": {"degrees": True, "weights": True},
}

#: Concentrations of topics, the same for all.
PRIOR = {"alpha": 0.1, "beta": 0.01}
#: Data, topics and passes of the samplers and of ours, and of the variational peers, which need fewer and longer ones.
QUICK_TOPICS = (("reuters", 20, 500, 16),)
TOPICS = (("reuters", 20, 1_000, 64), ("bible", 50, 1_000, 32))
QUICK_DATA = {
    "networks": ("les_miserables", "network_groups"),
    "relations": ("survey", "synth1"),
    "features": ("wine", "fertility"),
}
DATA = {
    "networks": (*QUICK_DATA["networks"], "karate", "network_directed", "planted_hubs"),
    "relations": (*QUICK_DATA["relations"], "southern_women", "debtag_games", "synth2"),
    "features": (*QUICK_DATA["features"], "planted_features", "digits"),
}


def list_ours(label: str, model: str) -> list[MethodSpec]:
    """Return ACVB0 of a model of relations, which predicts by its clusters or by the mean of its samples."""
    options = {"model": model, "method": "acvb0"}
    ways = {"clusters": "clusters", "mean of samples": "samples"}
    return [
        (f"{label}, {by}", f"{OURS}:fit_clusters", options | {"predict_by": way}) for by, way in ways.items()
    ]


METHODS: dict[str, tuple[MethodSpec, ...]] = {
    "networks": (
        *list_ours("ACVB0", "network"),
        *list_ours("ACVB0 of counts", "poisson-network"),
        *(
            (f"graph-tool{form}, {by}", GRAPH_TOOL, {**GRAPH_TOOL_FORMS[form], "predict_by": way})
            for form in GRAPH_TOOL_FORMS
            for by, way in (("clusters", "clusters"), ("mean of samples", "samples"))
        ),
        ("scikit-network Louvain", f"{CLUSTER_PEERS}:fit_louvain", {}),
        ("leidenalg", f"{CLUSTER_PEERS}:fit_leiden", {}),
    ),
    "relations": (
        *list_ours("ACVB0", "irm"),
        *list_ours("ACVB0 of counts", "poisson"),
        ("sparsebm", f"{CLUSTER_PEERS}:fit_sparsebm", {}),
        ("scikit-learn coclustering", f"{CLUSTER_PEERS}:fit_sklearn", {"name": "SpectralCoclustering"}),
        ("scikit-learn biclustering", f"{CLUSTER_PEERS}:fit_sklearn", {"name": "SpectralBiclustering"}),
    ),
    "features": (
        ("FAB", f"{OURS}:fit_features", {"method": "fab"}),
        ("FactorAnalysis", f"{FACTORS}:fit_sklearn", {"name": "FactorAnalysis"}),
        ("PCA", f"{FACTORS}:fit_sklearn", {"name": "PCA"}),
    ),
}


def list_topic_cases(data: str, k: int, passes: int, long_passes: int) -> list[Case]:
    """Return the methods of topics on one corpus."""
    settings = {**PRIOR, "k": k, "passes": passes}
    methods: list[MethodSpec] = [
        (label, f"{OURS}:fit_topics", {**settings, "method": name})
        for label, name in (("CVB0", "cvb0"), ("ACVB0", "acvb0"), ("Gibbs", "gibbs"))
    ]
    methods += [
        ("tomotopy", f"{TOPIC_PEERS}:fit_tomotopy", settings),
        ("lda", f"{TOPIC_PEERS}:fit_lda", settings),
        ("scikit-learn", f"{TOPIC_PEERS}:fit_sklearn", {**settings, "passes": long_passes}),
        ("gensim", f"{TOPIC_PEERS}:fit_gensim", {**settings, "passes": long_passes}),
    ]
    return [Case("topics", data, *method) for method in methods]


def list_cases(*, quick: bool, folder: Path | None = None, repetitions: int = 3) -> list[Case]:
    """Return all cases; `folder` has further data (`trials.find_files`), which a quick run leaves out."""
    files = find_files(folder.resolve()) if folder is not None and not quick else []
    corpora = [*(QUICK_TOPICS if quick else TOPICS)]
    corpora += [(path, 50, 1_000, 32) for task, path in files if task == "topics"]
    cases = [case for corpus in corpora for case in list_topic_cases(*corpus)]
    for task, names in (QUICK_DATA if quick else DATA).items():
        for data in [*names, *(path for other, path in files if other == task)]:
            cases += [Case(task, data, *method) for method in METHODS[task]]
    return [replace(case, repetitions=repetitions) for case in cases]
