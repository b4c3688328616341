"""The output of the commands: one JSON object, or text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acvb_core.core.errors import printable
from acvb_core.data.report import plural
from acvb_core.engine.fitting import Comparison
from acvb_core.engine.history import ELSEWHERE, MOTION, Verdict
from acvb_core.engine.prepared import depends_on_seed
from acvb_core.engine.result import Result
from acvb_core.store.export import compare_known_labels, index_attributes, run_dict, to_plain

_ENDED = {
    Verdict.CONVERGED: "converged",
    Verdict.MAX_SWEEPS: "reached the cap without converging",
    Verdict.STOPPED: "stopped",
    Verdict.DIVERGED: "diverged (a number stopped being finite: do not trust this answer; try another --seed, or "
    "settings closer to the defaults)",
}


def peak_memory_mb() -> float | None:
    """Return the most memory the process has held so far, in MB (10^6 bytes); None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def result_json(result: Result, lines: list[str], out: Path | None, removed: Sequence[Path] = ()) -> str:
    """Return a run as one JSON object on one line."""
    return as_json({**_summary(result), "report": _report_lines(result, lines), **output_files(out, removed)})


def comparison_json(
    comparison: Comparison, lines: list[str], out: Path | None, removed: Sequence[Path] = ()
) -> str:
    """Return all runs, and how alike their clusterings are, as one JSON object on one line."""
    names = [result.label for result in comparison.results]
    agreement = {
        domain: {
            measure: comparison.agreement(domain, measure).to_numpy().tolist() for measure in ("ari", "nmi")
        }
        for domain in comparison.results[0].prepared.model_row.clusterings
    }
    return as_json(
        {
            "runs": [_summary(result) for result in comparison.results],
            "agreement": {"labels": names, **agreement},
            "peak_memory_mb": peak_memory_mb(),
            "report": _report_lines(comparison.results[0], lines),
            **output_files(out, removed),
        }
    )


def output_files(out: Path | None, removed: Sequence[Path]) -> dict[str, Any]:
    """Return where results were written, and what was removed there, as plain values."""
    return {"out": out and str(out), "removed": [str(path) for path in removed]}


def as_json(value: dict[str, Any]) -> str:
    """Return values as one JSON object on one line."""
    return json.dumps(to_plain(value), allow_nan=False) + "\n"


def _summary(result: Result) -> dict[str, Any]:
    settings = result.prepared.spec
    return {
        **run_dict(result),
        "peak_memory_mb": peak_memory_mb(),
        "heldout_share": settings.heldout,
        "heldout_seed": settings.heldout_seed,
    }


def _report_lines(result: Result, lines: list[str]) -> list[str]:
    note = result.prepared.note
    return lines if note is None else [*lines, note]


def result_text(result: Result, lines: list[str], out: Path | None, removed: Sequence[Path] = ()) -> str:
    """Return a run in some lines of text."""
    last, own = result.snapshot, result.prepared.model_row.part("text")
    facts = [
        ("how it ended", _ending(result)),
        *([("why", result.reason)] if result.reason else []),
        *_race(result),
        *_stream(result),
        ("found", _clusters(result)),
        *([] if result.prepared.row.streams else [("lower bound", _nats(last.lower_bound))]),
        *([] if last.pseudo_loo is None else [("pseudo leave-one-out", _nats(last.pseudo_loo))]),
    ]
    if result.chain is not None:
        facts.append(("samples", result.chain.describe()))
    facts += own.facts(result)
    if result.heldout_peak is not None:
        facts.append(("prediction", result.heldout_peak.describe(result.prepared.model_row)))
    facts.append(
        (
            "time",
            f"{last.cpu_seconds:.2f} s of CPU, {last.wall_seconds:.2f} s in all, "
            f"{last.diagnostics_seconds:.2f} s of it for diagnostics",
        )
    )
    memory = peak_memory_mb()
    if memory is not None:
        facts.append(("peak memory", f"{memory:,.0f} MB"))
    if out is not None:
        facts.append(("written to", str(out)))
    if removed:
        facts.append(("removed", f"{', '.join(path.name for path in removed)}: left there by an earlier run"))
    data = data_text(result.prepared.data, _report_lines(result, lines))
    return f"{data}{result.label}\n{format_facts(facts)}{own.lines(result)}"


def comparison_text(
    comparison: Comparison, lines: list[str], out: Path | None, removed: Sequence[Path] = ()
) -> str:
    """Return all runs as a table, and how alike their clusterings are."""
    first = comparison.results[0]
    # What no run has, because its model does not, is no column.
    table = (
        comparison.table()
        .dropna(axis=1, how="all")
        .to_string(
            index=False, na_rep="-", float_format=lambda x: f"{x:,.1f}" if abs(x) >= 100 else f"{x:.4g}"
        )
    )
    parts = [data_text(first.prepared.data, _report_lines(first, lines)), table, "\n"]
    if first.prepared.heldout is not None:
        parts.append("\n{}: {}\n".format(*first.prepared.model_row.part("text").held_out(first)))
    for result in comparison.results:
        if result.heldout_peak is not None:
            parts.append(f"{result.label}: {result.heldout_peak.describe(result.prepared.model_row)}\n")
    if len(comparison.results) > 1:
        for name, objects in first.prepared.model_row.clusterings.items():
            matrix = comparison.agreement(name).to_string(float_format=lambda x: f"{x:.2f}")
            parts.append(f"\nAgreement on the {objects} (adjusted Rand index)\n{matrix}\n")
    parts.append(_describe_agreement(comparison))
    if out is not None:
        parts.append(f"\nwritten to {out}\n")
    if out is not None and removed:
        below = [path.relative_to(out) for path in removed]
        parts.append(f"removed {', '.join(map(str, below))}: left there by earlier runs\n")
    return "".join(parts)


def _describe_agreement(comparison: Comparison) -> str:
    """Return a table of how well each run's clusters agree with what is known of the objects; "" without any."""
    import pandas as pd

    tables = [index_attributes(compare_known_labels(result)) for result in comparison.results]
    if tables[0].empty:
        return ""
    columns = {
        f"{printable(name)} ({measure.upper()})": [table.loc[name, measure] for table in tables]
        for name in tables[0].index
        for measure in ("ari", "nmi")
    }
    frame = pd.DataFrame(columns, index=[result.label for result in comparison.results])
    shown = frame.to_string(float_format=lambda x: f"{x:.3f}", na_rep="-")
    return f"\nAgreement with known labels\n{shown}\n"


def format_facts(facts: list[tuple[str, str]]) -> str:
    """Return facts in two columns, a line each."""
    width = max(len(name) for name, _ in facts)
    return "".join(f"  {name:<{width}}  {text}\n" for name, text in facts)


def data_text(data: Any, lines: list[str]) -> str:
    """Return name and size of data, and below what reading them found."""
    head = f"{printable(data.name)}: {data.size_text}\n"
    return head + "".join(f"  {printable(line)}\n" for line in lines) + "\n"


def _stream(result: Result) -> list[tuple[str, str]]:
    """Return the earlier run that a run continued from, and its documents and speed where it streams."""
    settings, summary = result.prepared.spec, result.summary()
    facts = [("continued from", printable(settings.start))] if settings.start else []
    if "documents_seen" in summary:
        rate = summary["documents_per_second"]
        speed = "" if rate is None else f", {rate:,.0f} a second"
        facts.append(("went through", f"{summary['documents_seen']:,} documents{speed}"))
    return facts


def _ending(result: Result) -> str:
    row, sweeps = result.prepared.row, f"{result.snapshot.sweep:,} sweeps"
    if row.streams:
        passes = f"{result.snapshot.passes:.4g}"
        sweeps = (
            f"{passes} {'epoch' if passes == '1' else 'epochs'} ({plural(result.snapshot.sweep, 'window')})"
        )
    if row.monitored is None and result.verdict is Verdict.MAX_SWEEPS:
        return f"did its {sweeps}"
    motion = "" if result.snapshot.has_settled is None else f", {MOTION[result.snapshot.has_settled]}"
    ended = f"{_ENDED[result.verdict]} after {sweeps}{motion}"
    if result.verdict is Verdict.CONVERGED and depends_on_seed(result.prepared.spec, row):
        ended += f"; {ELSEWHERE}"
    return f"{ended}; judged by: {row.describe_convergence()}"


def _race(result: Result) -> list[tuple[str, str]]:
    """Return which restart this is, and what all of them cost; nothing where there was one."""
    race_report, table = result.race_report, result.race
    if race_report is None or table is None:
        return []
    first, last = race_report.first_seed, race_report.first_seed + race_report.restarts - 1
    what = "won by" if race_report.is_decided else "stopped, led by"
    told = (
        f"{what} seed {race_report.leader} of {first} to {last}; {table['sweeps'].sum():,} "
        f"sweeps and {table['cpu_seconds'].sum():.2f} s of CPU in all"
    )
    return [("race", f"{told}. {race_report.caution}" if race_report.caution else told)]


def _clusters(result: Result) -> str:
    model, found = result.prepared.model_row, []
    for domain, k in result.snapshot.effective_k.items():
        more = ""
        if domain in result.full_domains:
            (cap,) = (p for p in result.prepared.row.parameters if p.name == model.caps[domain])
            more = f" (all that the run may have; start with a larger {cap.flag})"
        found.append(plural(k, model.domains[domain].removesuffix("s")) + more)
    return ", ".join(found)


def _nats(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f} nats"
