"""What to do about a file that cannot be read, in the flags of the command line."""

from __future__ import annotations

import re
import shlex

from acvb_core.cli.reading import ONE_DOMAIN, READINGS, flag_of
from acvb_core.errors import DataError

#: An argument of a reading function in brackets: (leave_out), (categories='one-hot').
_ARGUMENT = re.compile(r"\((\w+)(?:=['\"]([^'\"()]*)['\"])?\)")
_MODELS = {row.kind: row.model for row in READINGS}
#: A reading function.
_READER = re.compile(rf"\bload_({'|'.join(_MODELS)})\b")
_KNOWN = frozenset({"broken", "domains", *ONE_DOMAIN, *(name for row in READINGS for name in row.options)})


def told(error: DataError) -> str:
    """Return the message of an error, its remedy in the flags that are typed in place of functions and arguments.

    Parameters
    ----------
    error : DataError
        What was found in the data, and where, stays as it is.
    """
    remedy = _READER.sub(lambda found: f"--model {_MODELS[found[1]]}", error.remedy)
    return str(error).removesuffix(error.remedy) + _ARGUMENT.sub(_flag, remedy)


def _flag(found: re.Match[str]) -> str:
    name, value = found.groups()
    if name not in _KNOWN:
        return found[0]
    return f"({flag_of(name)} {shlex.quote(value)})" if value else f"({flag_of(name)})"
