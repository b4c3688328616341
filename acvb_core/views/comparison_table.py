"""The table of compared runs: which values are comparable and which is best, settings, repeats with other seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.display import write_number
from acvb_core.core.spec import ModelSpec
from acvb_core.engine.fitting import comparison_row
from acvb_core.engine.history import MOTION, Verdict
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import agreement
from acvb_core.evaluate.chains import measure_mixing
from acvb_core.registry import MODELS

Writer = Callable[[float], str]
_write_count: Writer = "{:,.0f}".format

#: Columns of the table: key of a comparison row -> (title, how it is written, 1 if higher is better, -1 if lower,
#: 0 if neither is).
COLUMNS: dict[str, tuple[str, Writer | None, int]] = {
    "verdict": ("Status", None, 0),
    "settled": ("Sweeps and mean", None, 0),
    "sweeps": ("Sweeps", _write_count, 0),
    "passes": ("Epochs", write_number, 0),
    "cpu_seconds": ("CPU s", write_number, -1),
    "lower_bound": ("Lower bound", write_number, 1),
    # An approximation that may lie above the quantity it should bound: a higher one need not be better.
    "collapsed_bound": ("Collapsed bound", write_number, 0),
    "bound_error": ("Its error", write_number, 0),
    "pseudo_loo": ("Leave-one-out", write_number, 1),
    "loo_perplexity": ("Leave-one-out perplexity", write_number, 0),
    "heldout_log_likelihood": ("Held-out log likelihood", write_number, 1),
    "heldout_means_log_likelihood": ("Column means", write_number, 0),
    "heldout_perplexity": ("Held-out perplexity", write_number, -1),
    "heldout_skill": ("Skill", write_number, 1),
    "heldout_averaged_skill": ("Skill, averaged", write_number, 1),
    "heldout_rmse": ("RMSE", write_number, -1),
    "heldout_explained": ("Explained", write_number, 1),
    "train_log_likelihood": ("Training log likelihood", write_number, 0),
    "heldout_roc_auc": ("AUC", write_number, 1),
    "heldout_averaged_roc_auc": ("AUC, averaged", write_number, 1),
    "heldout_average_precision": ("AP", write_number, 1),
    "heldout_count_log_likelihood": ("Held-out weights", write_number, 1),
    "heldout_averaged_count_log_likelihood": ("Held-out weights, averaged", write_number, 1),
    **{
        f"k_{domain}": (name.capitalize(), _write_count, 0)
        for row in reversed(MODELS)
        for domain, name in row.domains.items()
    },
}

#: Explanations of columns, by title.
HELP = {
    "Sweeps and mean": "Settled: the last sweep lies close to the average that is the answer.",
    "Lower bound": "On the log probability of the data, in nats (natural logarithms).",
    "Collapsed bound": "An approximation of the bound, in nats; a higher one need not be better. Empty if it broke "
    "down, because the counts are too small for it.",
    "Its error": "The collapsed bound, which is of second order, less the exact one, in nats. Known of exact methods.",
    "Leave-one-out": "Sum of the log probabilities of all entries, each predicted from the others, in nats.",
    "Held-out log likelihood": "Mean log probability of what was hidden from the run, in nats. Higher is better.",
    "Column means": "Held-out log likelihood if the mean and variance of its column predict each cell. A run below it "
    "predicts worse than no model.",
    "Held-out perplexity": "Hidden words are as uncertain as a fair choice among so many words. Lower is better.",
    "Leave-one-out perplexity": "As held-out perplexity, but each word is predicted from all the others.",
    "Skill": "How well hidden entries are predicted: 0 no better than guessing the density, 1 perfect.",
    "Skill, averaged": "Skill of the mean prediction of many samples, in place of the prediction by the clusters.",
    "RMSE": "Root mean squared error of hidden cells, in standard deviations of a column. Lower is better.",
    "Explained": "Share of the variance of hidden cells that is predicted.",
    "Held-out weights": "Mean log probability of the hidden weights, in nats, by models of counts. Higher is better.",
    "AUC": "Area under the ROC curve: how often a hidden link is ranked above a hidden non-link.",
    "AUC, averaged": "AUC of the mean prediction of many samples.",
    "AP": "Average precision of that ranking; compare it with the density.",
}

#: Scores that are comparable between models on the same data; each model counts the rest in its own way.
_ACROSS = ("cpu_seconds", "heldout_")


@dataclass(frozen=True, eq=False)
class ComparisonTable:
    """Runs side by side."""

    #: One row a run: the settings in which runs differ, then columns as titled in `COLUMNS` that some run has.
    frame: pd.DataFrame
    best: pd.DataFrame  #: of the frame's shape: True if the value is the best of those it is comparable with
    formats: dict[str, Writer]  #: writes the numbers of each column
    same_data: bool  #: all runs are on the same data
    notes: list[str]  #: reasons why values are not compared, in sentences
    same_split: bool = True  #: the same data were held out of all runs, too
    seeds: pd.DataFrame | None = (
        None  #: scores over runs that differ in their seeds alone (`summarise_seeds`)
    )


def comparison_table(
    results: Sequence[Result], labels: Sequence[str], states: Sequence[str] | None = None
) -> ComparisonTable:
    """Return the table of some runs, named by `labels`; `states` says how each ended, in place of its verdict.

    Values are compared only on the same data and, as the bound and the scores depend on what was held out, on the
    same split. The time of a run that did not converge is not the time that its method needs.
    """
    rows = pd.DataFrame([comparison_row(result) for result in results], index=list(labels))
    if states is not None:
        rows["verdict"] = list(states)
    rows["settled"] = rows["settled"].map(MOTION, na_action="ignore")
    # A window of a stream is no sweep; every run has a number of passes over the data.
    streams = any(result.prepared.row.streams for result in results)
    left_out = "sweeps" if streams else "passes"
    keys = [key for key in COLUMNS if key != left_out and key in rows and rows[key].notna().any()]
    same_data = len({result.prepared.fingerprint for result in results}) <= 1
    one_split = same_data and same_split(results)
    best = pd.DataFrame(False, index=rows.index, columns=keys)
    models = _models(results)
    unmarked = {key for model in models for key in model.display.unmarked}
    if one_split:
        for key in keys:
            sign = COLUMNS[key][2]
            if sign and key not in unmarked and (len(models) == 1 or key.startswith(_ACROSS)):
                eligible = np.array(
                    [one.verdict is Verdict.CONVERGED for one in results]
                    if key == "cpu_seconds"
                    else [one.verdict is not Verdict.DIVERGED for one in results]
                )
                best[key] = _mark_highest(rows[key].to_numpy(dtype=float) * sign, eligible)
    titles = {key: COLUMNS[key][0] for key in keys}
    for model in models:
        titles |= {key: own[len(models) > 1] for key, own in model.display.titles.items() if key in titles}
    settings = compare_settings(results, labels)
    settings.columns = [f"{title} (setting)" if title in titles.values() else title for title in settings]
    return ComparisonTable(
        pd.concat([settings, rows[keys].rename(columns=titles)], axis=1),
        pd.concat([settings.map(lambda _: False), best.rename(columns=titles)], axis=1),
        {titles[key]: write for key in keys if (write := COLUMNS[key][1]) is not None},
        same_data,
        _notes(results, same_data, one_split),
        one_split,
        summarise_seeds(results, rows),
    )


def same_split(results: Sequence[Result]) -> bool:
    """Return whether the same was held out of all runs on the same data."""
    return len({result.prepared.spec.split for result in results}) <= 1


def same_documents(results: Sequence[Result]) -> bool:
    """Return whether the runs have clustered the same documents: not if different ones were held out."""
    shown = [getattr(result.prepared.model, "shown_documents", None) for result in results]
    names = [np.empty(0, dtype=object) if corpus is None else corpus.documents for corpus in shown]
    return all(one is names[0] or np.array_equal(one, names[0]) for one in names[1:])


def _mark_highest(values: NDArray[np.float64], eligible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which values are the highest of those eligible; none if fewer than two are."""
    allowed = eligible & np.isfinite(values)
    top = values[allowed].max(initial=-np.inf) if allowed.sum() > 1 else np.inf
    return allowed & np.isclose(values, top, rtol=1e-9, atol=0.0)


def _notes(results: Sequence[Result], same_data: bool, same_split: bool) -> list[str]:
    """Return the reasons why values are not compared."""
    notes = []
    models = _models(results)
    if not same_data:
        also = ", and the clusterings are not compared" if any(model.clusterings for model in models) else ""
        notes.append(f"These runs are on different data: no value is marked as the best{also}.")
    elif not same_split:
        scores = " and ".join(dict.fromkeys(model.display.scores for model in models))
        notes.append(
            f"These runs held out different {_held_out_unit(results)}, so they learned from different data. Their "
            f"bounds and {scores} are not comparable, and no value is marked as the best."
        )
    if same_split and len({model.folder for model in models}) > 1:
        notes.append(
            "Runs of different models: their held-out scores of links are comparable. Bounds and leave-one-out scores "
            "are not, as one model explains links and another their weights."
        )
    elif same_split and len(models) > 1:
        notes.append(
            "Runs with one clustering and with two: their held-out scores are of the same pairs and are comparable. "
            "Bounds and leave-one-out scores are not: two clusterings explain each pair of an undirected network twice."
        )
    unconverged = sum(result.verdict is not Verdict.CONVERGED for result in results)
    if same_split and unconverged:
        notes.append("CPU time is compared among converged runs only.")
    if same_split:
        notes += [model.display.unmarked_reason for model in models if model.display.unmarked]
    if any(np.isnan(result.snapshot.extras.get("collapsed_bound", 0.0)) for result in results):
        notes.append(
            "A collapsed bound broke down, because the counts are too small for it: that run is shown without one."
        )
    if same_split and results and not any(results[0].prepared.spec.split[:2]):
        notes.append("Nothing was held out, so there are no held-out scores.")
    return notes


def _held_out_unit(results: Sequence[Result]) -> str:
    """Return what the runs held out, in the plural."""
    whole = {result.prepared.spec.heldout_documents > 0 for result in results}
    if whole == {True}:
        return "documents"
    if True in whole:
        return "words (of each document, or of whole documents)"
    return _models(results)[0].unit[1]


def _models(results: Sequence[Result]) -> list[ModelSpec]:
    """Return the rows of the models of some runs, in the registry's order."""
    names = {result.prepared.spec.model for result in results}
    return [row for row in MODELS if row.name in names]


def clusters_of(results: Sequence[Result], domain: str) -> NDArray[np.int64]:
    """Return the clusters of a domain's objects in each run, from 0; those of the rows if the sides share them.

    Objects that have none in one of the runs, as documents without words, are left out.
    """
    found = [result.labels(domain if domain in result.posterior.arrays else "rows") for result in results]
    labels = np.array(found)
    return np.asarray(labels[:, (labels > 0).all(axis=0)] - 1)


def name_clusters(result: Result, domain: str) -> Sequence[str]:
    """Return the names of the clusters that `clusters_of` gives for a domain of a run."""
    of = result.posterior.axes[domain if domain in result.posterior.arrays else "rows"][-1]
    return result.names.get(str(of), ())


def fold_runs(results: Sequence[Result]) -> list[list[int]]:
    """Return the positions of runs with the same answer together, each answer in the place of its first run.

    Two answers are the same if they are of one model on the same data, and each object has the same company in both,
    or the same features.
    """
    groups: dict[Any, list[int]] = {}
    for position, result in enumerate(results):
        groups.setdefault(_mark_answer(result), []).append(position)
    return list(groups.values())


def _mark_answer(result: Result) -> tuple[Any, ...]:
    """Return what two runs with the same answer have in common, whatever the numbers of their parts."""
    posterior, marks = result.posterior, []
    for name in posterior.averaged:
        if result.prepared.model_row.clusterings:
            _, first, inverse = np.unique(posterior.labels(name), return_index=True, return_inverse=True)
            marks.append(np.argsort(np.argsort(first))[inverse].tobytes())
        else:
            marks.append(np.unique(posterior[name] >= 0.5, axis=1).tobytes())
    return result.prepared.spec.model, result.prepared.fingerprint, *marks


def agreement_tables(
    results: Sequence[Result], labels: Sequence[str], domain: str
) -> dict[str, pd.DataFrame]:
    """Return how alike the clusterings of a domain are, run by run: frames "ari" and "nmi"."""
    clusters, names = clusters_of(results, domain), list(labels)
    values = {measure: np.eye(len(clusters)) for measure in ("ari", "nmi")}
    for i, j in combinations(range(len(clusters)), 2):
        for measure, score in agreement(clusters[j], clusters[i]).items():
            values[measure][i, j] = values[measure][j, i] = score
    return {name: pd.DataFrame(matrix, index=names, columns=names) for name, matrix in values.items()}


#: Scores that are summarised over runs that differ in their seeds, by their keys in `COLUMNS`.
SCORES = (
    "cpu_seconds", "lower_bound", "heldout_log_likelihood", "heldout_perplexity", "heldout_skill",
    "heldout_averaged_skill", "heldout_explained",
)  # fmt: skip
#: Columns of samplers: whether chains from several seeds agree.
R_HAT, EFFECTIVE_SIZE = "R-hat", "Effective samples"


def compare_settings(results: Sequence[Result], labels: Sequence[str]) -> pd.DataFrame:
    """Return the settings in which runs differ, one row a run; no column where they differ in none.

    Methods have defaults of their own: a setting is listed only if some run has another value than its default. A run
    whose method does not have the setting has None.
    """
    titles: dict[str, str] = {}
    changed: set[str] = set()
    for result in results:
        for parameter in result.prepared.row.parameters:
            titles.setdefault(parameter.name, parameter.label)
            if result.prepared.spec.values.get(parameter.name) != parameter.default:
                changed.add(parameter.name)
    table: dict[str, list[Any]] = {}
    for name in titles:
        values = [result.prepared.spec.values.get(name) for result in results]
        if name in changed and len({value for value in values if value is not None}) > 1:
            table[titles[name]] = [None if value is None else _write(value) for value in values]
    return pd.DataFrame(table, index=list(labels), dtype=object)


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return write_number(value) if isinstance(value, (int, float)) else str(value)


def summarise_seeds(results: Sequence[Result], rows: pd.DataFrame) -> pd.DataFrame | None:
    """Return mean and standard deviation of the scores over the runs that differ in their seeds alone.

    `rows`: the comparison row of each run (`comparison_row`).
    Returns one line for each method and settings: runs, and each score as "mean ± sd", "-" where a single run has no
    spread; of samplers also whether their chains agree (`_describe_mixing`). None where no two runs are alike in all
    but the seeds.
    """
    groups: dict[Any, list[int]] = {}
    for at, result in enumerate(results):
        groups.setdefault(settings_without_seeds(result), []).append(at)
    if max(map(len, groups.values()), default=0) < 2:
        return None
    differing = compare_settings(results, [str(at) for at in range(len(results))])
    lines = {}
    for members in groups.values():
        own = differing.iloc[members[0]].dropna()
        name = " · ".join(
            [results[members[0]].prepared.row.label, *(f"{title}: {value}" for title, value in own.items())]
        )
        lines[name] = {"Runs": len(members)} | {
            COLUMNS[key][0]: _write_spread(rows[key].to_numpy(dtype=float)[members])
            for key in SCORES
            if key in rows and rows[key].notna().any()
        }
        lines[name] |= _describe_mixing([results[member] for member in members])
    return pd.DataFrame.from_dict(lines, orient="index")


def _describe_mixing(results: Sequence[Result]) -> dict[str, str]:
    """Return R-hat and effective sample size of the hyper-parameters that chains of a sampler draw, the worst of each.

    The bound and the clusters of a sampler's run are those of its mean, which says nothing about its draws.
    """
    if len(results) < 2 or not results[0].prepared.row.sampled:
        return {}
    histories = [result.history.query("samples > 0") for result in results]
    length = min(map(len, histories))
    chains = [
        np.array([history[name].to_numpy()[-length:] for history in histories])
        for name in results[0].snapshot.hyper
        if all(name in history for history in histories)
    ]
    # A value that is learned before the samples and then kept is not drawn.
    measured = [measure_mixing(draws) for draws in chains if length and np.ptp(draws, axis=1).any()]
    known = [mixing for mixing in measured if np.isfinite(mixing.effective_size)]
    if not known:
        return {}
    return {
        R_HAT: write_number(max(mixing.r_hat for mixing in known)),
        EFFECTIVE_SIZE: f"{min(mixing.effective_size for mixing in known):,.0f}",
    }


def settings_without_seeds(result: Result) -> Any:
    """Return the data and the settings of a run, except the seeds, as one key."""
    spec = result.prepared.spec
    values = tuple(sorted((name, str(value)) for name, value in spec.values.items()))
    held_out = (spec.heldout, spec.heldout_documents)
    return result.prepared.fingerprint, spec.model, spec.method, values, held_out, spec.restarts, spec.start


def _write_spread(values: np.ndarray) -> str:
    values = values[np.isfinite(values)]
    if not len(values):
        return "–"
    mean = write_number(float(values.mean()))
    return mean if len(values) < 2 else f"{mean} ± {write_number(float(f'{values.std(ddof=1):.2g}'))}"
