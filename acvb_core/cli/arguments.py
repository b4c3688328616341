"""The flags of every command, those of reading, and how an error names them."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from acvb_core.cli.parser import Parser
from acvb_core.cli.settings import (
    Add,
    Flag,
    add_method_settings,
    add_setting,
    group_adder,
    parse_column,
    parse_columns,
    parse_count,
    parse_names,
    parse_number,
    parse_port,
    parse_seeds,
    parse_setting,
    parse_words,
    setting_help,
)
from acvb_core.core.errors import AcvbError, DataError, ParameterError
from acvb_core.data.corpora.tokenise import TOKENISER_PARAMETERS, Tokeniser
from acvb_core.data.options import (
    CUTTING,
    KINDS,
    Option,
    find_option,
    list_formats,
    options_of,
    parse_shape,
    parse_threshold,
    rename_arguments,
)
from acvb_core.data.sources.formats import files_of
from acvb_core.evaluate.split import MAX_ENTRIES
from acvb_core.registry import METHODS, MODELS

#: In front of the names of a tokeniser's settings in the parsed arguments, which keeps them separate from all others.
TOKENISER = "tokeniser:"
#: What only one set of objects has, and its reader takes.
ONE_DOMAIN = ("directed", "self_links")
#: The first model for each kind of data, which a message can propose.
MODEL_FOR: dict[str, str] = {kind: next(row.name for row in MODELS if row.kind == kind) for kind in KINDS}
_OPTIONS: dict[str, dict[str, Option]] = {kind: options_of(kind) for kind in KINDS}
_FORMATS: dict[str, dict[str, str]] = {
    kind: list_formats(kind) for kind in KINDS if "format" in options_of(kind)
}
#: Options that every kind of data has, or most.
_SHARED = tuple(name for name, row in _OPTIONS["corpus"].items() if row.kinds == KINDS or name == "format")
_LABELS = Option(
    "labels", ("relation",), "file",
    help="Known labels of the objects (of the row objects, if there are two sets): names in the first column, labels "
    "in the others. The clusters are compared with them, and never see them.",
)  # fmt: skip
_COLUMN_LABELS = Option(
    "column_labels", ("relation",), "file", help="The same of the column objects, if there are two sets.",
)  # fmt: skip
_ON_DISK = Option(
    "on_disk", ("corpus",), "text", hint="FOLDER",
    help="Methods that stream: FILE is read to this folder and kept there, and used again as long as it is the same "
    "(default: a folder that is removed at the end, if FILE is large).",
)  # fmt: skip
#: Arguments that do not say how FILE is read, and the kind of data that has them.
_FURTHER = {
    "labels": "relation", "column_labels": "relation", "links": "relation",
    "on_disk": "corpus", "start": "corpus", "heldout_documents": "corpus",
}  # fmt: skip
_TYPES = {"column": parse_column, "columns": parse_columns, "words": parse_words, "number": parse_threshold}
_METAVARS = {"column": "COLUMN", "columns": "A,B,…", "words": "A,B,…", "file": "FILE"}


def add_reading(to: argparse.ArgumentParser) -> None:
    """Add FILE and every flag that says how to read it."""
    to.add_argument(
        "file",
        metavar="FILE",
        help=f"a relation or a network ({files_of('relation')}); with --model {MODEL_FOR['corpus']}, a corpus "
        f"({files_of('corpus')}); with --model {MODEL_FOR['table']}, a table of numbers ({files_of('table')}); gzipped "
        "or not; - for the standard input; or a folder that `acvb read` wrote; or sample:NAME",
    )
    _add_options(to, KINDS)


def add_corpus(to: argparse.ArgumentParser, before: str, after: str, *, texts: bool) -> None:
    """Add FILE, which is a corpus, and the flags that say how to read it; `texts`: and how to cut its texts."""
    text = f"{before}{files_of('corpus')}; gzipped or not; - for the standard input; {after}"
    to.add_argument("file", metavar="FILE", help=text)
    _add_options(to, ("corpus",), texts=texts)


def _add_options(to: argparse.ArgumentParser, kinds: Sequence[str], *, texts: bool = True) -> None:
    add = group_adder(to, "how to read FILE (guessed where not given)")
    listed = set(_SHARED)
    for name in _SHARED:
        _add_option(add, _OPTIONS["corpus"][name], kinds)
    for kind in kinds:
        model = "" if kind == "relation" else f" (--model {MODEL_FOR[kind]})"
        add = group_adder(to, f"how to read FILE as a {kind}{model if len(kinds) > 1 else ''}")
        for name, row in _OPTIONS[kind].items():
            if name not in listed and (texts or name != "broken"):
                _add_option(add, row, kinds)
        listed |= _OPTIONS[kind].keys()
        for row in (_LABELS, _COLUMN_LABELS, _ON_DISK):
            if len(kinds) > 1 and kind in row.kinds:
                _add_option(add, row, kinds)
    if texts:
        add = group_adder(to, "how to cut the texts of a corpus into words")
        for row in CUTTING:
            _add_option(add, row, kinds, TOKENISER)
        for parameter in TOKENISER_PARAMETERS:
            add_setting(add, parameter, TOKENISER + parameter.name, setting_help(parameter))


def _add_option(add: Add, row: Option, kinds: Sequence[str], before: str = "") -> None:
    """Add the flag of an option; the name of its argument begins with `before`."""
    metavar = _METAVARS.get(row.ask, row.hint if row.hint and " " not in row.hint else row.name.upper())
    more: dict[str, Any] = {"dest": before + row.name, "also": row.flags, "metavar": metavar}
    text = row.help
    if row.name == "format":
        known = {kind: _FORMATS[kind] for kind in kinds if kind in _FORMATS}
        more["choices"] = ["auto", *(name for names in known.values() for name in names)]
        text = f"{text} {'; '.join(f'{kind}: ' + ', '.join(names) for kind, names in known.items())}."
    elif row.ask == "flag":
        more |= {"action": Flag, "also": [_negative(row)]}
    elif row.ask == "choice":
        more["choices"] = list(row.choices)
        listed = "; ".join(f"{value}: {words}" for value, words in row.choices.items())
        usual = "refuse" if "refuse" in row.choices else next(iter(row.choices))
        text += f" ({listed}{'' if row.auto else f'; default: {usual}'})"
    else:
        names = {words: value for value, words in row.choices.items()} | {r"\t": "\t"}
        parse = parse_shape if row.name == "shape" else lambda typed: names.get(typed, typed)
        more["type"] = _TYPES.get(row.ask, parse)
        text += f" Write {row.flag}=-999." if row.hint.startswith("-") else ""
    if row.ask == "column":
        none = f"; `none`: {row.none.removeprefix('none: ')}" if row.none else ""
        text += f" By name or by position from 0{none}."
    add(row.flag, f"{text} [{', '.join(row.formats)}]" if row.formats else text, **more)


def reader_options(arguments: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Return what was typed about reading FILE, as arguments of the reader of this kind of data.

    Raises ParameterError: a flag, or the format, is for another kind of data.
    """
    for flag, kinds, _ in _typed_flags(arguments):
        if kind not in kinds:
            raise ParameterError(
                f"{flag} is for a {kinds[0]}, but FILE is to be read as a {kind}. Leave it out, or give "
                f"--model {MODEL_FOR[kinds[0]]}."
            )
    options = typed_options(arguments, [name for name, row in _OPTIONS[kind].items() if not row.beyond])
    known = {parameter.name: parameter for parameter in TOKENISER_PARAMETERS}
    settings = {
        name: parse_setting(known[name], value) if name in known else value
        for dest, value in vars(arguments).items()
        if value is not None and (name := dest.removeprefix(TOKENISER)) != dest
    }
    return options | ({"tokeniser": Tokeniser.from_dict(settings)} if settings else {})


def refuse_reader_flags(arguments: argparse.Namespace, kind: str, what: str = "A sample") -> None:
    """Refuse what cannot be said of data of this kind that are there already, as a sample is.

    Raises ParameterError: a flag says how to read FILE, or is for another kind of data.
    """
    for flag, kinds, is_beyond in _typed_flags(arguments):
        if is_beyond and kind not in kinds and "relation" not in kinds:
            raise ParameterError(f"{flag} is for a {kinds[0]}; {arguments.file} is a {kind}.")
        if not is_beyond or kind not in kinds:
            raise ParameterError(f"{what} is read as it is; leave {flag} out.")


def _typed_flags(arguments: argparse.Namespace) -> Iterator[tuple[str, Sequence[str], bool]]:
    """Yield the flags that were typed about FILE, the kinds of data that have each, and if read data have it too."""
    for name, value in vars(arguments).items():
        row = find_option(name)
        if value is None:
            continue
        if name.startswith(TOKENISER):
            yield flag_of(name.removeprefix(TOKENISER)), ("corpus",), False
        elif name == "format":
            kinds = [kind for kind, names in _FORMATS.items() if value in names]
            yield f"--format {value}", kinds or KINDS, False
        elif name in _FURTHER:
            yield flag_of(name, value), (_FURTHER[name],), True
        elif row is not None:
            yield flag_of(name, value), row.kinds, row.beyond and name != "broken"


def flag_of(name: str, value: Any = None) -> str:
    """Return the flag that was typed to give an argument this value."""
    row = find_option(name)
    if value is False and (name == "check_memory" or (row is not None and row.ask == "flag")):
        return f"--no-{name.replace('_', '-')}" if row is None else _negative(row)
    return "--" + name.replace("_", "-")


def _negative(row: Option) -> str:
    return row.flags[0] if row.flags else f"--no-{row.flag[2:]}"


def typed_options(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return those of some arguments that were typed; a command need not have all."""
    typed = vars(arguments)
    return {name: typed[name] for name in names if typed.get(name) is not None}


def add_flags(to: Parser, *names: str) -> None:
    """Add flags of `_FLAGS`."""
    for name in names:
        more, default, text = _FLAGS[name]
        to.add_argument("--" + name.split("@")[0], default=default, help=text, **more)


# fmt: off
_SCHEDULER = "on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786 (default: ACVB_SCHEDULER, else this "
_COUNT: dict[str, Any] = {"type": parse_count, "metavar": "N"}
_PORT: dict[str, Any] = {"type": parse_port, "metavar": "N"}
_SEED: dict[str, Any] = {"type": int}
_SHARE: dict[str, Any] = {"type": parse_number, "metavar": "SHARE"}
_ADDRESS: dict[str, Any] = {"metavar": "ADDRESS"}
_YES: dict[str, Any] = {"action": "store_true"}
#: Flags of one command or several; behind an @ the command whose flag of this name differs from that of others.
_FLAGS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "port@app": (_PORT, 8501, "port to listen on (default: 8501)"),
    "host@app": (_ADDRESS, "127.0.0.1", "address or name of this machine to listen on (default: 127.0.0.1, for this "
        "machine only); 0.0.0.0 listens on all addresses. Whoever reaches the address can use the app, unless it "
        "asks to sign in: see docs/serving.md"),
    "allow": ({"action": "append", "metavar": "NAME"}, [], "a further name that browsers may open the app by, such as "
        "that of a reverse proxy: example.org, or example.org:8443 for another port than 80 and 443; can be given "
        "several times (default: only 127.0.0.1, localhost, [::1] and the --host are served)"),
    "scheduler@app": (_ADDRESS, None, f"offer to compute runs {_SCHEDULER}machine alone)"),
    "workers": (_COUNT, 2, "worker processes (default: 2)"),
    "threads@cluster": (_COUNT, None, "runs that a worker computes at once (default: the cores of this machine are "
        "shared between the workers)"),
    "host": (_ADDRESS, "127.0.0.1", "address to listen on (default: 127.0.0.1, for this machine only)"),
    "port": (_PORT, 8786, "port of the scheduler (default: 8786)"),
    "dashboard-port": (_PORT, 8787, "port of Dask's dashboard (default: 8787)"),
    "trust-network": (_YES, False, "with another --host: nobody who reaches it is to be kept out"),
    "method": ({}, None, f"one of {', '.join(dict.fromkeys(row.name for row in METHODS))} "
        "(default: acvb0; of tables fab)"),
    "seed": (_SEED, 0, "of the inference (default: 0)"),
    "restarts": (_COUNT, 1, "runs from N seeds that count up from --seed and race: the half with the worse lower bound"
        " (without one, as in streams, the worse leave-one-out likelihood; of latent features, which need --heldout "
        "for it, the worse held-out likelihood) is given up at 20 sweeps, half of the rest at 40, and so on; the "
        "winner is reported (default: 1)"),
    "start": ({"metavar": "MODEL"}, None, "topics: continue from those of an earlier run: its folder, or the model.npz"
        " in it; words are matched by name, new ones are added by methods that stream"),
    "methods": ({"type": parse_names, "metavar": "A,B,…"}, None, "methods, with commas between (default: "
        "acvb0,cvb0,vb; of tables fab,em,vb)"),
    "seeds": ({"type": parse_seeds, "metavar": "N"}, [0], "number of seeds, counted from 0, or the seeds themselves, "
        "with commas between (default: 1)"),
    "splits": (_COUNT, 10, "runs of each method, each with a split and a seed of its own that all methods share "
        "(default: 10)"),
    "seed@experiment": (_SEED, 0, "of the first split and the runs on it; the next split has the next one (default: "
        "0)"),
    "restarts@experiment": (_COUNT, 1, "runs that race for each run of the experiment, as for `acvb fit` (default: 1)"),
    "score": ({"metavar": "NAME"}, "heldout_log_likelihood", "held-out score that decides (default: "
        "heldout_log_likelihood)"),
    "method@tune": ({}, "scvb0", f"one of {', '.join(row.name for row in METHODS if row.tuned)} (default: scvb0)"),
    "seed@tune": (_SEED, 0, "of the runs and of the choice of trials (default: 0)"),
    "trials": (_COUNT, 30, "runs, each of one epoch unless --epochs says otherwise: first the defaults, then settings "
        "spread evenly, then the most promising ones; a setting that is typed is held (default: 30)"),
    "completion": (_YES, False, "also score how well four fifths of each document's words predict "
        "the rest"),
    "out@transform": ({"metavar": "CSV"}, None, "file to write the table to (default: standard output)"),
    "out@report": ({"metavar": "FILE"}, None, "file to write: .html is a report that needs no other file, .xlsx a "
        "workbook, .gexf and .graphml a graph with clusters and places (default: report.html next to the run)"),
    "links-file": ({"metavar": "FILE"}, None, "write this list of links instead, every line and column as it is, "
        "with the clusters of both ends; --out names a .csv"),
    "among": ({"metavar": "COLUMN=GROUP"}, None, "topics: of the documents of one group alone, such as "
        "product=kettle"),
    "title": ({"metavar": "TEXT"}, None, "title of the report (default: the name of the data)"),
    "question": ({"metavar": "TEXT"}, None, "question that the report answers (default: that of the model)"),
    "note": ({"metavar": "TEXT"}, None, "further text of the report, below the result"),
    "links": ({"type": int, "metavar": "N"}, None, "relation: also write the N unknown and the N unlinked pairs that "
        "are most likely links (links.csv), and the N most surprising links (surprising.csv)"),
    "check-memory": ({"action": argparse.BooleanOptionalAction}, True, "refuse to start a run that needs more memory "
        "than is free (default: yes)"),
    "heldout-seed": (_SEED, 0, "of the held-out split (default: 0)"),
    "out": ({"metavar": "DIR"}, None, "folder to write the results to: run.json, history.csv, the tables of the model,"
        " posterior.npz; of topics also model.npz, to continue from; of one run also result.acvb, with its data, for "
        "`acvb report`"),
    "threads": (_COUNT, None, "threads of this machine that compute a run of topics; the result is the same (default: "
        "ACVB_THREADS, else one a core)"),
    "scheduler": (_ADDRESS, None, f"compute {_SCHEDULER}machine)"),
    "quiet": (_YES, False, "no progress on stderr"),
}
# fmt: on


def _add_fit(fit: Parser) -> None:
    add_reading(fit)
    add_flags(fit, "method", "seed", "restarts", "start")
    _add_run(fit)
    add_flags(fit, "links")


def _add_compare(compare: Parser) -> None:
    add_reading(compare)
    add_flags(compare, "methods", "seeds")
    _add_run(compare)
    add_flags(compare, "links")


def _add_experiment(experiment: Parser) -> None:
    add_reading(experiment)
    add_flags(experiment, "methods", "splits", "seed@experiment", "restarts@experiment", "score")
    title = "settings of the methods; several values of one, with commas between, are varied"
    _add_run(experiment, heldout="0.1, unless --heldout-documents is given", settings=title)
    experiment.set_defaults(several=True, heldout=None)


def _add_tune(tune: Parser) -> None:
    add_reading(tune)
    add_flags(tune, "method@tune", "seed@tune", "trials")
    _add_run(tune, "0.02, unless --heldout is given")
    add_flags(tune, "links")


def _add_read(read: Parser) -> None:
    add_corpus(read, "", "it may be larger than the memory", texts=True)
    text = "where to keep it; `acvb fit FOLDER` continues from there"
    read.add_argument("folder", metavar="FOLDER", help=text)
    add_flags(read, "quiet")


def _add_transform(transform: Parser) -> None:
    text = f"folder that `acvb fit --model {MODEL_FOR['corpus']} … --out` wrote, or the model.npz in it; texts are cut "
    transform.add_argument("folder", metavar="RUN", help=f"{text}as its were")
    add_corpus(transform, "documents: ", "or sample:NAME", texts=False)
    add_flags(transform, "completion", "out@transform")


def _add_report(report: Parser) -> None:
    text = "folder that `acvb fit FILE --out` wrote, or a file that Result.save wrote"
    report.add_argument("run_path", metavar="RUN", help=text)
    add_flags(report, "out@report", "among", "title", "question", "note", "links-file")


def _add_run(
    to: Parser, documents: str = "0", *, heldout: str = "0", settings: str = "settings of the methods"
) -> None:
    models = "; ".join(f"{row.name} for {row.data}" for row in MODELS)
    streaming = ", ".join(row.name for row in MODELS if row.streamed is not None)
    of_relations = " or ".join(row.name for row in MODELS if row.folder == MODELS[0].folder)
    default = f"a sample's own, else {of_relations}, as --domains says; {streaming} for a corpus on disk; "
    add = to.add_argument
    add("--model", help=f"{models} (default: {default}that of the method, where only one has it)")
    text = "share of the observed entries, of each document's words, or of a table's known cells, to hold out and "
    text += f"score; at most {MAX_ENTRIES:,} entries or cells (default: {heldout})"
    add("--heldout", default=0.0, help=text, **_SHARE)
    text = "corpus: share of whole documents to hold out instead; four fifths of the words of each are seen, the "
    add("--heldout-documents", help=f"{text}others are to be predicted (default: {documents})", **_SHARE)
    add_flags(to, "check-memory", "heldout-seed", "out", "threads", "scheduler", "quiet")
    add_method_settings(group_adder(to, settings))


#: Name of a command -> what adds its flags.
ADDERS: dict[str, Callable[[Parser], None]] = {
    "fit": _add_fit,
    "compare": _add_compare,
    "experiment": _add_experiment,
    "tune": _add_tune,
    "read": _add_read,
    "transform": _add_transform,
    "report": _add_report,
    "cluster": lambda to: add_flags(
        to, "workers", "threads@cluster", "host", "port", "dashboard-port", "trust-network"
    ),
    "app": lambda to: add_flags(to, "port@app", "host@app", "allow", "scheduler@app"),
}
#: A reading function.
_READER = re.compile(rf"\bload_({'|'.join(MODEL_FOR)})\b")


def name_flags(error: AcvbError) -> str:
    """Return the message of an error in the flags that are typed in place of functions and arguments.

    The part that says what is wrong in data, and where, stays as it is.
    """
    own = error.remedy if isinstance(error, DataError) else str(error)
    in_models = _READER.sub(lambda match: f"--model {MODEL_FOR[match[1]]}", own)
    return str(error).removesuffix(own) + rename_arguments(in_models, _name_flag)


def _name_flag(name: str, value: Any) -> str | None:
    if name != "check_memory" and find_option(name) is None:
        return None
    flag = flag_of(name, value)
    if value is None or isinstance(value, bool):
        return flag
    return f"{flag} ..." if value is ... else f"{flag} {shlex.quote(str(value))}"
