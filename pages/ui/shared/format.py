"""Numbers, names and states as people read them."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from acvb_core.engine.executor import BackgroundTask, Status
from acvb_core.engine.history import ELSEWHERE, Verdict
from acvb_core.engine.job import Job, RunOutline
from acvb_core.engine.prepared import clean_name, depends_on_seed
from pages.ui.shared.model_pages import pages_of_run

if TYPE_CHECKING:
    from pages.ui.workspace.dataset import Dataset

#: In place of a number that cannot be; from so many seconds on a time is none.
UNKNOWN, _ENDLESS = "–", 1e11
#: Between the parts of a run's name.
_PART = " · "
Colour = Literal["red", "orange", "blue", "green", "gray"]


class State(NamedTuple):
    """The badge of a job: its words, colour and icon, and what they mean."""

    text: str
    colour: Colour
    icon: str
    meaning: str


VERDICTS: dict[Verdict, State] = {
    Verdict.CONVERGED: State(
        "converged", "green", ":material/check:",
        "The watched quantity moved by less than the tolerance: more sweeps would change little.",
    ),
    Verdict.MAX_SWEEPS: State(
        "sweep limit", "orange", ":material/hourglass_bottom:",
        "The run used up its sweeps before it met the tolerance. That is not convergence: extend it, or loosen the "
        "tolerance.",
    ),
    Verdict.STOPPED: State(
        "stopped", "gray", ":material/stop:", "Stopped by hand; the answer so far is kept."
    ),
    Verdict.DIVERGED: State(
        "diverged", "red", ":material/warning:",
        "A number stopped being finite. The last answer is shown, but do not trust it. Start the run again with "
        "another seed, or with settings closer to the defaults.",
    ),
}  # fmt: skip
_MOTION = {
    True: "The sweeps have settled, too: the last one lies close to the mean.",
    False: "The sweeps still move around the mean, which stands still because it averages many of them.",
}
#: Gibbs sampling has no tolerance to meet: using up its sweeps is how it is meant to end.
COMPLETE = State(
    "complete",
    "blue",
    ":material/done_all:",
    "All sweeps done. A sampler has no convergence test, so look at its curves before you trust it.",
)
#: … and so is reading a stream as often as was asked for.
STREAMED = COMPLETE._replace(
    meaning="All epochs done. A stream that is not averaged has no convergence test: if its curves still move, "
    "continue for more epochs."
)
EPOCH_LIMIT = VERDICTS[Verdict.MAX_SWEEPS]._replace(
    text="epoch limit", meaning=VERDICTS[Verdict.MAX_SWEEPS].meaning.replace("sweeps", "epochs", 1)
)
STATUSES: dict[Status, State] = {
    Status.QUEUED: State(
        "queued", "gray", ":material/schedule:",
        "The server computes a few runs at once. The others wait, and workspaces take turns.",
    ),
    Status.COMPILING: State(
        "compiling, once", "blue", ":material/build:",
        "The method's functions are compiled when they are first used on this computer; the run's CPU time leaves that "
        "out. Those of the other methods are compiled in the background.",
    ),
    Status.STARTING: State("starting", "blue", ":material/sync:", "Working out where to start."),
    Status.RUNNING: State("running", "blue", ":material/play_arrow:", "Going over the data."),
    Status.PAUSED: State("paused", "orange", ":material/pause:", "Paused by hand; resume it whenever you like."),
    Status.FAILED: State("failed", "red", ":material/error:", "Ended by an error. Its text says what went wrong."),
    Status.FINISHED: State("stopped", "gray", ":material/stop:", "Stopped before its first sweep was done."),
    Status.INTERRUPTED: State(
        "interrupted", "orange", ":material/power_off:",
        "The app or the cluster ended before the run did. Continue it from where it was last saved, to the same "
        "result.",
    ),
}  # fmt: skip


def describe_state(run: RunOutline) -> State:
    """Return what a run's badge says: its verdict once it has one, its status before."""
    if run.verdict is None:
        return STATUSES[run.status]
    if run.verdict is Verdict.MAX_SWEEPS:
        if run.row.monitored is None:
            return STREAMED if run.row.streams else COMPLETE
        if run.row.streams:
            return EPOCH_LIMIT
    meaning = [VERDICTS[run.verdict].meaning]
    if run.has_settled is not None:
        meaning.append(_MOTION[run.has_settled])
    if run.verdict is Verdict.CONVERGED and depends_on_seed(run.spec, run.row):
        meaning.append(f"{ELSEWHERE.capitalize()}.")
    return VERDICTS[run.verdict]._replace(meaning=" ".join(meaning))


def label_runs(jobs: Sequence[Job]) -> dict[str, str]:
    """Return the name of each job by id, followed by its data set where the runs are on several."""
    data = name_datasets(jobs)
    ends = {key: f" · {name}" for key, name in data.items()} if len(data) > 1 else {}
    return {job.id: f"{job.label.name}{ends.get(job.outline.fingerprint, '')}" for job in jobs}


def shorten_names(jobs: Sequence[Job]) -> tuple[str, dict[str, str]]:
    """Return what the usual names of runs that are shown together share, and what is left of each by id."""
    names, parts = label_runs(jobs), {job.id: job.outline.usual_name.split(_PART) for job in jobs}
    if len(jobs) < 2:
        return "", names
    shared = [part for part in next(iter(parts.values())) if all(part in each for each in parts.values())]
    for job in jobs:
        if job.label.name == job.outline.usual_name:
            own = [part for part in parts[job.id] if part not in shared]
            own += (
                names[job.id].removeprefix(job.label.name).split(_PART)[1:]
            )  # the data, if there are several
            names[job.id] = _PART.join(own) or _name_model(job, jobs) or job.label.name
    return _PART.join(shared), names


def _name_model(job: Job, jobs: Sequence[Job]) -> str:
    """Return what tells the model of a run from those of other runs; empty if it is the same for all."""
    words = {one.id: (pages_of_run(one).kind, pages_of_run(one).short_way) for one in jobs}
    return _PART.join(
        word for word, *others in zip(words[job.id], *words.values(), strict=True) if len({*others}) > 1
    )


def name_datasets(jobs: Sequence[Job]) -> dict[str, str]:
    """Return a short name for the data set of each run by fingerprint; data of the same name get four more letters.

    The names can be shown as Markdown or HTML.
    """
    return name_data({job.outline.fingerprint: job.outline.data_name for job in jobs})


def name_data(given: Mapping[str, str]) -> dict[str, str]:
    """Return short names that differ for data sets by fingerprint, from the names that they were given."""
    names = {key: _strip_markup(name) for key, name in given.items()}
    shared = Counter(names.values())
    return {key: f"{name} ({key[:4]})" if shared[name] > 1 else name for key, name in names.items()}


def file_name(text: str) -> str:
    """Return a name as part of a file's name: "ACVB0-K_20x20-seed_0"."""
    short = text.replace(" × ", "x").replace(" · ", "-")
    return re.sub(r"[^\w.()-]+", "_", short).strip("_.")


def _strip_markup(name: str, limit: int = 24) -> str:
    """Return a name without the characters that Markdown and HTML treat as markup, cut to `limit` characters."""
    plain = clean_name(name) or "data"
    return plain if len(plain) <= limit else f"{plain[: limit - 1].rstrip(' .,(+-')}…"


def duration(seconds: float) -> str:
    """Return a time span: "0.04 s", "0.8 s", "12 s", "3 min 5 s", "2 h 10 min"; "–" for what is none."""
    if not 0 <= seconds < _ENDLESS:
        return UNKNOWN
    if seconds < 1:
        return f"{float(f'{seconds:.1g}'):g} s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def rough_duration(seconds: float) -> str:
    """Return an estimated time span: "about 1 s", "about 40 s", "about 12 min", "about 3 h"; "–" for what is none."""
    if not 0 <= seconds < _ENDLESS:
        return UNKNOWN
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"about {float(f'{seconds / length:.2g}'):,.10g} {unit}"
    return f"about {max(float(f'{seconds:.1g}'), 1):.0f} s"


def rate(per_second: float | None) -> str:
    """Return sweeps per second, or per minute if less than one."""
    if per_second is None or not 0 <= per_second < math.inf:
        return UNKNOWN
    if per_second < 1:
        return f"{60 * per_second:.1f} sweeps/min"
    return f"{per_second:,.0f} sweeps/s" if per_second >= 10 else f"{per_second:.1f} sweeps/s"


def documents_rate(per_second: float | None) -> str:
    """Return documents per second."""
    if per_second is None or not 0 <= per_second < math.inf:
        return UNKNOWN
    return f"{float(f'{per_second:.3g}'):,.10g} documents/s"


def epochs(number: float) -> str:
    """Return "1 epoch", "0.25 epochs"."""
    digits = f"{number:,.3g}" if number < 100 else f"{number:,.0f}"
    return f"{digits} epoch{'' if digits == '1' else 's'}"


def describe_split(dataset: Dataset) -> str:
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


def ordinal(number: int) -> str:
    """Return "1st", "2nd", "3rd", "11th"."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number:,}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def describe_wait(job: BackgroundTask[Any]) -> str:
    """Return where a job that waits is in the line of all that wait on this server."""
    position = job.position
    return "Waiting" if position is None else f"Waiting: {ordinal(position)} in line"


def join_names(names: Sequence[str]) -> str:
    """Return names as a list in words: "SDM, SCVB0 and SVB"."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def uncapitalise(text: str) -> str:
    """Return a text as it stands inside a sentence: its first letter small."""
    return text[:1].lower() + text[1:]


def shape(rows: int, columns: int) -> str:
    """Return the two sides of a relation."""
    return f"{rows:,} × {columns:,}"


def ago(moment: float, now: float | None = None) -> str:
    """Return how long ago a moment (seconds since the epoch) was; after two months, its date; "–" for what is none."""
    if not abs(moment) < _ENDLESS:
        return UNKNOWN
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    if seconds >= 60 * 86400:
        return time.strftime("%Y-%m-%d", time.localtime(moment))
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return f"{count(int(seconds // length), unit)} ago"
    return "just now"
