"""An experiment before its runs: methods and settings, each on every split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.core.parameters import check_share, check_whole_number, suggest_names
from acvb_core.core.spec import MethodSpec, ModelSpec
from acvb_core.engine.experiments.answers import describe_answer, describe_course
from acvb_core.engine.fitting import comparison_row, list_methods, read_data
from acvb_core.engine.prepared import PreparedRun, check_run, prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.study import FAILED
from acvb_core.registry import default_methods, method_row, model_for, model_row

#: The score that decides, unless another is asked for.
SCORE = "heldout_log_likelihood"
#: Share that is held out, unless another is given.
HELD_OUT = 0.1


@dataclass(frozen=True)
class Condition:
    """A method with the settings that an experiment varies."""

    label: str  #: short name: the method, and what is varied
    method: str
    #: Values of what is varied, by the names that were given; "k" means all numbers of clusters.
    factors: Mapping[str, Any]
    values: Mapping[str, Any]  #: a value for every setting of the method
    #: Number of clusters, topics or features that the settings ask for; of two sides that differ as "10 × 20".
    k: int | str


@dataclass(frozen=True, eq=False)
class Plan:
    """An experiment before its runs: run r of every condition has split r and seed r, so that scores are paired."""

    data: Any
    model: ModelSpec
    conditions: tuple[Condition, ...]
    seeds: tuple[int, ...]  #: of the splits, and of the runs on them
    split: Mapping[str, Any]  #: `heldout` or `heldout_documents`, the share that is held out
    restarts: int = 1
    check_memory: bool = True

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.conditions) * len(self.seeds)

    @property
    def test_train_ratio(self) -> float:
        """Held-out data as a multiple of the training data, as `compare_paired` takes it."""
        share = max(self.split["heldout"], self.split["heldout_documents"])
        return float(share / (1.0 - share))

    def build_run(self, run: int) -> PreparedRun:
        """Return a run (from 0), not started; all conditions come on one split before the next split."""
        split, place = divmod(run, len(self.conditions))
        condition, seed = self.conditions[place], self.seeds[split]
        options = {"seed": seed, "heldout_seed": seed, "restarts": self.restarts, **self.split}
        prepared = prepare_run(
            self.data, condition.method, condition.values, model=self.model.name, **options
        )
        return replace(prepared, check_memory=self.check_memory)

    def list_missing(self, experiment: Any) -> list[int]:
        """Return the runs (from 0) that an `Experiment` does not have."""
        over = {row["run"] for row in experiment.rows}
        return [run for run in range(self.n_runs) if run + 1 not in over]

    def describe_run(self, run: int, result: Result) -> dict[str, Any]:
        """Return the row of a run that is over: its settings, scores, answer and course."""
        settings = {f"setting_{name}": value for name, value in result.prepared.spec.values.items()}
        if self.restarts > 1:
            settings["winner_seed"] = result.prepared.spec.seed
        row = comparison_row(result)
        scores = {f"effective_{name}" if name.startswith("k_") else name: row[name] for name in row}
        kept = describe_answer(result) | describe_course(result, SCORE)
        return {**settings, **scores, **self.identify_run(run), "error": "", **kept}

    def describe_failure(self, run: int, error: Exception) -> dict[str, Any]:
        """Return the row of a run that failed, with its reason."""
        reason = str(error) if isinstance(error, AcvbError) else f"{type(error).__name__}: {error}"
        return {**self.identify_run(run), "verdict": FAILED, "error": reason}

    def identify_run(self, run: int) -> dict[str, Any]:
        """Return what is known of a run (from 0) before it starts."""
        split, place = divmod(run, len(self.conditions))
        condition, seed = self.conditions[place], self.seeds[split]
        return {
            "run": run + 1,
            "split": split + 1,
            "condition": condition.label,
            "method": condition.method,
            "k": condition.k,
            **condition.factors,
            "seed": seed,
            "heldout_seed": seed,
        }

    def identity(self) -> dict[str, Any]:
        """Return everything that the runs depend on, as plain values: an experiment continues only with the same."""
        return {
            "data": self.data.fingerprint,
            "model": self.model.name,
            "conditions": [
                {**vars(one), "factors": dict(one.factors), "values": dict(one.values)}
                for one in self.conditions
            ],
            "seeds": list(self.seeds),
            **self.split,
            "restarts": self.restarts,
        }


def rebuild_plan(data: Any, identity: Mapping[str, Any]) -> Plan:
    """Return the plan with such an identity.

    Raises ParameterError: the data are others, or the identity is damaged.
    """
    try:
        if identity["data"] != data.fingerprint:
            raise ParameterError("The experiment was made with other data.")
        model = model_row(identity["model"])
        model.accept(data)
        return Plan(
            data,
            model,
            tuple(_rebuild_condition(model, one) for one in identity["conditions"]),
            tuple(int(seed) for seed in identity["seeds"]),
            {name: float(identity[name]) for name in ("heldout", "heldout_documents")},
            int(identity["restarts"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParameterError(f"The plan of the experiment is damaged ({error!r}).") from None


def _rebuild_condition(model: ModelSpec, known: Mapping[str, Any]) -> Condition:
    """Return a new condition; its label is shown on pages, and says nothing but its settings.

    Raises ValueError: it is not that of its own settings.
    """
    row, factors = method_row(model.name, known["method"]), known["factors"]
    known = {**known, "values": row.drop_retired(known["values"])}
    condition = _build_condition(model, row, factors, known["values"])
    for name, value in factors.items():
        settings = _settings_named(model, row, name)
        if not settings or any(
            row.values({each: value})[each] != condition.values[each] for each in settings
        ):
            raise ValueError(f"{name} is no setting of {row.name}, or has another value")
    if condition != Condition(**known):
        raise ValueError(f"{known['label']!r} is not what its settings are called")
    return condition


def plan_experiment(
    data: Any,
    methods: Iterable[str] | None = None,
    *,
    model: str | None = None,
    k: int | Iterable[int] | None = None,
    splits: int = 10,
    seed: int = 0,
    heldout: float = HELD_OUT,
    heldout_documents: float = 0.0,
    restarts: int = 1,
    check_memory: bool = True,
    **values: Any,
) -> Plan:
    """Return an experiment whose settings are checked; parameters and errors as for `experiment`."""
    names = list_methods(methods)
    data, _ = read_data(data, model, names, values)
    owner = model_for(data) if model is None else model_row(model)
    owner.accept(data)
    if methods is None:
        names = default_methods(owner.name)
    elif not names:
        raise ParameterError("An experiment needs methods; name at least one.")
    splits, seed = check_whole_number("splits", splits, 1), check_whole_number("seed", seed, 0)
    restarts = check_whole_number("restarts", restarts, 1)
    if heldout_documents:
        heldout = 0.0
    if not (heldout or heldout_documents):
        raise ParameterError("Methods are judged by what is held out; hold out a share above 0.")
    factors = {} if k is None else {"k": k}
    factors |= values
    conditions = tuple(_list_conditions(owner, names, factors))
    for condition in conditions:
        row = method_row(owner.name, condition.method)
        check_run(owner, row, data, condition.values, restarts, check_memory=check_memory)
    seeds = tuple(range(seed, seed + splits * restarts, restarts))
    split = {"heldout": check_share(heldout), "heldout_documents": check_share(heldout_documents)}
    plan = Plan(data, owner, conditions, seeds, split, restarts, check_memory)
    plan.build_run(0).refuse_unscored("methods")  # what cannot be split so is refused now, not in every run
    return plan


def _list_conditions(
    model: ModelSpec, methods: Sequence[str], factors: Mapping[str, Any]
) -> Iterator[Condition]:
    """Yield each method with each combination of the values that are varied and that it has."""
    rows = [method_row(model.name, name) for name in methods]
    choices = {name: _list_values(value) for name, value in factors.items()}
    for name, chosen in choices.items():
        if not chosen:
            raise ParameterError(f"{name} has no value; give at least one.")
        if not any(_settings_named(model, row, name) for row in rows):
            have = "has" if len(rows) == 1 else "have"
            like = suggest_names(name, dict.fromkeys(p.name for row in rows for p in row.parameters))
            raise ParameterError(f"{' and '.join(methods)} {have} no setting {name!r}.{like}")
    for row in rows:
        own = {name: chosen for name, chosen in choices.items() if _settings_named(model, row, name)}
        for combination in product(*own.values()):
            given = dict(zip(own, combination, strict=True))
            asked = {setting: given[name] for name in own for setting in _settings_named(model, row, name)}
            varied = {name: value for name, value in given.items() if len(choices[name]) > 1}
            yield _build_condition(model, row, varied, asked)


def _build_condition(
    model: ModelSpec, row: MethodSpec, varied: Mapping[str, Any], asked: Mapping[str, Any]
) -> Condition:
    """Return a method with the settings that were asked for; a wrong one is named before any run."""
    values = row.values(dict(asked))
    ks = list(dict.fromkeys(values[name] for name in _settings_named(model, row, "k")))
    k = " × ".join(map(str, ks)) if len(ks) > 1 else int(ks[0])
    spelled = {name: "K" if name == "k" else name.replace("_", " ") for name in varied}
    label = " · ".join([row.label, *(f"{spelled[name]} {value}" for name, value in varied.items())])
    return Condition(label, row.name, varied, values, k)


def _settings_named(model: ModelSpec, row: MethodSpec, name: str) -> list[str]:
    """Return the settings of a method that a name means: itself, or for "k" all numbers of clusters."""
    own = [parameter.name for parameter in row.parameters]
    if name in own:
        return [name]
    return [cap for cap in model.caps.values() if cap in own] if name == "k" else []


def _list_values(value: Any) -> list[Any]:
    is_one = isinstance(value, str) or not isinstance(value, Iterable)
    return [value] if is_one else list(dict.fromkeys(value))
