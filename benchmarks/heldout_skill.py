"""Held-out skill of a method on a relation of yours, over several splits.

    python -m benchmarks.heldout_skill FILE [--shape 1892x1892] [--domains one|two] [--method acvb0] [--splits 5]
                                       [--model poisson-network] [--set k_rows=40 --set split=false] [--runs 10]

Skill = 1 - LL / LL of one block, where LL is the mean log likelihood of a held-out entry and the one block predicts
the training density for every entry. One line a split, then the mean and the worst: skill and roc_auc of what the
clusters predict (of Gibbs sampling: the mean of its samples), averaged_skill of the samples that a run begins with.
The model is the infinite relational model of that many domains, unless --model names another.
With --pairs the file is read as a network whichever model is fitted, so that both models are judged on the same pairs.

With --runs, so many runs from different seeds are made on each split. Each predicts by its samples, or by its clusters
if it has none. Their mean prediction is compared with that of the luckiest (chosen by the held-out score itself), of
the one with the highest bound (known without it), and their mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from acvb_core import combine, fit, load_relation
from acvb_core.cli.settings import parse_setting
from acvb_core.engine.result import Result
from acvb_core.evaluate.significance import compare_paired
from acvb_core.registry import MODELS, method_row, model_row
from benchmarks.harness import make_parser, print_load


def describe_run(split: int, result: Result) -> dict[str, Any]:
    """Return one line of the table."""
    last = result.snapshot
    assert last.heldout is not None
    return {
        "split": split,
        "verdict": str(result.verdict),
        "sweeps": last.sweep,
        "cpu_seconds": last.cpu_seconds,
        "clusters": "x".join(map(str, last.effective_k.values())),
        **last.heldout._asdict(),
        "lower_bound": last.lower_bound,
    }


def main() -> None:
    parser = make_parser(__doc__, "file", shape=None, method="acvb0", splits=5, heldout=0.1)
    parser.add_argument("--domains", choices=("one", "two"), default="two")
    parser.add_argument("--model", choices=[row.name for row in MODELS if row.kind == "relation"])
    parser.add_argument("--pairs", action="store_true", help="hold out pairs of a network for either model")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument(
        "--runs", type=int, default=1, help="runs on each split, whose predictions are averaged"
    )
    options = parser.parse_args()
    shape = tuple(int(part) for part in options.shape.split("x")) if options.shape else None
    model = options.model or ("network" if options.domains == "one" else "irm")
    read_as = "one" if options.pairs or model_row(model).one_domain else options.domains
    relation = load_relation(options.file, shape=shape, domains=read_as).data
    known = {parameter.name: parameter for parameter in method_row(model, options.method).parameters}
    given = dict(pair.split("=", 1) for pair in options.set)
    values = {name: parse_setting(known[name], text) for name, text in given.items()}
    rows, combined = [], []
    for split in range(options.splits):
        how = {"model": model, "heldout": options.heldout, "heldout_seed": split, **values}
        runs = [fit(relation, options.method, seed=seed, **how) for seed in range(options.runs)]
        rows += [describe_run(split, run) for run in runs]
        if options.runs > 1:
            together = combine(runs)
            single = [score.skill for score in together.scores]
            bounds = [-np.inf if (bound := run.snapshot.lower_bound) is None else bound for run in runs]
            combined.append(
                {
                    "combined": together.score.skill,
                    "luckiest run": max(single),
                    "run with the highest bound": single[int(np.argmax(bounds))],
                    "mean of the runs": sum(single) / len(single),
                }
            )
    frame = pd.DataFrame(rows)
    own = "by its samples" if method_row(model, options.method).sampled else "by the clusters"
    print(relation.size_text)
    print(frame.to_string(index=False, float_format=lambda value: f"{value:.4f}"))
    print(
        f"{own}: mean skill {frame.skill.mean():.4f}, worst {frame.skill.min():.4f}, "
        f"mean ROC AUC {frame.roc_auc.mean():.4f}; by samples of the start: mean skill "
        f"{frame.averaged_skill.mean():.4f}; mean bound {frame.lower_bound.mean():.1f}, "
        f"mean CPU s {frame.cpu_seconds.mean():.2f}"
    )
    if combined:
        table = pd.DataFrame(combined)
        print(table.round(4).to_string())
        together, others = table["combined"], table.drop(columns="combined")
        tests = compare_paired(
            np.tile(together, (len(others.columns), 1)),
            others.to_numpy().T,
            ratio=options.heldout / (1.0 - options.heldout),
        )
        for number, name in enumerate(others.columns):
            print(
                f"combined less the {name}: {tests.difference[number]:.4f}, 95 % from {tests.low[number]:.4f} to "
                f"{tests.high[number]:.4f}, p = {tests.p_t[number]:.2g}"
            )
    print_load()


if __name__ == "__main__":
    main()
