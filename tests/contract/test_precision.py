"""Loops over single precision stay in single precision: one double among its numbers doubles the time of a loop."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.costs import find_kernels

ROOT = Path(__file__).resolve().parents[2]

#: A statement of the compiler's record of types: what is set, to what, and its type.
STATEMENT = re.compile(r"\s*#\s+(?P<name>[\w.$]+) = (?P<value>.*?)\s+:: (?P<type>\S+)$")
LINE = re.compile(r"\s*# --- LINE (\d+) ---")
OPERATION = re.compile(
    r"(?P<sum>inplace_)binop\(.*lhs=(?P<a>[\w.$]+), rhs=(?P<b>[\w.$]+)|(?P<c>[\w.$]+) [-+*/]+ (?P<d>[\w.$]+)$"
)
#: Of a function that was written out inside another one.
INLINED = re.compile(r"_v\d+_")
KNOWN = {
    # The first expected counts of a document: once a document, not once a word.
    "acvb_core.models.lda.online.methods.infer_scvb0: expected[k] = length / n_topics + alpha[k]",
    # The trigamma function is in double precision.
    "acvb_core.models.lda.kernels._trigamma_sum: "
    "total += trigamma(concentration[k] + (n if n > 0.0 else 0.0)) * weight[k]",
}


def find_innermost(lines: list[str]) -> set[int]:
    """Return the numbers, from 1, of the lines in loops that have no loop inside."""
    numbers: set[int] = set()
    for loop in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
        if isinstance(loop, ast.For | ast.While):
            inside = [node for statement in loop.body for node in ast.walk(statement)]
            if not any(isinstance(node, ast.For | ast.While) for node in inside):
                numbers.update(node.lineno for node in inside if hasattr(node, "lineno"))
    return numbers


def find_promotions(kernel: Any) -> Iterator[str]:
    """Yield the lines of innermost loops that widen single precision, but for sums in double precision."""
    lines, first = inspect.getsourcelines(kernel.py_func)
    innermost = find_innermost(lines)
    for compiled in kernel.overloads.values():
        if "float32" not in str(compiled.signature):
            continue
        types: dict[str, str] = {}
        number = 0
        for text in str(compiled.type_annotation).splitlines():
            if found := LINE.match(text):
                number = int(found[1]) - first + 1
            if not (found := STATEMENT.match(text)):
                continue
            types[found["name"]] = found["type"]
            operation = OPERATION.match(found["value"])
            is_wide = found["type"] == "float64" and number in innermost
            if operation is None or not is_wide or INLINED.search(found["name"]):
                continue
            operands = [types.get(name, "") for name in operation.group("a", "b", "c", "d") if name]
            if "float32" in operands and not (operation["sum"] and operands[0] == "float64"):
                yield lines[number - 1].strip()


def find_widened_loops() -> set[str]:
    """Return the lines that widen single precision in what the package has compiled in this process."""
    kernels = find_kernels()
    return {f"{name}: {line}" for name, kernel in kernels.items() for line in find_promotions(kernel)}


def test_loops_over_single_precision_stay_in_it() -> None:
    """In a process of its own: tests call some kernels with numbers in double precision."""
    code = (
        "from acvb_core.warmup import warm_up; from tests.contract import test_precision as here; warm_up(); "
    )
    code += "print(*here.find_widened_loops(), sep=chr(10))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) == KNOWN
