"""The commands; the flags of one are added when it is chosen, as they need the libraries that read data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from acvb_core.core.errors import ParameterError

#: Name, module (seen from `acvb_core.cli`), and what it does. `arguments.ADDERS` has the flags.
_COMMANDS = (
    ("methods", "listings", "List the methods."),
    ("samples", "listings", "List the sample relations, corpora and tables."),
    ("fit", "commands", "Fit one method to a relation, a corpus or a table."),
    ("compare", "commands", "Fit several methods from several seeds, on the same split."),
    (
        "experiment",
        "studies",
        "Fit several methods and settings on several splits, and test which of them predicts better.",
    ),
    (
        "tune",
        "studies",
        "Look for the steps with which a method that streams predicts held-out documents best.",
    ),
    ("read", "texts", "Read a corpus of any size to a folder, for methods that stream."),
    ("transform", "texts", "Say which topics documents are of, with the topics as a run left them."),
    ("report", "report", "Write a run to one file to send to others: a report, a workbook, or a graph."),
    ("cluster", "cluster", "Start a Dask cluster of worker processes on this machine. Ctrl-C stops it."),
    ("warmup", ".warmup", "Compile all methods now, so that no first run waits for it: a few minutes, once."),
    ("app", "app.start", "Start the app, and print its address. Ctrl-C stops it."),
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, reported like every other, and whose flags are added when it is used."""

    add_flags: Callable[[Parser], None] | None = None  #: adds them

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Add the flags, and parse."""
        if self.add_flags is not None:
            self.add_flags(self)
            self.add_flags = None
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise the message."""
        raise ParameterError(f"{message} (see {self.prog} --help).")


def build_parser() -> Parser:
    """Return the parser of the whole command line; the parsed arguments hold the command under `run`."""
    from acvb_core import __version__

    top = Parser(
        prog="acvb",
        description="Clusters of relations, topics of corpora and features of tables: the same runs as in the app, "
        "without a browser.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"acvb {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name, module, text in _COMMANDS:
        command: Parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.set_defaults(run=_lazy_command(module, name))
        command.add_flags = _lazy_flags(name)
    return top


def _lazy_command(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """Return a command whose module is imported when it runs."""

    def run(arguments: argparse.Namespace) -> int:
        return int(getattr(import_module(f".{module}", "acvb_core.cli"), function)(arguments))

    return run


def _lazy_flags(name: str) -> Callable[[Parser], None]:
    """Return what adds a command's flags."""

    def add_flags(command: Parser) -> None:
        if name not in ("app", "cluster", "warmup"):
            command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
        if name == "methods":
            command.add_argument("--markdown", action="store_true", help="as the table in docs/methods.md")
            command.add_argument(
                "--papers", action="store_true", help="as printed and by default: docs/papers.md"
            )
        elif name not in ("samples", "warmup"):
            import_module("acvb_core.cli.arguments").ADDERS[name](command)

    return add_flags
