"""One-line faults of Python source: where one can be planted, and a random draw of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

#: Operators, and what replaces them in a fault.
_TURNED: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("*",)),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
}
#: Functions whose first two arguments may be swapped without a difference.
_SYMMETRIC = {"min", "max", "minimum", "maximum", "array_equal", "logaddexp"}
_TESTED = ast.If | ast.While | ast.IfExp


class Fault(NamedTuple):
    """A piece of one line, and the text that takes its place."""

    path: str  #: relative to the checkout
    line: int  #: from 1
    start: int  #: bytes from the beginning of the line
    end: int
    text: str

    def plant(self, source: str) -> str:
        """Return the source with the fault."""
        lines = source.split("\n")
        lines[self.line - 1] = self.change(lines[self.line - 1])
        return "\n".join(lines)

    def change(self, line: str) -> str:
        data = line.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


def name_function(source: str, line: int) -> str:
    """Return the name of the innermost function or class around a line; empty if there is none."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno).name if around else ""


def draw_faults(sources: dict[str, str], count: int, rng: np.random.Generator) -> list[Fault]:
    """Draw faults: a random line that can have one, then a random fault of it, no line twice.

    `sources`: the text of each module by its path.
    """
    by_line: dict[tuple[str, int], list[Fault]] = {}
    for path, source in sources.items():
        for fault in possible_faults(path, source):
            by_line.setdefault((path, fault.line), []).append(fault)
    drawn: list[Fault] = []
    for faults in (list(by_line.values())[number] for number in rng.permutation(len(by_line))):
        real = [faults[n] for n in rng.permutation(len(faults)) if _is_real(faults[n], sources)]
        drawn += real[:1]
        if len(drawn) == count:
            break
    return drawn


def possible_faults(path: str, source: str) -> Iterator[Fault]:
    """Yield every change that can be made; a few leave what Python cannot read, or change nothing."""
    lines = source.split("\n")
    for node in _walk(ast.parse(source)):
        for line, start, end, text in _changes(node, lines):
            yield Fault(path, line, start, end, text)


def _is_real(fault: Fault, sources: dict[str, str]) -> bool:
    """Return whether Python can read the module with the fault, and reads something else."""
    source = sources[fault.path]
    try:
        return ast.dump(ast.parse(fault.plant(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of code that runs: neither decorators, types, imports, assertions nor texts."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("decorator_list", "annotation", "returns", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(
                child, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert
            ):
                yield from _walk(child)


_Change = tuple[int, int, int, str]


def _changes(node: ast.AST, lines: list[str]) -> Iterator[_Change]:
    """Yield the changes of a node: line, first and last byte, new text."""
    if isinstance(node, ast.BinOp):
        yield from _turn(node.left, node.op, node.right, lines)
    elif isinstance(node, ast.Compare):
        for (left, right), op in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            yield from _turn(left, op, right, lines)
    elif isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            yield from _turn(left, node.op, right, lines)
    elif isinstance(node, ast.AugAssign):
        yield from _turn(node.target, node.op, node.value, lines)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield from _replace(node, _text(node.operand, lines), lines)
    elif isinstance(node, ast.Constant):
        for other in _other_constants(node.value):
            yield from _replace(node, other, lines)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and len(node.slice.id) == 1:
        yield from _replace(node.slice, f"{node.slice.id} - 1", lines)
    elif isinstance(node, ast.Call):
        yield from _swap_arguments(node, lines)
    if isinstance(node, ast.stmt):
        yield from _leave_out(node, lines)
    for test in [node.test] if isinstance(node, _TESTED) else getattr(node, "ifs", []):
        if (text := _text(test, lines)) is not None:
            yield from _replace(test, f"(not ({text}))", lines)


def _turn(left: ast.expr, op: ast.AST, right: ast.expr, lines: list[str]) -> Iterator[_Change]:
    """Yield an operator's changes if it is on one line with both sides' ends."""
    if type(op) not in _TURNED or left.end_lineno != right.lineno:
        return
    symbol, others = _TURNED[type(op)]
    begin = left.end_col_offset or 0
    between = lines[right.lineno - 1].encode()[begin : right.col_offset]
    at = begin + between.index(symbol.encode())
    for other in others:
        yield right.lineno, at, at + len(symbol), other


def _other_constants(value: object) -> list[str]:
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1), *([str(value - 1)] if value > 0 else [])]
    if isinstance(value, float):
        return [repr(value * 2) if value else "1.0"]
    return []


def _swap_arguments(node: ast.Call, lines: list[str]) -> Iterator[_Change]:
    if len(node.args) < 2 or ast.unparse(node.func).split(".")[-1] in _SYMMETRIC:
        return
    first, second = node.args[:2]
    texts = _text(first, lines), _text(second, lines)
    if None not in texts and first.lineno == second.lineno and not isinstance(first, ast.Starred):
        between = lines[first.lineno - 1].encode()[first.end_col_offset : second.col_offset].decode()
        changed = f"{texts[1]}{between}{texts[0]}"
        yield first.lineno, first.col_offset, second.end_col_offset or 0, changed


def _leave_out(node: ast.stmt, lines: list[str]) -> Iterator[_Change]:
    """Yield the statement left out, where no name is missed for it; and None in place of what is returned."""
    if isinstance(node, ast.Return) and node.value is not None:
        yield from _replace(node, "return None", lines)
    targets = node.targets if isinstance(node, ast.Assign) else []
    is_call = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    if (
        is_call
        or isinstance(node, ast.AugAssign | ast.Continue | ast.Break | ast.Raise)
        or (targets and all(isinstance(target, ast.Subscript | ast.Attribute) for target in targets))
    ):
        yield from _replace(node, "pass", lines)


def _replace(node: ast.expr | ast.stmt, text: str | None, lines: list[str]) -> Iterator[_Change]:
    if text is not None and _text(node, lines) is not None:
        yield node.lineno, node.col_offset, node.end_col_offset or 0, text


def _text(node: ast.expr | ast.stmt, lines: list[str]) -> str | None:
    """Return a node's source; None if it takes more than one line."""
    if node.lineno != node.end_lineno:
        return None
    return lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()
