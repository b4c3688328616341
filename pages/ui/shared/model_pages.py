"""The pages of a model: everything that the app shows of one model and not of another.

Each model has a folder beside this one. Its module `model_pages` lists, as MODEL_PAGES, the pages of the models in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from acvb_core.core.spec import MethodSpec
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.registry import MODELS, model_row
from acvb_core.views.theme import Figure
from pages.ui.shared.words import ModelWords

if TYPE_CHECKING:
    from pages.ui.shared.answer_page import ComparedRuns
    from pages.ui.shared.workspace import Workspace
    from pages.ui.upload.reader import Reader
    from pages.ui.workspace.dataset import Dataset


class DatasetSummary(NamedTuple):
    """The figures and tabs by which the Data page shows a data set."""

    figures: tuple[tuple[str, str], ...]  # name and value
    tabs: dict[str, Callable[[], None]]  # each draws the tab of its name
    note: str = ""  # a caption below the figures, in the program's own words
    advice: str = ""  # shown where some methods will not fit into memory


class Picture(NamedTuple):
    """A result in two figures, for Home: the data as they were read, and what a run made of them."""

    before: Figure
    after: Figure
    caption: str


class Demonstration(NamedTuple):
    """Runs on a sample that one press of a button starts; `values` are the settings that differ from the defaults."""

    sample: str
    methods: tuple[str, ...]
    values: Mapping[str, Any]
    label: str
    help: str
    key: str


class AnswerPage(NamedTuple):
    """The page that shows what a run has found; several models may share one."""

    path: str  #: of the script, from the folder of app.py
    title: str
    icon: str
    start: str  #: one sentence about what a run on such data will show, before there is one
    needs: str  #: one sentence about the data that it takes, if others are in use
    first: str  #: what it shows and what to do first, if no data are in use

    @property
    def link_label(self) -> str:
        """The label of a link to the page: "See the blocks"."""
        return f"See the {self.title.lower()}"


class FurtherPage(NamedTuple):
    """A page of one model, beside the one that shows its answers."""

    path: str
    title: str
    icon: str


class WholeObjects(NamedTuple):
    """The choice between holding out a part of every object and holding out whole objects.

    `one` is an object ("document"), `choices` name the two, `most` is the largest number of objects that are held out,
    and `scored` is one sentence about how they are scored.
    """

    one: str
    choices: tuple[str, str]
    help: str
    usual_share: float
    most: int
    scored: str


class HeldOut(NamedTuple):
    """The part of the data that new runs hold out."""

    of: str  #: what the share is taken of: "the known entries"
    usual_share: float = 0.1
    about: str = ""  #: put before a number that is not exact
    most: int | None = None  #: the largest number; None: no limit
    whole: WholeObjects | None = None  #: whole objects, which may be held out instead


@dataclass(frozen=True, kw_only=True)
class ModelPages:
    """Everything that the pages show of one model."""

    model: str  #: name in the registry
    data_name: str  #: the kind of data, for a question ("A relation")
    group: str  #: … and for a list ("Relation")
    answer: AnswerPage
    icon: str = ""  #: of a link to a run's answer; empty: that of the page
    promise: str = ""  #: what it finds, for Home: "the topics in texts"
    held_out: HeldOut
    demonstration: Demonstration | None  #: None: no sample shows what the model is for
    words: ModelWords
    files: str  #: the files that can be uploaded, Markdown
    summary: Callable[[Any], DatasetSummary]  #: of data
    reader: Reader | None = None  #: the upload form of such data; None: another model's reads them
    compare: Callable[[ComparedRuns], None]  #: draws a section of the Compare page
    clustered_by: str = ""  #: one sentence on that page about how its objects are clustered
    uses: Mapping[
        str, str
    ]  #: when to use each method, one line, by its name; the recommended method comes first
    acronyms: str  #: what the methods' names stand for
    recommended_on_disk: str = ""  #: the recommended method for data on disk
    less_memory: str = ""  #: one sentence about methods that need less memory
    kind: str = ""  #: the choice of this model's folder, if several folders have models for the data
    kinds_help: str = ""  #: … and one paragraph about that choice
    way: str = ""  #: the choice of this model, if several of its folder are for the data
    short_way: str = ""  #: … its name in a run's name
    ways_help: str = ""  #: … and one paragraph about the choice
    #: Of data: what the model does with them, in a sentence for the form that starts runs; empty if that is plain.
    about_data: Callable[[Any], str] = lambda data: ""
    #: Of a result: how its strengths are to be read, in a sentence or two; empty if that is plain.
    about_result: Callable[[Result], str] = lambda result: ""
    #: Draws the choice of trained parts that runs start from, for a data set and the chosen methods.
    start_from: Callable[[Workspace, Dataset, Sequence[MethodSpec]], StartChoice] | None = None
    #: Draws the searches for the best settings of a method.
    tuning: Callable[[Workspace, Dataset | None], None] | None = None
    further: tuple[FurtherPage, ...] = ()
    #: Of a run, or else of a sample whose clusters are stored.
    picture: Callable[[Result | None], Picture] | None = None

    @property
    def parts(self) -> tuple[str, str]:
        """The words for what a run finds, one and many."""
        return model_row(self.model).display.parts

    @property
    def answer_icon(self) -> str:
        """The icon of a link to a run's answer."""
        return self.icon or self.answer.icon

    def recommend_method(self, on_disk: bool = False) -> str:
        """Return the name of the method to start with."""
        return self.recommended_on_disk if on_disk else next(iter(self.uses))

    def write_sizes(self, effective_k: Mapping[str, int]) -> str:
        """Return the number of clusters of each domain, or of topics, in digits."""
        return " × ".join(f"{k:,}" for k in effective_k.values())

    def write_parts(self, effective_k: Mapping[str, int]) -> str:
        """Return the same with its unit: "7 × 6 clusters", "20 topics"."""
        one, many = self.parts
        single = list(effective_k.values()) == [1]
        return f"{self.write_sizes(effective_k)} {one if single else many}"


class StartChoice(NamedTuple):
    """The start of new runs: from trained parts, or anew."""

    trained: Any  # parts of an earlier run, as `prepare_run` takes them; None: runs start anew
    values: Mapping[str, Any]  # settings that follow from them
    methods: list[MethodSpec]  # the chosen methods that can start so


@cache
def all_model_pages() -> dict[str, ModelPages]:
    """Return the pages of each model by its name, in the registry's order."""
    return {
        row.name: import_module(f"pages.ui.{row.folder}.model_pages").MODEL_PAGES[row.name] for row in MODELS
    }


def pages_of_model(model: str) -> ModelPages:
    """Return the pages of a model."""
    return all_model_pages()[model]


def pages_of_run(job: Job) -> ModelPages:
    """Return the pages of a run's model."""
    return pages_of_model(job.outline.spec.model)


def answer_pages() -> dict[str, ModelPages]:
    """Return the first model on each page that shows answers, by the path of the page."""
    first: dict[str, ModelPages] = {}
    for pages in all_model_pages().values():
        first.setdefault(pages.answer.path, pages)
    return first


def models_on(page: str) -> tuple[str, ...]:
    """Return the models whose answers are shown on a page."""
    return tuple(name for name, pages in all_model_pages().items() if pages.answer.path == page)


def group_by_model(jobs: Sequence[Job], first: str | None = None) -> dict[str, list[Job]]:
    """Return jobs by their model, one model's before the others'."""
    names = sorted(all_model_pages(), key=lambda name: name != first)
    groups = {name: [job for job in jobs if job.outline.spec.model == name] for name in names}
    return {name: jobs_of_model for name, jobs_of_model in groups.items() if jobs_of_model}
