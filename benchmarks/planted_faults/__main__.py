"""Plant one-line faults at random in inference, engine and store, and count those that the tests catch.

    python -m benchmarks.planted_faults --faults 100 --seed 1

A third of the faults is in each of `acvb_core/models` (without figures), `acvb_core/engine` and `acvb_core/store`. Each
is planted in a copy of the project, where three rounds of tests run until one fails, each for at most --seconds of
processor time: those about the module, those of the folders around it, and those farther away. `equivalent.txt` lists
faults that change nothing anybody can see, with the reason; they are counted apart. At the end the tests that caught
faults run without any: all must pass.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.harness import make_parser

from .faults import Fault, draw_faults, name_function
from .trial import ROOT, Outcome, Trials

_PLACES = ("models", "engine", "store")
_EQUIVALENT = Path(__file__).with_name("equivalent.txt")


def draw_from_places(count: int, seed: int) -> list[Fault]:
    """Draw a third of the faults from each place, and mix them."""
    rng = np.random.default_rng(seed)
    drawn: list[Fault] = []
    for number, place in enumerate(_PLACES):
        files = sorted((ROOT / "acvb_core" / place).rglob("*.py"))
        sources = {
            str(file.relative_to(ROOT)): file.read_text() for file in files if "figures" not in file.parts
        }
        share = count // len(_PLACES) + (number < count % len(_PLACES))
        drawn += draw_faults(sources, share, rng)
    return [drawn[number] for number in rng.permutation(len(drawn))]


def before_and_after(fault: Fault) -> tuple[str, str]:
    """Return the line as it is, and with the fault."""
    line = (ROOT / fault.path).read_text().split("\n")[fault.line - 1]
    return line.strip(), fault.change(line).strip()


def name_place(fault: Fault) -> str:
    """Return the path of a fault and the function around it."""
    return f"{fault.path}, {name_function((ROOT / fault.path).read_text(), fault.line)}"


def read_equivalent(text: str) -> dict[tuple[str, str, str], str]:
    """Return the reasons why some faults change nothing, by place, line before and line after.

    Each takes four lines: path and function, ``- `` and the line, ``+ `` and the line with the fault, the reason.
    """
    reasons = {}
    for entry in text.strip().split("\n\n"):
        place, before, after, reason = entry.split("\n")
        reasons[place, before.removeprefix("- "), after.removeprefix("+ ")] = reason
    return reasons


def show(number: int, fault: Fault, outcome: Outcome, reason: str | None) -> None:
    before, after = before_and_after(fault)
    words = {"crashed": " (the process ended)", "hung": " (time limit)"}.get(outcome.kind, "")
    caught = f"caught by {outcome.test}{words}" if outcome.test else "MISSED"
    caught = f"equivalent: {reason}" if reason else caught
    print(f"{number}. {fault.path}:{fault.line}\n  - {before}\n  + {after}")
    print(f"  {caught} ({outcome.seconds:.0f} CPU s)", flush=True)


def main() -> int:
    """Return 1 if a fault was missed that is in no list, or a test fails without any fault."""
    parser = make_parser(__doc__, faults=100, seed=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds for each round of tests")
    parser.add_argument(
        "--rounds", type=int, choices=(1, 2, 3), default=3, help="1: tests of the module only"
    )
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="only these of the faults")
    parser.add_argument("--folder", type=Path, default=ROOT / "test-output" / "faults", help="for the copies")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    trials = Trials(given.folder.resolve(), given.seconds, given.rounds)
    reasons = read_equivalent(_EQUIVALENT.read_text())
    counts, tests, spent = Counter[str](), list[str](), 0.0
    for number, fault in enumerate(draw_from_places(given.faults, given.seed), 1):
        if given.only and number not in given.only:
            continue
        reason = reasons.get((name_place(fault), *before_and_after(fault)))
        outcome = Outcome("equivalent", "", 0.0) if reason else trials.try_fault(fault)
        show(number, fault, outcome, reason)
        counts[outcome.kind] += 1
        spent += outcome.seconds
        tests += [outcome.test] if "::" in outcome.test else []
    caught = counts["caught"] + counts["crashed"]
    print(f"{caught} caught, {counts['hung']} ended by the time limit, {counts['missed']} missed,", end=" ")
    print(f"{counts['equivalent']} equivalent; {spent / 60:.0f} CPU minutes")
    control = trials.run_without_fault(tests)
    print(
        "They pass without a fault." if control.kind == "missed" else f"{control.test} fails without a fault."
    )
    return int(bool(counts["missed"]) or control.kind != "missed")


if __name__ == "__main__":
    sys.exit(main())
