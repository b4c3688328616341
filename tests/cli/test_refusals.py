"""What the command line says to a file of another kind, an endless pattern, or a run that does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from acvb_core.engine import machine as free_memory
from tests.cli.support import SMALL, WOMEN, Run
from tests.loops import for_each

TEXT = "The quick brown fox number {} jumps over a lazy dog by the river bank"


def test_a_column_of_texts_is_asked_about_in_flags(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("who,the note\n" + "".join(f"p{n},{TEXT.format(n)}\n" for n in range(12)))
    found = run("fit", path)
    assert (found.code, found.out) == (2, "")
    assert "--model lda (--text-column 'the note')" in found.err
    assert "(--row-column who) (--column-column 'the note')" in found.err
    either = (
        ("--row-column", "who", "--column-column", "the note", *SMALL),
        ("--model", "lda", "--text-column", "the note", "--max-sweeps", "2", "--max-share", "1"),
    )
    for answer in either:
        assert run("fit", path, *answer).code == 0


@for_each("command", ["fit", "read"])
def test_a_sparse_matrix_as_counts_is_one_clear_line(run: Run, tmp_path: Path, command: str) -> None:
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n")
    more = ("--model", "lda") if command == "fit" else (tmp_path / "disk",)
    found = run(command, path, *more, "--format", "counts")
    assert found.code == 2
    assert "this is a sparse matrix" in found.err
    assert "Traceback" not in found.err


@for_each("command", ["fit", "compare"])
def test_a_run_that_does_not_fit_is_refused_unless_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(free_memory, "available_memory", lambda: 100)
    found = run(command, WOMEN, *SMALL, "--quiet")
    assert (found.code, found.out) == (2, "")
    assert "GB of memory" in found.err
    assert "--no-check-memory" in found.err
    assert run(command, WOMEN, *SMALL, "--quiet", "--no-check-memory").code == 0
