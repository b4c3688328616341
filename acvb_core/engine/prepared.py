"""A run before it starts: its settings (`RunSpec`), and these with their data (`PreparedRun`)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import count
from typing import Any, cast
from weakref import WeakKeyDictionary

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.parameters import check_share, check_whole_number
from acvb_core.core.protocols import Algorithm, Model, Start
from acvb_core.core.spec import PRESET, MethodSpec, ModelSpec
from acvb_core.data.report import plural
from acvb_core.engine.history import states_at_once
from acvb_core.engine.machine import refuse_too_large
from acvb_core.evaluate.split import Split
from acvb_core.registry import method_row, methods_for, model_for, model_row


@dataclass(frozen=True)
class RunSpec:
    """Everything needed, with the data, to repeat a run."""

    #: `model`, `method`: names in the registry.
    model: str
    method: str
    values: Mapping[str, Any]  #: a value for every parameter of the method
    seed: int = 0  #: of the inference
    #: Share of the data (of the observed entries, of each document's words) that is held out.
    heldout: float = 0.0
    heldout_seed: int = 0
    #: Runs from `seed`, `seed` + 1, … that race (`ModelSpec.raced_by`). The winner has its own seed, and 1 here.
    restarts: int = 1
    heldout_documents: float = 0.0  #: share of whole documents that is held out, in place of `heldout`
    start: str = ""  #: what the run continued from, in words; empty if it began from scratch
    of: str = ""  #: fingerprint of the data as loaded, where words of `start` were added to them

    @property
    def split(self) -> tuple[float, float, int]:
        """Shares of the data and of whole documents that are held out, and the seed, 0 where nothing is."""
        seed = self.heldout_seed if self.heldout or self.heldout_documents else 0
        return self.heldout, self.heldout_documents, seed

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


def name_run(spec: RunSpec, row: MethodSpec | None = None) -> str:
    """Return the usual name of a run: "ACVB0 · K 20 · seed 0"; of a race, with the seeds of all its starts.

    A model that is not the usual one for its data adds its word: "ACVB0 · Poisson · K 20 · seed 0".

    K is the number of clusters or features to begin with, or the number of topics; left out where the method finds it.
    `row`: the method's, by default that of the registry.
    """
    sizes = [f"{value}" for name, value in spec.values.items() if name.split("_")[0] == "k" and value]
    last = spec.seed + spec.restarts - 1
    seeds = f"seed {spec.seed}" if spec.restarts == 1 else f"seeds {spec.seed} to {last}"
    size = [f"K {' × '.join(sizes)}"] if sizes else []
    row = row or method_row(spec.model, spec.method)
    preset = ["as printed"] if spec.values.get(PRESET.name) == "paper" else []
    word = model_row(spec.model).display.run_word
    return " · ".join([row.label, *([word] if word else []), *preset, *size, seeds])


#: Most characters of a run's name.
MOST_CHARACTERS = 60


@dataclass(frozen=True)
class RunLabel:
    """The name of a run, and what people wrote about it."""

    name: str  #: nothing but what `clean_name` lets through, so that it can be shown as Markdown or HTML
    note: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False  #: the run is listed before others


def clean_name(text: str) -> str:
    """Return a name without the characters that Markdown and HTML treat as markup, and not too long."""
    # Markdown takes _ for markup only where a word begins or ends.
    plain = re.sub(r"[^\w .,+()·×-]|(?<!\w)_+|_+(?!\w)", " ", text)
    return " ".join(plain.split())[:MOST_CHARACTERS].strip()


def number_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the same, or with the first free number behind it."""
    numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(each for each in numbered if each not in taken)


def depends_on_seed(spec: RunSpec, row: MethodSpec) -> bool:
    """Return whether another seed gives another run: not where all the data are gone through from given topics."""
    return row.streams or not spec.start


#: Seconds of a sweep from which a user is told before the run.
SLOW_SWEEP = 20.0


class Binding:
    """The split, the algorithm and the model of a run, each built when it is first asked for.

    `build`: builds a part, by its name.
    """

    def __init__(self, **build: Callable[[], Any]) -> None:
        self._build, self._built = build, dict[str, Any]()
        self._lock = threading.RLock()

    def find(self, name: str) -> Any:
        """Return a part, the same object each time."""
        with self._lock:
            if name not in self._built:
                self._built[name] = self._build[name]()
            return self._built[name]


@dataclass(frozen=True, eq=False, repr=False)
class PreparedRun:
    """A run's settings and its data, and what follows from both; the costs are told before anything is built.

    Runs from other seeds share the binding.
    """

    spec: RunSpec
    #: `row`, `model_row`: rows of the registry.
    row: MethodSpec
    model_row: ModelSpec
    #: All the data, as loaded; for a stream that continues from topics, with the words of those topics.
    data: Any
    binding: Binding
    start: Start | None = None  #: what the inference begins from; None if it begins from scratch
    check_memory: bool = True  #: refuse to start where more memory is needed than is free
    lost: str = ""  #: settings of a stored run that this version does not have, in words

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the same run again: its data and settings, without split, method and model."""
        return rebuild_run, (self.data, self.spec.to_dict(), self.start)

    def __repr__(self) -> str:
        return f"PreparedRun({self.label} on {self.data!r})"

    @property
    def train(self) -> Any:
        """The data without what is held out."""
        return self.binding.find("split").train

    @property
    def heldout(self) -> Any:
        """The held-out data, with their size `n`; None if nothing is held out."""
        heldout = self.binding.find("split").heldout
        return heldout if heldout.n else None

    @property
    def note(self) -> str | None:
        """Notes for the user: changes that the split made, and settings that this version does not have."""
        return " ".join(filter(None, (self.binding.find("split").note, self.lost))) or None

    @property
    def algorithm(self) -> Algorithm:
        """The method bound to the training data and its settings."""
        return cast(Algorithm, self.binding.find("algorithm"))

    @property
    def model(self) -> Model:
        """The model of the training data."""
        return cast(Model, self.binding.find("model"))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the data as they were loaded."""
        return str(self.spec.of or self.data.fingerprint)

    @property
    def label(self) -> str:
        """Usual name of the run: method, size and seed."""
        return name_run(self.spec, self.row)

    @property
    def max_sweeps(self) -> int:
        """The most sweeps that the settings allow; for a method that streams, those of its epochs."""
        values = self.spec.values
        if "max_sweeps" in values:
            return int(values["max_sweeps"])
        return self.count_sweeps(float(values["epochs"]))

    def count_sweeps(self, epochs: float) -> int:
        """Return in how many sweeps a method that streams goes through the documents so often."""
        assert self.row.count_sweeps is not None
        return self.row.count_sweeps(self.train, dict(self.spec.values), epochs)

    @property
    def bound_unit(self) -> float | None:
        """Divisor of the bound's change before it is compared with the tolerance; None: the bound's size."""
        unit = self.model_row.bound_unit
        return None if unit is None else float(unit(self.train))

    def with_seed(self, seed: int) -> PreparedRun:
        """Return the run from one seed, without a race; a race has checked the memory for all of them."""
        spec = replace(self.spec, seed=seed, restarts=1)
        return replace(self, spec=spec, check_memory=False)

    @property
    def memory_bytes(self) -> int:
        """Peak memory the run will need beyond the data."""
        needed = memory_needed(self.train, self.model_row, self.row, self.spec.values, self.spec.restarts)
        return needed + (0 if self.heldout is None else self.model_row.scoring_bytes * self.heldout.n)

    @property
    def sweep_seconds(self) -> float:
        """Rough estimate of how long a sweep may take, by the sizes of the data and the settings."""
        return self.model_row.sweep_seconds(self.train, self.row.name, dict(self.spec.values))

    def refuse_too_large(self) -> None:
        """Raise ParameterError if the run needs more memory than is free, unless that is not to be checked."""
        if self.check_memory:
            refuse_too_large(self.memory_bytes, self.model_row, self.row)

    def refuse_unscored(self, runs: str) -> None:
        """Raise ParameterError if nothing is held out, by which `runs` are to be compared."""
        if self.heldout is None:
            raise ParameterError(
                f"Nothing is held out, so {runs} cannot be compared; hold out a larger share."
            )


def memory_needed(
    data: Any, model: ModelSpec, row: MethodSpec, values: Mapping[str, Any], restarts: int = 1
) -> int:
    """Return the peak memory of a run, or of a race of restarts, in bytes, beyond the data and the scores."""
    return model.memory(data, row.name, dict(values)) * states_at_once(restarts)


def check_run(
    model: ModelSpec,
    row: MethodSpec,
    data: Any,
    values: Mapping[str, Any],
    restarts: int = 1,
    start: Start | None = None,
    check_memory: bool = True,
) -> None:
    """Raise ParameterError if a method cannot take the data or the start, or needs more memory than is free."""
    check_method(model, row, data, start)
    if check_memory:
        refuse_too_large(memory_needed(data, model, row, values, restarts), model, row)


#: The last split of each data set, which the runs that are compared share.
_splits: WeakKeyDictionary[Any, tuple[Any, Split]] = WeakKeyDictionary()


def _split(row: ModelSpec, data: Any, spec: RunSpec) -> Split:
    """Return the data split as the settings say, the same object for the same settings."""
    key = (row.name, spec.heldout, spec.heldout_documents, spec.heldout_seed)
    known = _splits.get(data)
    if known is not None and known[0] == key:
        return known[1]
    split: Split
    if spec.heldout_documents or row.on_disk(data):
        if spec.heldout and spec.heldout_documents:
            raise ParameterError("words and whole documents cannot both be held out; choose one of the two.")
        if spec.heldout:
            raise ParameterError(
                f"{data.name} is kept on disk: hold out whole documents (heldout_documents), not words of each."
            )
        if row.hold_out_documents is None:
            raise ParameterError(f"model {row.name!r} has no documents to hold out.")
        split = row.hold_out_documents(data, spec.heldout_documents, spec.heldout_seed)
    else:
        split = row.hold_out(data, spec.heldout, spec.heldout_seed)
    if split.train is not data:  # a value that refers to its key would never be let go
        _splits[data] = (key, split)
    return split


def check_method(model: ModelSpec, row: MethodSpec, data: Any, start: Any) -> None:
    """Raise ParameterError if a method cannot take data on disk, or cannot continue from an earlier run."""
    if start is not None:
        if model.check_start is not None:
            model.check_start(start)
        if row.build_from is None:
            raise ParameterError(
                f"method {row.name!r} cannot continue from an earlier run; it begins from scratch."
            )
    if model.on_disk(data) and not (row.streams or row.shards):
        ready = ", ".join(one.name for one in methods_for(data, model.name))
        raise ParameterError(
            f"{row.name} needs all the data in memory; {data.name} is kept on disk: choose {ready}, or load it into "
            "memory."
        )


def _check_split(row: ModelSpec, data: Any, split: Split, restarts: int) -> None:
    """Raise an error if a run would have nothing to learn from, or restarts nothing to race by."""
    if row.observed is not None and not row.observed(split.train):
        one, many = row.unit
        held = row.observed(data)
        none_left = f"of {plural(held, f'known {one}', f'known {many}')}, none is left"
        raise DataError(
            f"there is no {one} to learn from: {none_left if held else f'no {one} is known'}",
            source=data.name,
            remedy="Hold out a smaller share, or nothing." if held else f"Load data with known {many}.",
        )
    if restarts > 1 and row.raced_by == "heldout" and not split.heldout.n:
        parts = " or ".join(row.domains.values())
        raise ParameterError(
            f"{restarts} restarts are to race, but nothing is held out. Runs of model {row.name!r} end at different "
            f"numbers of {parts}, so their lower bounds cannot be compared. They race by their predictions of held-out "
            "data: hold out a share of the data (0.1, say), or start one run (restarts 1)."
        )


def prepare_run(
    data: Any,
    method: str,
    values: Mapping[str, Any] | None = None,
    *,
    model: str | None = None,
    seed: int = 0,
    heldout: float = 0.0,
    heldout_seed: int = 0,
    restarts: int = 1,
    heldout_documents: float = 0.0,
    start: Start | None = None,
) -> PreparedRun:
    """Return a run that is ready to start; parameters as for `fit`, the method's settings as `values`.

    Raises ParameterError: an unknown model, method or setting, or a value out of range; restarts that race by held-out
      data without any.
    Raises DataError: nothing is known of the data, or nothing is left once a share is held out.
    """
    owner = model_for(data) if model is None else model_row(model)
    owner.accept(data)
    row = method_row(owner.name, method)
    check_method(owner, row, data, start)
    implied = {} if start is None else start.implied
    loaded = data
    if start is not None and row.streams:
        data = start.extend_data(data)
    spec = RunSpec(
        model=owner.name,
        method=method,
        values=row.values({**implied, **(values or {})}),
        seed=check_whole_number("seed", seed, 0),
        heldout=check_share(heldout),
        heldout_seed=check_whole_number("heldout_seed", heldout_seed, 0),
        restarts=check_whole_number("restarts", restarts, 1),
        heldout_documents=check_share(heldout_documents),
        start="" if start is None else start.label,
        of="" if data is loaded else loaded.fingerprint,
    )
    for name, value in implied.items():
        if start is not None and spec.values[name] != value:
            raise ParameterError(
                f"{name} is {spec.values[name]:,}, but there are {start.label} to continue from; give {name}={value}."
            )
    prepared = PreparedRun(spec, row, owner, data, _bind(spec, owner, row, data, start), start)
    split = prepared.binding.find("split")
    _check_split(owner, data, split, spec.restarts)
    row.check(split.train, dict(spec.values))
    return prepared


def _bind(spec: RunSpec, owner: ModelSpec, row: MethodSpec, data: Any, start: Start | None) -> Binding:
    def build() -> Algorithm:
        train, values = binding.find("split").train, dict(spec.values)
        if start is None or row.build_from is None:
            return row.build(train, values)
        return row.build_from(train, values, start)

    binding = Binding(
        split=lambda: _split(owner, data, spec),
        algorithm=build,
        model=lambda: owner.build(binding.find("split").train),
    )
    return binding


def rebuild_run(data: Any, settings: Mapping[str, Any], start: Start | None = None) -> PreparedRun:
    """Return the run with these settings (`RunSpec.to_dict`): the same entries or words are held out.

    Nothing is built or split for it. Its `lost` says which settings only an earlier version had.

    Raises ParameterError: this version does not have the method, or not these settings of it.
    """
    owner = model_row(settings["model"])
    row = method_row(owner.name, settings["method"])
    owner.accept(data)
    check_method(owner, row, data, start)
    values = row.values(row.drop_retired(settings["values"]))
    if start is not None and row.streams:
        data = start.extend_data(data)
    known = {field.name: settings[field.name] for field in fields(RunSpec) if field.name in settings}
    spec = RunSpec(**known | {"values": values})
    gone = {
        name: value for name, value in settings["values"].items() if value != row.retired.get(name, value)
    }
    lost = ", ".join(f"{name} {value}" for name, value in gone.items())
    if lost:
        lost = f"Computed with {lost}, which this version does not have; a longer run continues without."
    return PreparedRun(spec, row, owner, data, _bind(spec, owner, row, data, start), start, lost=lost)
