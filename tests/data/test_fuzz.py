"""Every reader, given files with random changes, returns valid data or refuses them in words.

`python -m benchmarks.fuzz_readers` gives many more of the same inputs.
"""

from __future__ import annotations

from random import Random

from benchmarks.fuzzing.judge import faults_raised, judge
from benchmarks.fuzzing.mutations import draw_input
from benchmarks.fuzzing.readers import READERS, Reader
from tests.loops import for_each

INPUTS = 60


@for_each("reader", READERS)
def test_damaged_files_are_read_or_refused(reader: Reader) -> None:
    rng, seeds = Random(20260101), list(reader.seeds())
    inputs = [*seeds, *(draw_input(rng, reader.draw, seeds, len(seeds)) for _ in range(INPUTS))]
    with faults_raised() as unseen:
        outcomes = [judge(reader.read, content) for content in inputs]
    # A time says nothing here: the first input may compile a kernel.
    faults = {found.words for found in outcomes if found.kind == "fault" and "CPU s" not in found.words}
    assert not faults
    assert not unseen
    assert {found.kind for found in outcomes} >= {"read"}
