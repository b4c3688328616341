"""Rows of the registry: an inference method (`MethodSpec`), a model (`ModelSpec`), and references to their code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from acvb_core.core.display import ModelDisplay
from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import Parameter, Value, check_values
from acvb_core.core.protocols import Algorithm, Model, Poll, Posterior, Start

Monitored = Literal["lower_bound", "pseudo_loo", "mean_change"]
#: Criteria of a race of restarts: the bound of the training data, or the score of held-out data.
RaceCriterion = Literal["lower_bound", "heldout"]
Values = dict[str, Any]

#: An average begins after at most so many sweeps.
BURN_IN_CAP = 100
#: The parameter of a method that can spread a run over shards of the data: how many there are.
SHARDS = "shards"


@dataclass(frozen=True)
class Reference:
    """A function or class, by its module and name; calling it calls that function."""

    module: str
    name: str

    def load(self) -> Any:
        """Import the module and return the function or class."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.load()(*arguments, **options)

    def is_instance(self, value: Any) -> bool:
        """Return whether a value is an instance of the class; there is none before its module was imported."""
        module = sys.modules.get(self.module)
        return module is not None and isinstance(value, getattr(module, self.name))


def references_to(module: str) -> Callable[[str], Reference]:
    """Return what makes references to a module from names, as `references_to("evaluate.split")("hold_out")` does."""
    return partial(Reference, f"acvb_core.{module}")


_REGISTRY = references_to("registry")
_MODELS = Path(__file__).parents[1] / "models"


@dataclass(frozen=True)
class Range:
    """A parameter that can be tuned, and between what values."""

    name: str  #: of the parameter
    low: float
    high: float
    log: bool = False  #: values are tried evenly on a logarithmic scale


#: Whose settings hold where none is given: ours, or those that the method's paper prints.
PRESET = Parameter(
    "preset",
    "choice",
    "default",
    "default: the settings that did best in our measurements. paper: the method as its paper prints it, with settings "
    "given beside it changed. The documentation lists the differences (docs/papers.md).",
    "Preset",
    choices=("default", "paper"),
)


@dataclass(frozen=True)
class Paper:
    """The settings a paper prints for a method, if they differ from the defaults."""

    source: str  #: paper and section
    values: Values  #: settings that the paper prints
    otherwise: str  #: what the method does otherwise by default, and why, in sentences


@dataclass(frozen=True, repr=False)
class MethodSpec:
    """One row: an inference method of one model."""

    #: `model`, `name`: what a user types.
    model: str
    name: str
    label: str  #: what a chart shows
    summary: str  #: one sentence in plain words
    reference: str  #: paper and equation
    #: All of the method's settings, those of the run (max_sweeps, tol) included.
    parameters: tuple[Parameter, ...]
    build: Callable[[Any, Values], Algorithm]  #: (training data, values) -> Algorithm
    monitored: Monitored | None  #: what convergence is judged by; None runs a fixed number of sweeps
    averaged: bool = False  #: the answer is a running mean
    sampled: bool = False  #: a sampler: predictions are averaged over the kept samples
    #: Takes the data piece by piece, so that they need not be in memory; a sweep is a window of them, and a run is as
    #: long as its `epochs`.
    streams: bool = False
    #: (data, values, start) -> Algorithm that continues from an earlier run; None if it cannot.
    build_from: Callable[[Any, Values, Any], Algorithm] | None = None
    #: (training data, values); raises ParameterError where settings do not go with each other or with the data.
    check: Callable[[Any, Values], None] = lambda data, values: None
    #: (training data, values, poll); decides by the data what `build` would take long for, and keeps it with them.
    prepare: Callable[[Any, Values, Poll], object] | None = None
    #: (training data, values, epochs) -> sweeps of a method that streams; None for the others.
    count_sweeps: Callable[[Any, Values, float], int] | None = None
    tuned: tuple[Range, ...] = ()  #: parameters worth tuning, and where
    #: What the change of the bound is counted by, in the singular, where its model has a `bound_unit`; else empty.
    bound_per: str = ""
    paper: Paper | None = None  #: the method as its paper prints it
    #: Settings that only earlier versions had, with the value at which they changed nothing.
    retired: Values = field(default_factory=dict)

    @property
    def shards(self) -> bool:
        """True if a run can be spread over shards of the data, so that no process has all of them."""
        return any(parameter.name == SHARDS for parameter in self.parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what finds the row in the registry again: its functions need not be copied or pickled."""
        return _REGISTRY("method_row"), (self.model, self.name)

    def __repr__(self) -> str:
        return f"MethodSpec({self.model!r}, {self.name!r})"

    def values(self, given: Values) -> dict[str, Value]:
        """Return a checked value for every parameter, given, of the paper with its preset, or the default."""
        if self.paper is not None and given.get(PRESET.name) == "paper":
            given = {**self.paper.values, **given}
        return check_values(self.parameters, given, f"method {self.name!r}")

    def drop_retired(self, stored: Values) -> Values:
        """Return the settings of a stored run without those that only earlier versions had."""
        return {name: value for name, value in stored.items() if name not in self.retired}

    def describe_convergence(self) -> str:
        """Return in words how a run of this method ends."""
        how, per = ("change", f" per {self.bound_per}") if self.bound_per else ("relative change", "")
        return {
            "lower_bound": f"{how} of the lower bound{per}",
            "pseudo_loo": f"{how} of the pseudo leave-one-out log likelihood{per}",
            "mean_change": f"change of the averaged {'topics' if self.streams else 'responsibilities'} (guaranteed)",
            None: f"fixed number of {'epochs' if self.streams else 'sweeps'}",
        }[self.monitored]


@dataclass(frozen=True)
class WarmUp:
    """A tiny run that uses every compiled function of a model."""

    tiny_data: Callable[[], tuple[Any, Values]]  #: () -> (data, settings of the run)
    sweeps: int  #: enough of them for every kind of update
    #: (model, posterior, training data); calls functions that only this model has.
    use_model: Callable[[Any, Posterior, Any], None] | None = None
    #: () -> None; calls the compiled functions of figures, which no run uses.
    use_figures: Callable[[], None] | None = None
    #: (method name, values, posterior, training data) -> what another run can continue from.
    start_from: Callable[[str, Values, Posterior, Any], Start] | None = None
    #: Settings under which a run begins with functions that it otherwise comes to late.
    other_half: Values = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class ModelSpec:
    """One model: what its data is called, how it is judged, what it costs."""

    name: str
    label: str
    folder: str  #: of the model, in `acvb_core/models` and in `pages/ui`
    data: str  #: what a user brings
    build: Callable[[Any], Model]  #: data -> Model
    domains: dict[str, str]  #: domain name in posteriors -> name in the plural for people
    #: (data, method name, values) -> bytes that a run will need at its peak, beyond the data.
    memory: Callable[[Any, str, Values], int]
    data_class: Reference  #: to `Relation`, `Corpus`, …
    hold_out: Callable[[Any, float, int], Any]  #: (data, share, seed) -> Split, of a part of every object
    #: (training data, held-out data or None, method, its values) -> how many sweeps lie between two evaluations of the
    #: bound, and of the held-out scores, so that diagnostics stay cheap compared with the sweeps.
    schedule: Callable[[Any, Any, MethodSpec, Values], tuple[int, int]]
    scoring_bytes: int  #: memory that scoring takes, for each held-out entry or word
    #: Array of posteriors whose rows can be told by their largest entry -> what its objects are called.
    clusterings: dict[str, str]
    #: Domain -> the parameter that says how many clusters it starts with; those that are not needed die out.
    caps: dict[str, str]
    display: ModelDisplay  #: how its runs are shown
    score_type: (
        Reference  #: to the named tuple of the held-out scores; the first field is the mean log likelihood
    )
    built_on: str = ""  #: folder of the model whose parts it takes where it has none of its own
    #: Whether data of that type are of the kind the model is for.
    accepts: Callable[[Any], bool] = lambda data: True
    wanted: str = ""  #: what that kind is, in words
    #: To the same kind of data kept on disk, for the methods that stream and those that spread over shards.
    streamed: Reference | None = None
    #: (data, share, seed) -> Split, of whole objects.
    hold_out_documents: Callable[[Any, float, int], Any] | None = None
    #: Training data -> what the change of a log likelihood is divided by before it is held against the tolerance (the
    #: number of objects). Of continuous data it is a density and may pass through zero, where a change relative to its
    #: size says nothing. None: relative to its size.
    bound_unit: Callable[[Any], float] | None = None
    #: What restarts are ranked by: the bound, or the mean log likelihood of what is held out, where bounds of
    #: different runs cannot be compared. There are no restarts then without something held out.
    raced_by: RaceCriterion = "lower_bound"
    #: Data -> how many entries, pairs, words or cells are known, from which a run learns.
    observed: Callable[[Any], int] | None = None
    unit: tuple[str, str] = ("entry", "entries")  #: what one of those is called, and many
    #: (data, method name, values) -> about how many seconds of an idle processor a sweep takes; a stream's are short.
    sweep_seconds: Callable[[Any, str, Values], float] = lambda data, method, values: 0.0
    #: (training data, values) -> the most clusters that a run may have, of each domain that has such a limit.
    limits: Callable[[Any, Values], dict[str, int]] = lambda data, values: {}
    one_domain: bool = False  #: the model is for relations with the same objects on both sides
    #: Raises ParameterError for an object that no run of the model can continue from.
    check_start: Callable[[Any], None] | None = None
    #: Posteriors of the same data -> how many parts of the first come back in all the others, and how many it has.
    #: None: the runs agree as far as their clusterings do.
    count_alike: Callable[[Sequence[Posterior]], tuple[int, int]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what finds the row in the registry again."""
        return _REGISTRY("model_row"), (self.name,)

    def __repr__(self) -> str:
        return f"ModelSpec({self.name!r})"

    @property
    def kind(self) -> str:
        """Kind of the data, in a word: "relation", "corpus" or "table"."""
        return self.data_class.name.lower()

    def warm_up(self) -> WarmUp:
        """Return the tiny run by which the model's compiled functions are made ready."""
        case: WarmUp = self.part("model").CASES[self.name]
        return case

    def part(self, name: str) -> ModuleType:
        """Return a module of the model's folder, imported now: "export", say, which the store asks for."""
        file = _MODELS / self.folder / f"{name.replace('.', '/')}.py"
        folder = self.folder if file.is_file() or not self.built_on else self.built_on
        return import_module(f"acvb_core.models.{folder}.{name}")

    def fits(self, data: Any) -> bool:
        """Return whether the model is for such data."""
        return (self.data_class.is_instance(data) or self.on_disk(data)) and self.accepts(data)

    def on_disk(self, data: Any) -> bool:
        """Return whether such data are kept on disk, so that only streams and runs over shards can take them."""
        return self.streamed is not None and self.streamed.is_instance(data)

    def accept(self, data: Any) -> None:
        """Raise a ParameterError when the data are not of the model's kind."""
        if not (self.data_class.is_instance(data) or self.on_disk(data)):
            raise ParameterError(
                f"model {self.name!r} is for a {self.kind}; this is a {type(data).__name__.lower()}."
            )
        if not self.accepts(data):
            name = getattr(data, "name", "this")
            raise ParameterError(f"model {self.name!r} is for {self.wanted}; {name!r} is not one.")


TOLERANCE = Parameter(
    "tol",
    "float",
    1e-5,
    help="A run has converged when a sweep changes it by less than this. The Guide says what is watched.",
    label="Tolerance",
    low=1e-12,
    high=1.0,
)


def max_sweeps(default: int) -> Parameter:
    """Return the parameter that caps the sweeps of a run."""
    text = "The run stops here at the latest. A sweep is one pass over the data. You can extend a run afterwards."
    return Parameter("max_sweeps", "int", default, text, "Maximum sweeps", 1, 1_000_000, advanced=False)


def burn_in(default: int, low: int, text: str) -> Parameter:
    """Return the parameter of the burn-in, with its default, lowest value and help."""
    return Parameter("burn_in", "int", default, text, "First sweeps left out (burn-in)", low, 1_000_000)


AUTO_BURN_IN = burn_in(
    0,
    0,
    "Sweeps before averaging starts. 0: automatic, once the assignments have settled, after "
    f"{BURN_IN_CAP} sweeps at the latest. Both are counted from the last merge or split.",
)
