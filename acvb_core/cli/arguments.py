"""The flags of every command, those of reading, and how an error names them."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
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
_ON_DISK = Option(
    "on_disk", ("corpus",), "text", hint="FOLDER",
    help="Methods that stream: FILE is read to this folder and kept there, and used again as long as it is the same "
    "(default: a folder that is removed at the end, if FILE is large).",
)  # fmt: skip
#: Arguments that only one kind of data has and that do not say how FILE is read.
_FURTHER = {
    "relation": ["labels", "links"],
    "corpus": ["on_disk", "start", "heldout_documents"],
    "table": [],
}
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
        for row in (_LABELS, _ON_DISK):
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
    own = _OPTIONS[kind]
    for other in KINDS:
        if other != kind:
            for flag in _typed_flags(arguments, other, own, _FORMATS.get(kind, ())):
                raise ParameterError(
                    f"{flag} is for a {other}, but FILE is to be read as a {kind}. Leave it out, or give "
                    f"--model {MODEL_FOR[other]}."
                )
    options = typed_options(arguments, [name for name, row in own.items() if not row.beyond])
    known = {parameter.name: parameter for parameter in TOKENISER_PARAMETERS}
    settings = {
        name: parse_setting(known[name], value) if name in known else value
        for name, value in _tokeniser_settings(arguments).items()
    }
    return options | ({"tokeniser": Tokeniser.from_dict(settings)} if settings else {})


def refuse_reader_flags(arguments: argparse.Namespace, kind: str, what: str = "A sample") -> None:
    """Refuse what cannot be said of data of this kind that are there already, as a sample is.

    Raises ParameterError: a flag says how to read FILE, or is for another kind of data.
    """
    flags = ["--" + name for name in typed_options(arguments, _SHARED)]
    for one in KINDS:
        beyond = [name for name, row in _OPTIONS[one].items() if row.beyond and name != "broken"] + _FURTHER[
            one
        ]
        for flag in _flags(arguments, beyond):
            if one not in (kind, "relation"):
                raise ParameterError(f"{flag} is for a {one}; {arguments.file} is a {kind}.")
        flags += _typed_flags(arguments, one, beyond if one == kind else ())
    if flags:
        raise ParameterError(f"{what} is read as it is; leave {flags[0]} out.")


def _typed_flags(
    arguments: argparse.Namespace, kind: str, allowed: Iterable[str], formats: Iterable[str] = ()
) -> list[str]:
    """Return the flags that were typed and that one kind of data has, but for those of some options and formats."""
    skipped = {*allowed, *_SHARED}
    flags = _flags(arguments, [name for name in (*_OPTIONS[kind], *_FURTHER[kind]) if name not in skipped])
    if arguments.format in _FORMATS.get(kind, ()) and arguments.format not in formats:
        flags.append(f"--format {arguments.format}")
    if kind == "corpus":
        flags += [flag_of(name) for name in _tokeniser_settings(arguments)]
    return flags


def _flags(arguments: argparse.Namespace, names: Iterable[str]) -> list[str]:
    return [flag_of(name, value) for name, value in typed_options(arguments, names).items()]


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


def _tokeniser_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        name.removeprefix(TOKENISER): value
        for name, value in vars(arguments).items()
        if name.startswith(TOKENISER) and value is not None
    }


def _add_app(app: Parser) -> None:
    app.add_argument(
        "--port", type=parse_port, default=8501, metavar="N", help="port to listen on (default: 8501)"
    )
    app.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address or name of this machine to listen on (default: 127.0.0.1, for this machine only); 0.0.0.0 "
        "listens on all addresses. Whoever reaches the address can use the app, unless it asks to sign in: see "
        "docs/serving.md",
    )
    app.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name that browsers may open the app by, such as that of a reverse proxy: example.org, or "
        "example.org:8443 for another port than 80 and 443; can be given several times (default: only 127.0.0.1, "
        "localhost, [::1] and the --host are served)",
    )
    text = "offer to compute runs on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786 (default: "
    app.add_argument("--scheduler", metavar="ADDRESS", help=f"{text}ACVB_SCHEDULER, else this machine alone)")


def _add_cluster(cluster: Parser) -> None:
    add = cluster.add_argument
    add("--workers", type=parse_count, default=2, metavar="N", help="worker processes (default: 2)")
    text = "runs that a worker computes at once (default: the cores of this machine are shared between the workers)"
    add("--threads", type=parse_count, metavar="N", help=text)
    text = "address to listen on (default: 127.0.0.1, for this machine only)"
    add("--host", default="127.0.0.1", metavar="ADDRESS", help=text)
    text = "port of the scheduler (default: 8786)"
    add("--port", type=parse_port, default=8786, metavar="N", help=text)
    text = "port of Dask's dashboard (default: 8787)"
    add("--dashboard-port", type=parse_port, default=8787, metavar="N", help=text)
    text = "with another --host: nobody who reaches it is to be kept out"
    add("--trust-network", action="store_true", help=text)


def _add_fit(fit: Parser) -> None:
    add_reading(fit)
    names = ", ".join(dict.fromkeys(row.name for row in METHODS))
    fit.add_argument("--method", help=f"one of {names} (default: acvb0; of tables fab)")
    fit.add_argument("--seed", type=int, default=0, help="of the inference (default: 0)")
    fit.add_argument(
        "--restarts",
        type=parse_count,
        default=1,
        metavar="N",
        help="runs from N seeds that count up from --seed and race: the half with the worse lower bound (without one, "
        "as in streams, the worse leave-one-out likelihood; of latent features, which need --heldout for it, "
        "the worse held-out likelihood) is given up at 20 sweeps, half of the rest at 40, and so on; the winner is "
        "reported (default: 1)",
    )
    fit.add_argument(
        "--start",
        metavar="MODEL",
        help="topics: continue from those of an earlier run: its folder, or the model.npz in it; words are matched by "
        "name, new ones are added by methods that stream",
    )
    _add_run(fit)
    _add_links(fit)


def _add_compare(compare: Parser) -> None:
    add_reading(compare)
    text = "methods, with commas between (default: acvb0,cvb0,vb; of tables fab,em,vb)"
    compare.add_argument("--methods", type=parse_names, metavar="A,B,…", help=text)
    text = "number of seeds, counted from 0, or the seeds themselves, with commas between (default: 1)"
    compare.add_argument("--seeds", type=parse_seeds, default=[0], metavar="N", help=text)
    _add_run(compare)
    _add_links(compare)


def _add_experiment(experiment: Parser) -> None:
    add_reading(experiment)
    add = experiment.add_argument
    text = "methods, with commas between (default: acvb0,cvb0,vb; of tables fab,em,vb)"
    add("--methods", type=parse_names, metavar="A,B,…", help=text)
    text = "runs of each method, each with a split and a seed of its own that all methods share (default: 10)"
    add("--splits", type=parse_count, default=10, metavar="N", help=text)
    text = "of the first split and the runs on it; the next split has the next one (default: 0)"
    add("--seed", type=int, default=0, help=text)
    text = "runs that race for each run of the experiment, as for `acvb fit` (default: 1)"
    add("--restarts", type=parse_count, default=1, metavar="N", help=text)
    text = "held-out score that decides (default: heldout_log_likelihood)"
    add("--score", default="heldout_log_likelihood", metavar="NAME", help=text)
    title = "settings of the methods; several values of one, with commas between, are varied"
    _add_run(experiment, heldout="0.1, unless --heldout-documents is given", settings=title)
    experiment.set_defaults(several=True, heldout=None)


def _add_tune(tune: Parser) -> None:
    add_reading(tune)
    names = ", ".join(row.name for row in METHODS if row.tuned)
    tune.add_argument("--method", default="scvb0", help=f"one of {names} (default: scvb0)")
    text = "of the runs and of the choice of trials (default: 0)"
    tune.add_argument("--seed", type=int, default=0, help=text)
    tune.add_argument(
        "--trials",
        type=parse_count,
        default=30,
        metavar="N",
        help="runs, each of one epoch unless --epochs says otherwise: first the defaults, then settings spread evenly, "
        "then the most promising ones; a setting that is typed is held (default: 30)",
    )
    _add_run(tune, "0.02, unless --heldout is given")
    _add_links(tune)


def _add_read(read: Parser) -> None:
    add_corpus(read, "", "it may be larger than the memory", texts=True)
    text = "where to keep it; `acvb fit FOLDER` continues from there"
    read.add_argument("folder", metavar="FOLDER", help=text)
    read.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _add_transform(transform: Parser) -> None:
    text = f"folder that `acvb fit --model {MODEL_FOR['corpus']} … --out` wrote, or the model.npz in it; texts are cut "
    text += "as its were"
    transform.add_argument("folder", metavar="RUN", help=text)
    add_corpus(transform, "documents: ", "or sample:NAME", texts=False)
    text = "also score how well four fifths of each document's words predict the rest"
    transform.add_argument("--completion", action="store_true", help=text)
    transform.add_argument(
        "--out", metavar="CSV", help="file to write the table to (default: standard output)"
    )


def _add_run(
    to: Parser, documents: str = "0", *, heldout: str = "0", settings: str = "settings of the methods"
) -> None:
    models = "; ".join(f"{row.name} for {row.data}" for row in MODELS)
    streaming = ", ".join(row.name for row in MODELS if row.streamed is not None)
    of_relations = " or ".join(row.name for row in MODELS if row.kind == "relation")
    default = f"a sample's own, else {of_relations}, as --domains says; {streaming} for a corpus on disk; "
    add = to.add_argument
    add("--model", help=f"{models} (default: {default}that of the method, where only one has it)")
    add(
        "--heldout",
        type=parse_number,
        default=0.0,
        metavar="SHARE",
        help="share of the observed entries, of each document's words, or of a table's known cells, to hold out and "
        f"score; at most {MAX_ENTRIES:,} entries or cells (default: {heldout})",
    )
    add(
        "--heldout-documents",
        type=parse_number,
        metavar="SHARE",
        help="corpus: share of whole documents to hold out instead; four fifths of the words of each are seen, "
        f"the others are to be predicted (default: {documents})",
    )
    text = "refuse to start a run that needs more memory than is free (default: yes)"
    add("--check-memory", action=argparse.BooleanOptionalAction, default=True, help=text)
    add("--heldout-seed", type=int, default=0, help="of the held-out split (default: 0)")
    text = "folder to write the results to: run.json, history.csv, the tables of the model, posterior.npz; "
    add("--out", metavar="DIR", help=f"{text}of topics also model.npz, to continue from")
    text = "threads of this machine that compute a run of topics; the result is the same (default: ACVB_THREADS, else "
    add("--threads", type=parse_count, metavar="N", help=f"{text}one a core)")
    text = "compute on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786 (default: ACVB_SCHEDULER, "
    add("--scheduler", metavar="ADDRESS", help=f"{text}else this machine)")
    add("--quiet", action="store_true", help="no progress on stderr")
    add_method_settings(group_adder(to, settings))


def _add_links(to: Parser) -> None:
    text = "relation: also write the N unknown and the N unlinked pairs that are most likely links (links.csv), and "
    to.add_argument(
        "--links", type=int, metavar="N", help=f"{text}the N most surprising links (surprising.csv)"
    )


#: Name of a command -> what adds its flags.
ADDERS: dict[str, Callable[[Parser], None]] = {
    "fit": _add_fit,
    "compare": _add_compare,
    "experiment": _add_experiment,
    "tune": _add_tune,
    "read": _add_read,
    "transform": _add_transform,
    "cluster": _add_cluster,
    "app": _add_app,
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
