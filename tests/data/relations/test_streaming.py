"""Block by block gives what all at once gives, and line numbers stay right."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core.errors import DataError
from acvb_core.data import relation as relation_module
from acvb_core.data.relation import Pairs
from acvb_core.data.relation_readers import load_relation
from benchmarks.read_edges import write_edges
from tests.loops import for_each

TRICKY = (
    '\ufeff# note\nrow,col,value\r\n"a\nb",x,1\n\n"say ""hi""",y,0\r\n  c , z ,yes\r\n'
    '"Zoë,\r\n", "x" ,NA\n"",x,1\n'
).encode()


@for_each("block_bytes", [*range(1, 9), 13, 21, 34])
def test_blocks_do_not_matter(block_bytes):
    source = TRICKY.replace(b'"",x,1\n', b"d,x,1")
    whole = load_relation(source)
    cut = load_relation(source, block_bytes=block_bytes)
    assert cut.data.fingerprint == whole.data.fingerprint
    assert cut.data.row_labels.tolist() == ["a\nb", 'say "hi"', "c", "Zoë,\r\n", "d"]
    assert cut.report.to_dict() == whole.report.to_dict()


@for_each("block_bytes", [1, 2, 3, 5, 8, 13, 1000])
def test_lines_are_counted_across_blocks_and_quoted_line_breaks(block_bytes):
    with pytest.raises(DataError) as caught:
        load_relation(TRICKY, block_bytes=block_bytes)
    # Lines 3-4 and 8-9 are one record each; line 5 is blank.
    assert (caught.value.line, caught.value.column) == (10, 1)


@for_each("block_bytes", [64, 1 << 19])
@for_each(
    "bad, column, what",
    [
        (b"p,q,1,9\n", 4, "4 fields"),
        (b"p,q,oops\n", 3, "neither"),
        (b"p,,1\n", 2, "blank"),
        (b"p,q\0,1\n", 2, "NUL"),
        (b'"p"p,q,1\n', 1, "after the closing quote"),
        (b"\xe9,q,1\n", None, "UTF-8"),
        (b"r1,c1,0\n", 3, "a link on line 2 and no link on line 3,002"),
    ],
)
def test_a_fault_far_down_is_named_by_its_line(block_bytes, bad, column, what):
    good = b"".join(b"r%d,c%d,1\n" % (i % 97 + 1, i % 89 + 1) for i in range(3_000))
    with pytest.raises(DataError, match=what) as caught:
        load_relation(b"row,col,value\n" + good + bad + good, block_bytes=block_bytes)
    assert (caught.value.line, caught.value.column) == (3_002, column)


def test_a_matrix_row_longer_than_a_block():
    rng = np.random.default_rng(1)
    table = rng.random((5, 4000)) < 0.3
    out = io.BytesIO()
    np.savetxt(out, table, fmt="%d", delimiter=",")
    relation = load_relation(out.getvalue(), block_bytes=100).data
    np.testing.assert_array_equal(relation.ones.toarray(), table)


def test_many_labels_keep_their_codes():
    n = 30_000
    text = b"row,col\n" + b"".join(b"%d,x%d\n" % (i * 7919 % n, i % 3) for i in range(2 * n))
    relation = load_relation(text, block_bytes=1 << 13).data
    assert relation.row_labels.tolist() == [str(i * 7919 % n) for i in range(n)]
    assert relation.n_ones == n + (n if n % 3 else 0)


def test_values_that_never_repeat(monkeypatch):
    monkeypatch.setattr("acvb_core.data.sources.values._MAX_REMEMBERED", 50)
    numbers = np.random.default_rng(2).random(3000)
    text = "row,col,value\n" + "".join(f"{i},x,{number!r}\n" for i, number in enumerate(numbers.tolist()))
    relation = load_relation(text.encode(), threshold=0.5, block_bytes=512).data
    np.testing.assert_array_equal(relation.ones.toarray().ravel(), numbers > 0.5)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5)), max_size=60), st.integers(1, 7))
def test_pairs_become_the_distinct_pairs_sorted(drawn, block):
    before, relation_module._BLOCK = relation_module._BLOCK, block
    try:
        pairs = Pairs()
        codes = np.array(drawn, dtype=np.int32).reshape(-1, 2)
        half = len(codes) // 2
        pairs.add(codes[:half, 0], codes[:half, 1])
        pairs.add(codes[half:, 0], codes[half:, 1])
        matrix = pairs.to_csr(np.arange(9, dtype=np.int32), np.arange(5, -1, -1, dtype=np.int32), (9, 6))
    finally:
        relation_module._BLOCK = before
    found = matrix.tocoo()
    expected = sorted({(row, 5 - column) for row, column in drawn})
    assert list(zip(found.row.tolist(), found.col.tolist(), strict=True)) == expected
    assert matrix.has_sorted_indices


def test_a_long_file_takes_little_more_memory_than_its_links(tmp_path):
    root = Path(__file__).parents[3]
    path = tmp_path / "edges.csv.gz"
    write_edges(path, n_lines=2_000_000, n_rows=5_000, n_columns=50_000)
    command = [sys.executable, "-m", "benchmarks.read_edges", "--read", str(path)]
    found = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)
    assert found["links"] > 1_900_000
    assert found["peak_mb_above_baseline"] < 3 * found["csr_mb"] + 50
