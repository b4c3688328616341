"""What differs on the pages between relations, networks, texts and tables: one row a model, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acvb_core.data.split import MAX_ENTRIES
from acvb_core.engine.job import Job
from pages.ui.irm.words_network import NETWORK
from pages.ui.irm.words_relation import RELATION
from pages.ui.lda.words_texts import TEXTS
from pages.ui.lfm.words_table import TABLES
from pages.ui.shared import format as say
from pages.ui.shared.words import ModelWords


@dataclass(frozen=True)
class Demonstration:
    """Runs on a sample that one press of a button starts.

    Attributes
    ----------
    sample : str
    methods : tuple of str
    values : mapping
        Settings that differ from the defaults.
    label, help, key : str
        Of the button.
    """

    sample: str
    methods: tuple[str, ...]
    values: Mapping[str, Any]
    label: str
    help: str
    key: str


@dataclass(frozen=True)
class Face:
    """How the pages speak of one model.

    Attributes
    ----------
    model : str
        Name in the registry.
    brought, group : str
        What a user brings, and what a list calls it.
    parts : (str, str)
        What a run finds, one and many.
    page, page_label, page_icon : str
        Where the answer of a run is shown, and the link there.
    score : (str, str, callable)
        The held-out score that stands on a card: its name, its field, and how it is written.
    held_out : str
        Of what a share is held out.
    about : str
        Said before their number where it is not exact.
    most : int or None
        How many are held out at most; None where there is no limit.
    demonstration : Demonstration
    words : ModelWords
        Explanations.
    way : str
        What the Run page calls it where the data can be taken in more ways than one.
    usual : tuple of str
        Methods that are chosen to begin with; the first is the one to start with.
    """

    model: str
    brought: str
    group: str
    parts: tuple[str, str]
    page: str
    page_label: str
    page_icon: str
    score: tuple[str, str, Callable[[float], str]]
    held_out: str
    about: str
    demonstration: Demonstration
    words: ModelWords
    way: str = ""
    usual: tuple[str, ...] = ("acvb0", "cvb0", "vb")
    most: int | None = None

    def sizes(self, effective_k: Mapping[str, int]) -> str:
        """Return how many clusters or topics there are, in digits."""
        return " × ".join(f"{k:,}" for k in effective_k.values())

    def found(self, effective_k: Mapping[str, int]) -> str:
        """Return the same with its unit: "7 × 6 clusters", "20 topics"."""
        one, many = self.parts
        single = list(effective_k.values()) == [1]
        return f"{self.sizes(effective_k)} {one if single else many}"

    def score_text(self, heldout: Any) -> str:
        """Return the held-out score of a snapshot."""
        _, field, write = self.score
        return write(getattr(heldout, field))


FACES: dict[str, Face] = {
    "irm": Face(
        model="irm",
        brought="A relation",
        group="Relation",
        parts=("cluster", "clusters"),
        page="pages/blocks.py",
        page_label="See the blocks",
        page_icon=":material/grid_view:",
        score=("Held-out skill", "skill", say.skill),
        held_out="the known entries",
        about="",
        most=MAX_ENTRIES,
        demonstration=Demonstration(
            "debtag_games",
            ("acvb0", "cvb0", "vb"),
            {},
            "Run the sample comparison",
            "ACVB0, CVB0 and VB side by side on 937 games and the 178 tags that describe them.",
            "sample_comparison",
        ),
        words=RELATION,
        way="Two clusterings, rows and columns apart",
    ),
    "network": Face(
        model="network",
        brought="A network",
        group="Network",
        parts=("cluster", "clusters"),
        page="pages/blocks.py",
        page_label="See the blocks",
        page_icon=":material/hub:",
        score=("Held-out skill", "skill", say.skill),
        held_out="the known pairs",
        about="",
        most=MAX_ENTRIES,
        demonstration=Demonstration(
            "les_miserables",
            ("acvb0", "cvb0", "vb"),
            {},
            "Find the groups of a network",
            "ACVB0, CVB0 and VB side by side on the characters of Les Misérables, and who appears with whom.",
            "sample_network",
        ),
        words=NETWORK,
        way="One clustering of the nodes",
    ),
    "lda": Face(
        model="lda",
        brought="Texts",
        group="Texts",
        parts=("topic", "topics"),
        page="pages/topics.py",
        page_label="See the topics",
        page_icon=":material/topic:",
        score=("Held-out perplexity", "perplexity", "{:,.0f}".format),
        held_out="each document's words",
        about="About ",
        demonstration=Demonstration(
            "bible",
            ("acvb0", "cvb0", "vb"),
            {"k": 20},
            "Find topics in the Bible",
            "ACVB0, CVB0 and VB side by side on the 1,189 chapters of the Bible, with 20 topics.",
            "sample_topics",
        ),
        words=TEXTS,
    ),
    "lfm": Face(
        model="lfm",
        brought="A table of numbers",
        group="Table",
        parts=("feature", "features"),
        page="pages/features.py",
        page_label="See the features",
        page_icon=":material/layers:",
        score=("Held-out log lik.", "log_likelihood", "{:.3f}".format),
        held_out="the known cells",
        about="About ",
        most=MAX_ENTRIES,
        demonstration=Demonstration(
            "digits",
            ("fab", "em", "vb"),
            {},
            "Find the features of digits",
            "FAB, EM and VB side by side on the pictures of 1,797 handwritten digits, with 30 % of the cells hidden.",
            "sample_features",
        ),
        words=TABLES,
        usual=("fab", "em", "vb"),
    ),
}


def face_of(job: Job) -> Face:
    """Return how the pages speak of a run."""
    return FACES[job.problem.settings.model]


def models_on(page: str) -> tuple[str, ...]:
    """Return the models whose answers are shown on a page."""
    return tuple(name for name, face in FACES.items() if face.page == page)


def by_model(jobs: Sequence[Job], first: str | None = None) -> dict[str, list[Job]]:
    """Return jobs by their model, one model's before the others'."""
    names = sorted(FACES, key=lambda name: name != first)
    found = {name: [job for job in jobs if job.problem.settings.model == name] for name in names}
    return {name: of_model for name, of_model in found.items() if of_model}
