"""Errors in the flags of the command line: what the library's functions and arguments are called is not typed."""

from __future__ import annotations

import ast
import re
import shlex

from acvb_core.cli.reading import ONE_DOMAIN, READINGS, SHARED, flag_of
from acvb_core.core.errors import AcvbError, DataError

_MODELS = {row.kind: row.model for row in READINGS}
_OPTIONS = {
    "check_memory",
    "broken",
    "domains",
    *SHARED,
    *ONE_DOMAIN,
    *(name for row in READINGS for name in row.options),
}
#: A reading function.
_READER = re.compile(rf"\bload_({'|'.join(_MODELS)})\b")
#: An argument: (leave_out) in brackets, categories='one-hot', sheet=... with a value that is to be chosen.
_ARGUMENT = re.compile(
    rf"""\((?P<bare>{"|".join(_OPTIONS)})\)
    |\b(?P<name>{"|".join(_OPTIONS)})=(?P<value>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\.\.\.|\w+)""",
    re.VERBOSE,
)


def name_flags(error: AcvbError) -> str:
    """Return the message of an error in the flags that are typed in place of functions and arguments.

    The part that says what is wrong in data, and where, stays as it is.
    """
    own = error.remedy if isinstance(error, DataError) else str(error)
    in_models = _READER.sub(lambda match: f"--model {_MODELS[match[1]]}", own)
    return str(error).removesuffix(own) + _ARGUMENT.sub(_flag, in_models)


def _flag(match: re.Match[str]) -> str:
    if match["bare"] is not None:
        return f"({flag_of(match['bare'])})"
    name, typed = match["name"], match["value"]
    if typed == "...":
        return f"{flag_of(name)} ..."
    try:
        value = ast.literal_eval(typed)
    except (ValueError, SyntaxError):
        value = typed
    flag = flag_of(name, value)
    return flag if isinstance(value, bool) else f"{flag} {shlex.quote(str(value))}"
