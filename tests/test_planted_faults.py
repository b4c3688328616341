"""Faults that `python -m benchmarks.planted_faults` plants: of one line, in code that runs, each a real change."""

from __future__ import annotations

from benchmarks.planted_faults.faults import possible_faults

SOURCE = '''
from typing import NamedTuple

@cache(size=3)
def add(x: Optional[1], n=2):
    """Return 3 < 4."""
    assert n < 5
    if not x and n == 2:
        items.sort()
    total = x[n] + move(x, n)  # 7
    return f"{n + 1}"
'''


def test_each_kind_of_fault() -> None:
    lines = SOURCE.split("\n")
    found = {fault.change(lines[fault.line - 1]).strip() for fault in possible_faults("a.py", SOURCE)}
    assert found == {
        "def add(x: Optional[1], n=3):",
        "def add(x: Optional[1], n=1):",
        "if x and n == 2:",
        "if not x or n == 2:",
        "if not x and n != 2:",
        "if not x and n == 3:",
        "if not x and n == 1:",
        "if (not (not x and n == 2)):",
        "pass",
        "total = x[n] - move(x, n)  # 7",
        "total = x[n - 1] + move(x, n)  # 7",
        "total = x[n] + move(n, x)  # 7",
        "return None",
    }
