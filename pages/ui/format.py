"""Numbers, names and states as people read them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from acvb_core.engine.job import Inspection, Job, Status
from acvb_core.engine.snapshot import Verdict
from acvb_core.registry import model_for
from acvb_core.rows import Method

if TYPE_CHECKING:
    from pages.ui.workspace import Dataset

Colour = Literal["red", "orange", "blue", "green", "gray"]


class State(NamedTuple):
    """How a job stands: words, colour and icon of its badge, and what it means."""

    text: str
    colour: Colour
    icon: str
    meaning: str


VERDICTS: dict[Verdict, State] = {
    Verdict.CONVERGED: State(
        "converged",
        "green",
        ":material/check:",
        "The watched quantity moved by less than the tolerance: going on would change little.",
    ),
    Verdict.MAX_SWEEPS: State(
        "sweep limit",
        "orange",
        ":material/hourglass_bottom:",
        "The run used up its sweeps before it met the tolerance. That is not convergence: extend it, or loosen the "
        "tolerance.",
    ),
    Verdict.STOPPED: State(
        "stopped",
        "gray",
        ":material/stop:",
        "Stopped by hand; the answer so far is kept.",
    ),
    Verdict.DIVERGED: State(
        "diverged",
        "red",
        ":material/warning:",
        "A number stopped being finite. The last answer is shown, but do not trust it.",
    ),
}
#: Gibbs sampling has no tolerance to meet: using up its sweeps is how it is meant to end.
COMPLETE = State(
    "complete",
    "blue",
    ":material/done_all:",
    "All sweeps done. A sampler has no convergence test, so look at its curves before you trust it.",
)
#: … and so is going through a stream as often as was asked for.
STREAMED = State(
    "complete",
    "blue",
    ":material/done_all:",
    "All epochs done. A stream that is not averaged has no convergence test: if its curves still move, go on for more "
    "epochs.",
)
EPOCH_LIMIT = State(
    "epoch limit",
    "orange",
    ":material/hourglass_bottom:",
    "The run used up its epochs before it met the tolerance. That is not convergence: extend it, or loosen the "
    "tolerance.",
)
STATUSES: dict[Status, State] = {
    Status.QUEUED: State(
        "queued",
        "gray",
        ":material/schedule:",
        "Waiting until another run ends; a paused one keeps its place.",
    ),
    Status.STARTING: State("starting", "blue", ":material/sync:", "Working out where to start."),
    Status.RUNNING: State("running", "blue", ":material/play_arrow:", "Going over the data."),
    Status.PAUSED: State("paused", "orange", ":material/pause:", "Held; resume it whenever you like."),
    Status.FAILED: State("failed", "red", ":material/error:", "Ended by an error."),
    Status.FINISHED: State("stopped", "gray", ":material/stop:", "Stopped before its first sweep was done."),
}


def state_of(job: Job, seen: Inspection) -> State:
    """Return what a job's badge says: its verdict once it has one, its status before."""
    if seen.verdict is None:
        return STATUSES[seen.status]
    if seen.verdict is Verdict.MAX_SWEEPS:
        row = job.problem.row
        if row.streams:
            return STREAMED if row.monitored is None else EPOCH_LIMIT
        if row.monitored is None:
            return COMPLETE
    return VERDICTS[seen.verdict]


class RunName(NamedTuple):
    """What a run is called, in parts.

    Attributes
    ----------
    method : str
    way : str
        What it takes a network for, where that is no network; else empty.
    number : str
        Seed and number, as far as they are needed to tell it from others; else empty.
    """

    method: str
    way: str
    number: str

    @property
    def text(self) -> str:
        """The whole name on one line."""
        return " · ".join(part for part in self if part)


def run_names(jobs: Sequence[Job]) -> dict[str, RunName]:
    """Return a name for each job by id, no longer than needed to tell it from others of its model."""
    # Rows of the registry: those of two models are two, whatever they are called.
    methods = Counter(job.problem.row for job in jobs)
    seeded = Counter((job.problem.row, job.problem.settings.seed) for job in jobs)
    counted: Counter[tuple[Method, int]] = Counter()
    names = {}
    for job in jobs:
        row, seed = job.problem.row, job.problem.settings.seed
        counted[row, seed] += 1
        number = []
        if methods[row] > 1 or seed:
            number.append(f"seed {seed}")
        if seeded[row, seed] > 1:
            number.append(f"no. {counted[row, seed]}")
        way = "" if row.model == model_for(job.problem.data).name else "two clusterings"
        names[job.id] = RunName(row.label, way, " · ".join(number))
    return names


def run_labels(jobs: Sequence[Job]) -> dict[str, str]:
    """Return the name of each job by id on one line: method, what it takes a network for, seed, number."""
    return {job_id: name.text for job_id, name in run_names(jobs).items()}


def duration(seconds: float) -> str:
    """Return a time span: "0.8 s", "12 s", "3 min 5 s", "2 h 10 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def rate(per_second: float | None) -> str:
    """Return sweeps per second, or per minute where that is less than one."""
    if per_second is None:
        return "–"
    if per_second < 1:
        return f"{60 * per_second:.1f} sweeps/min"
    return f"{per_second:,.0f} sweeps/s" if per_second >= 10 else f"{per_second:.1f} sweeps/s"


def documents_rate(per_second: float | None) -> str:
    """Return documents per second."""
    return "–" if per_second is None else f"{float(f'{per_second:.3g}'):,.10g} documents/s"


def epochs(number: float) -> str:
    """Return "1 epoch", "0.25 epochs"."""
    told = f"{number:,.3g}" if number < 100 else f"{number:,.0f}"
    return f"{told} epoch{'' if told == '1' else 's'}"


def held_out(dataset: Dataset) -> str:
    """Return what new runs hold out: "10 % held out, seed 0"."""
    if not dataset.heldout:
        return "nothing held out"
    of = " of the documents" if dataset.whole_documents else ""
    return f"{percent(dataset.heldout)}{of} held out, seed {dataset.heldout_seed}"


def size(n_bytes: float) -> str:
    """Return an amount of memory: "640 kB", "1.2 GB"."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes / 1e3:.0f} kB"


def percent(share: float) -> str:
    """Return a share in percent with up to three digits: "28.6 %", "0.0123 %"."""
    return f"{100 * share:.3g} %"


def count(number: int, one: str, many: str | None = None) -> str:
    """Return "1 run" or "2 runs"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def together(names: Sequence[str]) -> str:
    """Return names as a list in words: "SDM, SCVB0 and SVB"."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def shape(rows: int, columns: int) -> str:
    """Return the two sides of a relation."""
    return f"{rows:,} × {columns:,}"


def ago(moment: float, now: float | None = None) -> str:
    """Return how long a moment (seconds since the epoch) is past."""
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return f"{count(int(seconds // length), unit)} ago"
    return "just now"
