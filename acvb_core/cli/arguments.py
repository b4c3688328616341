"""What can be typed: subcommands and flags. Those of the methods' settings come from the registry."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from acvb_core.data.layout import FORMATS
from acvb_core.errors import ParameterError
from acvb_core.parameters import Parameter
from acvb_core.registry import METHODS, MODELS, Method

#: In front of the names of settings in the parsed arguments, to keep them apart from everything else.
VALUE = "value:"

_DELIMITERS = {"tab": "\t", r"\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, reported like every other."""

    def error(self, message: str) -> NoReturn:
        """Raise the message."""
        raise ParameterError(f"{message} (see {self.prog} --help).")


def parser() -> Parser:
    """Return the parser of the whole command line; the parsed arguments hold the command under `run`."""
    from acvb_core import __version__

    top = Parser(
        prog="acvb",
        description="Bayesian clustering of relations: the same runs as in the app, without a browser.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"acvb {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, text: str, run: Callable[[argparse.Namespace], int]) -> Parser:
        added: Parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(run=run)
        added.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
        return added

    methods = command("methods", "List the methods.", _later("listings", "methods"))
    methods.add_argument("--markdown", action="store_true", help="as the table that the README shows")
    command("samples", "List the sample relations.", _later("listings", "samples"))

    fit = command("fit", "Fit one method to a relation.", _later("commands", "fit"))
    _add_data(fit)
    fit.add_argument("--method", default="acvb0", help=f"one of {', '.join(_names())} (default: acvb0)")
    fit.add_argument("--seed", type=int, default=0, help="of the inference (default: 0)")
    _add_run(fit)

    compare = command(
        "compare", "Fit several methods from several seeds, on the same split.", _later("commands", "compare")
    )
    _add_data(compare)
    compare.add_argument(
        "--methods", type=_list, default=["acvb0", "cvb0", "vb"], metavar="A,B,…",
        help="methods, with commas between (default: acvb0,cvb0,vb)",
    )  # fmt: skip
    compare.add_argument(
        "--seeds", type=_seeds, default=[0], metavar="N",
        help="number of seeds, counted from 0, or the seeds themselves, with commas between (default: 1)",
    )  # fmt: skip
    _add_run(compare)
    return top


def _later(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """Return a command whose module is imported when it runs: listings need no numerical library."""

    def run(arguments: argparse.Namespace) -> int:
        from importlib import import_module

        return int(getattr(import_module(f"acvb_core.cli.{module}"), function)(arguments))

    return run


def _names() -> list[str]:
    return list(dict.fromkeys(row.name for row in METHODS))


def _add_data(to: Parser) -> None:
    to.add_argument(
        "file", metavar="FILE",
        help="an edge list, a matrix, a MatrixMarket or an npz file, gzipped or not; or sample:NAME",
    )  # fmt: skip
    group = to.add_argument_group("how to read FILE (guessed where not given)")

    def add(flag: str, text: str, **more: Any) -> None:
        group.add_argument(flag, help=text, default=None, **more)

    add("--format", "what kind of file it is", choices=("auto", *FORMATS))
    for side in ("row", "column"):
        add(
            f"--{side}-column",
            f"edge list: column of the {side} labels, by name or by position from 0",
            type=_column,
        )
    add("--value-column", "edge list: column of the values; `none` when every line is a link", type=_column)
    add("--threshold", "a number above it is a link (default: 0)", type=_real)
    add("--shape", "size of the relation, as 1892x1892; labels are then indices from 0", type=_shape)
    add("--row-nodes", "file with all row objects, one a line", metavar="LIST")
    add("--column-nodes", "file with all column objects, one a line", metavar="LIST")
    add(
        "--same-nodes",
        "rows and columns are the same objects (a network)",
        action="store_const",
        const=True,
    )
    add("--unlisted", "edge list: what a pair is that is not listed", choices=("zero", "missing"))
    add("--delimiter", "one character, or tab, space, comma, semicolon", type=lambda t: _DELIMITERS.get(t, t))
    add("--encoding", "such as latin-1 (default: UTF-8)")
    add("--header", "whether the first line holds names", action=argparse.BooleanOptionalAction)
    add("--name", "what to call the relation")


#: Names of the reader's options among the parsed arguments.
READER = (
    "format", "row_column", "column_column", "value_column", "threshold", "shape", "row_nodes", "column_nodes",
    "same_nodes", "unlisted", "delimiter", "encoding", "header", "name",
)  # fmt: skip


def _add_run(to: Parser) -> None:
    to.add_argument(
        "--model", default="irm", help=f"one of {', '.join(row.name for row in MODELS)} (default: irm)"
    )
    to.add_argument(
        "--heldout", type=_real, default=0.0, metavar="SHARE",
        help="share of the observed entries to hold out and score (default: 0)",
    )  # fmt: skip
    to.add_argument("--heldout-seed", type=int, default=0, help="of the held-out split (default: 0)")
    to.add_argument("--out", metavar="DIR", help="folder to write the results to")
    to.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = to.add_argument_group("settings of the methods")
    for name, owners in _settings().items():
        parameter = owners[0][1]
        dest, text = VALUE + name, _help(owners).replace("%", "%%")
        if parameter.kind == "bool":
            group.add_argument(
                parameter.flag, dest=dest, help=text, default=None, action=argparse.BooleanOptionalAction
            )
        else:
            group.add_argument(
                parameter.flag, dest=dest, help=text, type=_reader(parameter), metavar=_metavar(parameter)
            )


def _settings() -> dict[str, list[tuple[Method, Parameter]]]:
    found: dict[str, list[tuple[Method, Parameter]]] = {}
    for row in METHODS:
        for parameter in row.parameters:
            found.setdefault(parameter.name, []).append((row, parameter))
    return found


def _metavar(parameter: Parameter) -> str:
    return {"int": "N", "float": "X"}.get(parameter.kind, parameter.name.upper())


def _help(owners: list[tuple[Method, Parameter]]) -> str:
    """Return help, choices and default of a setting; by method where they differ."""
    texts: dict[str, list[str]] = {}
    for row, parameter in owners:
        default = str(parameter.default).lower() if parameter.kind == "bool" else parameter.default
        choices = f"one of {parameter.range_text()}; " if parameter.kind == "choice" else ""
        texts.setdefault(f"{parameter.help} ({choices}default: {default})", []).append(row.name)
    if len(texts) == 1:
        (text,) = texts
        return text if len(owners) == len(METHODS) else f"{text} [{', '.join(next(iter(texts.values())))}]"
    return " ".join(f"[{', '.join(names)}] {text}" for text, names in texts.items())


def _reader(parameter: Parameter) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if parameter.kind == "choice":
            return text
        try:
            return int(text) if parameter.kind == "int" else float(text)
        except ValueError:
            wanted = "a whole number" if parameter.kind == "int" else "a number"
            raise ParameterError(f"{parameter.flag} is {text!r}; it must be {wanted}.") from None

    return read


def given_values(arguments: argparse.Namespace, methods: Sequence[str]) -> dict[str, Any]:
    """Return the settings that were typed, by name.

    Raises
    ------
    ParameterError
        None of `methods` has such a setting; the message names the methods that have it.
    """
    typed = {
        name.removeprefix(VALUE): value
        for name, value in vars(arguments).items()
        if name.startswith(VALUE) and value is not None
    }
    for name in typed:
        owners = [row.name for row, _ in _settings()[name] if row.model == arguments.model]
        if not set(owners) & set(methods):
            flag = _settings()[name][0][1].flag
            others = ", ".join(owners) or "no method of this model"
            own = " and ".join(methods) or "nothing"
            raise ParameterError(f"{flag} is no setting of {own}; {others} {_has(owners)} it.")
    return typed


def _has(owners: list[str]) -> str:
    return "has" if len(owners) < 2 else "have"


def _list(text: str) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise argparse.ArgumentTypeError("name at least one")
    return names


def _seeds(text: str) -> list[int]:
    if not re.fullmatch(r"\d+(,\d+)*,?", text) or text == "0":
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of seeds nor a list like 0,5,7")
    if "," in text:
        return list(dict.fromkeys(int(part) for part in text.split(",") if part))
    return list(range(int(text)))


def _shape(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)[x×,](\d+)", text.strip().lower())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it as 1892x1892")
    return int(found[1]), int(found[2])


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def _column(text: str) -> str | int | bool:
    if text.isascii() and text.isdigit():
        return int(text)
    return False if text == "none" else text
