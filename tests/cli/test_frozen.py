"""The commands of the README and of docs/ on samples print what an earlier version printed: `frozen.json`.

Written anew, after a change of the results that is meant: `python -m tests.cli.test_frozen`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Run

FROZEN = Path(__file__).with_name("frozen.json")
COMMANDS = (
    "fit sample:southern_women --method acvb0 --k-rows 20 --k-cols 20 --heldout 0.1",
    "fit sample:southern_women --method acvb0 --preset paper --max-sweeps 50",
    "experiment sample:southern_women --methods acvb0 --preset default,paper --max-sweeps 50 --splits 2",
    "compare sample:southern_women --methods vb,cvb0,acvb0 --seeds 2",
    "fit sample:karate --domains one --restarts 4 --heldout 0.1",
    "fit sample:bars --model lda --k 10 --heldout 0.1 --max-sweeps 30",
    "fit sample:bars --method sdm --k 10 --epochs 1 --heldout-documents 0.02",
    "compare sample:fertility --methods fab,em,vb --heldout 0.3 --max-sweeps 30",
)
#: What takes time or memory, and the sums of both.
MEASURED = ("seconds", "peak_memory", "documents_per_second", "scores_by_cpu_seconds")


def drop_measured(value: Any) -> Any:
    """Return JSON without what differs from one call to the next."""
    if isinstance(value, dict):
        return {
            key: drop_measured(one) for key, one in value.items() if not any(name in key for name in MEASURED)
        }
    return [drop_measured(one) for one in value] if isinstance(value, list) else value


#: Relative difference of floats that is rounding. VB of features enlarges that of products of matrices, which differ
#: from processor to processor, more than a thousand times in 30 sweeps.
ROUNDING, VB_ROUNDING = 1e-6, 1e-3


def find_differences(now: Any, before: Any, rel: float, where: str = "") -> list[str]:
    """Return where two values of JSON differ: floats by more than `rel`, all else at all."""
    if isinstance(now, dict) and isinstance(before, dict) and now.keys() == before.keys():
        return [
            found for key in now for found in find_differences(now[key], before[key], rel, f"{where}.{key}")
        ]
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        pairs = enumerate(zip(now, before, strict=True))
        return [found for at, pair in pairs for found in find_differences(*pair, rel, f"{where}[{at}]")]
    is_same = now == before
    if isinstance(now, float) and isinstance(before, float):
        is_same = now == pytest.approx(before, rel=rel, abs=1e-9)
    return [] if is_same else [f"{where}: {now!r}, was {before!r}"]


@pytest.mark.whole_chain
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_documents_prints_what_it_printed(run: Run, command: str) -> None:
    told = run(*command.split(), "--json")
    assert told.code == 0, told.err
    rel = VB_ROUNDING if ",vb" in command else ROUNDING
    assert find_differences(drop_measured(told.json), json.loads(FROZEN.read_text())[command], rel) == []


if __name__ == "__main__":
    import subprocess
    import sys

    made = {}
    for each in COMMANDS:
        call = [sys.executable, "-m", "acvb_core", *each.split(), "--json"]
        made[each] = drop_measured(
            json.loads(subprocess.run(call, capture_output=True, check=True, text=True).stdout)
        )
    FROZEN.write_text(json.dumps(made, indent=1) + "\n")
