"""Errors in the flags of the command line: what the library's functions and arguments are called is not typed."""

from __future__ import annotations

import re
import shlex
from typing import Any

from acvb_core.cli.reading import MODEL_FOR, flag_of
from acvb_core.core.errors import AcvbError, DataError
from acvb_core.data.options import find_option, rename_arguments

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
