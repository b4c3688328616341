"""The command line: `acvb`, or `python -m acvb_core`.

Results go to stdout, progress and errors to stderr. Exit codes: 0 done, 2 something in the command or the data
is wrong, 130 interrupted (what there was is reported).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from acvb_core.cli.parser import build_parser
from acvb_core.core.errors import AcvbError

WRONG, INTERRUPTED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    `argv`: by default the arguments of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if argv is None and isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its escape, not an error.
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = build_parser().parse_args(argv)
        # What is needed until the command ends, such as folders for a stream and for large data.
        with ExitStack() as arguments.cleanup:
            if getattr(arguments, "file", None) is not None:
                from acvb_core.cli.source import make_rereadable

                arguments.cleanup.enter_context(make_rereadable(arguments))
            return int(arguments.run(arguments))
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has had enough. What is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}", WRONG)
    except MemoryError as error:
        return _fail(
            f"there is not enough memory ({error or 'for this'}); try fewer clusters, topics or features",
            WRONG,
        )
    except AcvbError as error:
        from acvb_core.cli.arguments import name_flags

        return _fail(name_flags(error), WRONG)


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"acvb: {' '.join(message.split())}\n")
    return code
