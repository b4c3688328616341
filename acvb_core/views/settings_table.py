"""How the settings of compared runs differ, and the scores of runs that differ in their seeds alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.display import write_number
from acvb_core.engine.result import Result
from acvb_core.evaluate.chains import measure_mixing

#: Columns of the scores of runs that differ in their seeds: key of a comparison row -> title.
SCORES = {
    "cpu_seconds": "CPU s",
    "lower_bound": "Lower bound",
    "heldout_log_likelihood": "Held-out log likelihood",
    "heldout_perplexity": "Held-out perplexity",
    "heldout_skill": "Skill",
    "heldout_averaged_skill": "Skill, averaged",
    "heldout_explained": "Explained",
}
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
            title: _write_spread(rows[key].to_numpy(dtype=float)[members])
            for key, title in SCORES.items()
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
    told = result.prepared.spec
    values = tuple(sorted((name, str(value)) for name, value in told.values.items()))
    held_out = (told.heldout, told.heldout_documents)
    return result.prepared.fingerprint, told.model, told.method, values, held_out, told.restarts, told.start


def _write_spread(values: np.ndarray) -> str:
    values = values[np.isfinite(values)]
    if not len(values):
        return "–"
    mean = write_number(float(values.mean()))
    return mean if len(values) < 2 else f"{mean} ± {write_number(float(f'{values.std(ddof=1):.2g}'))}"
